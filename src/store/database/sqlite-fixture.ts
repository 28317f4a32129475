/** What the tests do to an SQLite file from outside: a lock of another process, a backup, a restore. */
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from './migrate.ts'
import { openDatabase, transaction } from './open.ts'
import type { Database as OpenDatabase } from './open.ts'

/** Another process takes the write lock of the file, as a VACUUM does, for `ms` or until `release`. Waits for that. */
export async function holdLock(path: string, ms: number) {
  const script = `
    import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from './migrate.ts'
import { openDatabase, transaction } from './open.ts'
import type { Database as OpenDatabase } from './open.ts'
    const database = new Database(${JSON.stringify(path)}, { readwrite: true, create: false })
    database.run('pragma busy_timeout = 5000')
    database.run('begin immediate')
    process.stdout.write('held')
    await Promise.race([Bun.sleep(${ms}), Bun.stdin.text()])
    database.run('commit')
    database.close()
    process.exit()`
  const child = Bun.spawn([process.execPath, '-e', script], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  if (new TextDecoder().decode(value) !== 'held') throw new Error('the other process did not get the lock')
  return { released: child.exited, release: () => child.stdin.end() }
}

/** A whole copy of a database in use, in one file. */
export function backUp(path: string, copy: string): void {
  const database = new Database(path, { readwrite: true, create: false })
  database.run('vacuum into ?', [copy])
  database.close()
}

/** The longest time for which the event loop of this thread was blocked between start and `stop`, in milliseconds. */
export function watchLoop(): { stop(): number } {
  let lastMs = performance.now()
  let longestMs = 0
  const look = () => {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
  }
  const timer = setInterval(look, 1)
  return {
    stop() {
      clearInterval(timer)
      look()
      return longestMs
    },
  }
}

/** A migrated database in a folder of its own, which `cleanups` remove, and what tests do to it. */
export async function sqliteRig(cleanups: (() => Promise<void> | void)[]) {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-sqlite-'))
  const path = join(folder, 'x.sqlite')
  const database = await openDatabase(`sqlite:${path}`)
  cleanups.push(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })
  await migrate(database)
  const names = () => namesOf(database)
  return {
    folder,
    path,
    database,
    backup: join(folder, 'backup'),
    names,
    put: (name: string) => database.sql`insert into installation (name, value) values (${name}, '')`,
    putInTransaction: (name: string) =>
      transaction(database, async tx => void (await tx`insert into installation (name, value) values (${name}, '')`)),
    /** Until the file in the place of the old one is in use. */
    async comeBack(msMax = 4000): Promise<void> {
      const from = performance.now()
      for (let last: unknown; ; await Bun.sleep(50)) {
        last = await refusal(names())
        if (last === undefined) return
        if (performance.now() - from > msMax) throw last
      }
    },
  }
}

/** Why it failed; undefined = it did not. */
export const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    error => error as Error,
  )
const ownNames = new Set(['keys_revision', 'oldest_usable_migration'])
/** Names in the table `installation` but for those that the program keeps there itself. */
export const own = (names: string[]) => names.filter(name => !ownNames.has(name))
/** The names in the table `installation`, in their order. */
export const namesOf = async (database: OpenDatabase) =>
  own(((await database.sql`select name from installation order by name`) as { name: string }[]).map(row => row.name))
