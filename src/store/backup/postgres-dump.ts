/** Postgres is backed up and restored by its own programs, which know its types and its order. */
import { SQL } from 'bun'
import { BackupError } from './archive.ts'

/** Reads the database as of one moment, in the form that `pg_restore` reads. Throws where `pg_dump` is missing. */
export async function dumpPostgres(databaseUrl: string, path: string): Promise<void> {
  await run('pg_dump', ['--format=custom', '--no-owner', '--no-privileges', `--file=${path}`], databaseUrl)
}

/** Puts the dump in the place of what is there, in one transaction. Throws where `pg_restore` is missing. */
export async function restorePostgres(databaseUrl: string, path: string): Promise<void> {
  const options = ['--single-transaction', '--clean', '--if-exists', '--no-owner', '--no-privileges', '--exit-on-error']
  await run('pg_restore', [...options, path], databaseUrl)
}

/** Throws where another program is connected: a gateway would go on with what it knows. */
export async function refuseConnected(databaseUrl: string): Promise<void> {
  const sql = new SQL(databaseUrl, {
    max: 1,
    connectionTimeout: 5,
    connection: { application_name: 'modelgate restore' },
  })
  try {
    const others = (await sql`
      select application_name as name from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`) as {
      name: string
    }[]
    if (others.length > 0)
      throw new BackupError(
        `the database is in use by ${others.length} other connections (${others[0]!.name || 'without a name'}); stop ` +
          'every gateway on it first',
      )
  } finally {
    await sql.close()
  }
}

async function run(program: string, options: readonly string[], databaseUrl: string): Promise<void> {
  const path = Bun.which(program, { PATH: process.env.PATH ?? '' })
  if (path === null)
    throw new BackupError(
      `${program} is not installed here, and a database at Postgres is backed up and restored by it: install ` +
        "Postgres's client programs (Debian: apt install postgresql-client), or use the backups of your provider",
    )
  const url = new URL(databaseUrl)
  // A password among the words of a command could be read by every user of the machine.
  const password = decodeURIComponent(url.password)
  url.password = ''
  const child = Bun.spawn([path, ...options, `--dbname=${url.href}`], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: { ...process.env, ...(password !== '' && { PGPASSWORD: password }) },
  })
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new BackupError(`${program} has failed: ${said.trim()}`)
}
