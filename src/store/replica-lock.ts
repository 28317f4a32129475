/** Without Redis there may be one replica only: limits would count each for itself. */
import { SQL } from 'bun'

/** Any number but the migrations'; the same for all replicas. */
const advisoryLock = 7_203_612

/**
 * Claims to be the only replica on a Postgres database; undefined on SQLite, where the data directory's lock
 * does the same. Throws the reason when another one runs. The claim ends with the connection.
 */
export async function claimSingleReplica(databaseUrl: string): Promise<{ release(): Promise<void> } | undefined> {
  if (databaseUrl.startsWith('sqlite:')) return undefined
  const sql = new SQL(databaseUrl, { max: 1, idleTimeout: 0, connection: { application_name: 'modelgate-replica' } })
  const rows = (await sql`select pg_try_advisory_lock(${advisoryLock}) as claimed`) as { claimed: boolean }[]
  if (!rows[0]?.claimed) {
    await sql.close()
    throw new Error(
      'another replica already runs on this database; more than one needs REDIS_URL, because rate limits of replicas that do not talk to each other would let through a multiple',
    )
  }
  return { release: () => sql.close() }
}
