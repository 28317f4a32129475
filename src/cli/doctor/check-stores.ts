/** Database and Redis: whether they answer, what they hold, and what time they have. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../lib/clock.ts'
import { checkSqlite } from '../../store/backup/backup.ts'
import { migrationState } from '../../store/database/migrate.ts'
import { answerInTime, openDatabase } from '../../store/database/open.ts'
import type { Database } from '../../store/database/open.ts'
import { newRedisClient, redisAnswer } from '../../store/redis/redis-connection.ts'
import { fine, problem, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const about = 'database'
const noticedMs = 1000
/** Sessions, budgets and leases of replicas go by the clock of the database. */
const wrongMs = 5000
const slowMs = 50

/** `url` of `databaseUrl`; `isEncrypted` = a key for stored secrets is given by the environment. */
export async function checkDatabase(url: string, isEncrypted: boolean): Promise<Finding[]> {
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
  if (path !== undefined && !existsSync(path)) return [fine(about, `${path} is made at the first start`)]
  let database: Database
  try {
    if (path !== undefined) checkSqlite(path)
    database = await answerInTime(openDatabase(url))
  } catch (error) {
    const remedy =
      path === undefined
        ? 'check DATABASE_URL, that the server runs, and that this machine may connect'
        : 'restore a backup: modelgate restore FILE'
    return [problem(about, (error as Error).message, remedy)]
  }
  try {
    const found = [...(await checkSchema(database)), ...(await checkClock(database))]
    if (path === undefined && !isEncrypted)
      found.push(
        warning(
          'encryption key',
          'none is given, so that credentials, models by API and stored requests are refused on Postgres',
          'set MODELGATE_ENCRYPTION_KEY to the same text on every replica: openssl rand -base64 32',
        ),
      )
    return found
  } catch (error) {
    return [problem(about, (error as Error).message, 'check the rights of the user in DATABASE_URL')]
  } finally {
    await database.close()
  }
}

async function checkSchema(database: Database): Promise<Finding[]> {
  const exists = database.kind === 'sqlite' ? true : await hasMigrations(database)
  if (!exists) return [fine(about, 'it is empty; the first start makes its tables')]
  const { done, pending } = await migrationState(database.sql)
  if (pending.length === 0) return [fine(about, `it is whole, at step ${Math.max(0, ...done)}`)]
  return [
    warning(
      about,
      `${pending.length} steps are missing (${pending.map(one => one.name).join(', ')})`,
      'modelgate migrate --rehearse tries them on a copy; a start takes them',
    ),
  ]
}

async function hasMigrations({ sql }: Database): Promise<boolean> {
  const [row] = (await sql`select to_regclass('migrations') is not null as there`) as { there: boolean }[]
  return row?.there === true
}

async function checkClock(database: Database): Promise<Finding[]> {
  if (database.kind === 'sqlite') return []
  const fromMs = systemClock.epochMs()
  const [row] = (await database.sql`select extract(epoch from clock_timestamp()) * 1000 as now`) as { now: unknown }[]
  const toMs = systemClock.epochMs()
  const slow =
    toMs - fromMs > slowMs
      ? [warning(about, `it takes ${Math.round(toMs - fromMs)} ms to answer`, 'place it nearer, or look at its load')]
      : []
  return [...slow, clockFinding('the database', Number(row!.now), fromMs, toMs)]
}

/** What the clock of another machine says beside this one's, as far as the way there lets it be known. */
export function clockFinding(whose: string, theirsMs: number, fromMs: number, toMs: number): Finding {
  const aheadMs = theirsMs < fromMs ? theirsMs - fromMs : Math.max(0, theirsMs - toMs)
  const words = `this machine's clock and that of ${whose} differ by ${(Math.abs(aheadMs) / 1000).toFixed(1)} s`
  if (Math.abs(aheadMs) <= noticedMs) return fine('clock', `as that of ${whose}`)
  const remedy = 'let both be set by NTP: timedatectl set-ntp true'
  return Math.abs(aheadMs) > wrongMs ? problem('clock', words, remedy) : warning('clock', words, remedy)
}

const redisMs = 3000

/** undefined = there is none. */
export async function checkRedis(url: string | undefined): Promise<Finding[]> {
  if (url === undefined) return []
  const client = newRedisClient(url, redisMs)
  try {
    const fromMs = systemClock.epochMs()
    const [seconds, microseconds] = (await redisAnswer(client.send('TIME', []), redisMs)) as [string, string]
    const clock = clockFinding(
      'Redis',
      Number(seconds) * 1000 + Number(microseconds) / 1000,
      fromMs,
      systemClock.epochMs(),
    )
    return [fine('redis', 'it answers'), clock]
  } catch (error) {
    return [
      problem('redis', `it cannot be used: ${(error as Error).message}`, 'check REDIS_URL, and that the server runs'),
    ]
  } finally {
    client.close()
  }
}
