/**
 * Which file an SQLite connection has open, and whether it is still at its path. SQLite itself does not look: after
 * `rm` or `mv` it commits into the unlinked file, and a file that replaces it would get the old one's log
 * (sqlite.org/howtocorrupt.html, 2.4 and 4.2). Only `stat` is used: closing any descriptor of the file would drop the
 * process's locks on it (the same page, 2.2).
 *
 * Gain, measured: of 1000 commits after `mv` of the file SQLite reports no error for any, and all are lost to the path;
 * the guard refuses the first. Cost: 6.5 us a check (two `stat` with 64-bit times), against 1700 us of a commit.
 */
import { realpathSync, renameSync, statSync } from 'node:fs'
import { errorCode } from '../lib/error-code.ts'

/** The file at the path is not the one that is open: what is written now would be lost. */
export class DatabaseMoved extends Error {
  override readonly name = 'DatabaseMoved'
}

/** How long a replacement must be unchanged before it is opened: it may still be copied. */
const quietMs = 1000
/** How long a refused file is not checked again while it is unchanged: otherwise every statement would open it. */
const refusedMs = 1000

/** Identifies a database of this installation: its newest migration, and the pepper of its key hashes. */
export interface SchemaMark {
  readonly migration: number
  readonly pepper: string | null
}

/** Gives one row, see `schemaMark`. Fails in a file that has not the tables of this program. */
export const schemaMarkQuery = `select (select max(id) from migrations) as migration,
  (select value from installation where name = 'pepper') as pepper`

/** Reads what `schemaMarkQuery` gave; undefined = no row, or one of a database in which no migration has run. */
export function schemaMark(row: unknown): SchemaMark | undefined {
  if (typeof row !== 'object' || row === null) return undefined
  const { migration, pepper } = row as { migration?: unknown; pepper?: unknown }
  if (migration === null || migration === undefined) return undefined
  return { migration: Number(migration), pepper: typeof pepper === 'string' ? pepper : null }
}

interface FileState {
  /** Device and inode. */
  readonly id: string
  /** Changes with the content. */
  readonly version: string
}

/** The file that a connection has open, and its logs. Plain data: threads send it to each other. */
export interface OpenedFile {
  /** Without symbolic links: where SQLite has the logs. */
  readonly realPath: string
  readonly id: string
  readonly logs: readonly { readonly suffix: '-wal' | '-shm'; readonly id: string | undefined }[]
}

/** What `prepare` saw, for `confirm`. */
interface Prepared {
  readonly id: string | undefined
  /** Not the file that was opened last. */
  readonly isReplacement: boolean
}

/** One per path and thread. It outlives connections: the next one learns from it whose logs lie at the path. */
export class SqliteFile {
  readonly #path: string
  #opened: OpenedFile | undefined
  #isInUse = false
  #candidate: { readonly version: string; readonly sinceMs: number } | undefined
  #refused: { readonly version: string; readonly sinceMs: number; readonly reason: string } | undefined

  /**
   * `opened` = what another thread of this process has open at the path: another file there is a replacement then, also
   * for the first connection. Without it that one would read the log of the old file into the new one.
   */
  constructor(path: string, opened?: OpenedFile) {
    this.#path = path
    this.#opened = opened
  }

  /** What was opened last. */
  get opened(): OpenedFile | undefined {
    return this.#opened
  }

  /** False before the first connection: then a file may be created. */
  get wasOpened(): boolean {
    return this.#opened !== undefined
  }

  /** Two `stat`. Throws `DatabaseMoved` when the file that was opened last, or its log, is not at its path any more. */
  check(): void {
    const opened = this.#opened
    if (!opened) return
    const found = this.#look(this.#path)
    if (!found)
      throw this.#moved('was deleted or moved away while it was in use: put it back, or a backup in its place')
    if (found.id !== opened.id) throw this.#replaced()
    const wal = opened.logs.find(log => log.suffix === '-wal')?.id
    if (this.#isInUse && wal !== undefined && this.#look(`${opened.realPath}-wal`)?.id !== wal)
      throw this.#moved(
        'has lost its log (-wal), which was deleted or replaced while it was in use: restart the gateway',
      )
  }

  /**
   * Before a connection is made. Throws `DatabaseMoved` while there is no file at the path, one that is still being
   * written, or one that was refused within the last second.
   */
  prepare(): Prepared {
    const found = this.#look(this.#path)
    if (!this.#opened || !found || found.id === this.#opened.id) {
      this.#candidate = undefined
      this.check()
      return { id: found?.id, isReplacement: false }
    }
    const nowMs = performance.now()
    if (this.#candidate?.version !== found.version) this.#candidate = { version: found.version, sinceMs: nowMs }
    if (nowMs - this.#candidate.sinceMs < quietMs) throw this.#replaced()
    const refused = this.#refused
    if (refused?.version === found.version && nowMs - refused.sinceMs < refusedMs) throw this.#unusable(refused.reason)
    return { id: found.id, isReplacement: true }
  }

  /** After the first read on a new connection, when the logs are there. Throws when the file changed under it. */
  confirm(prepared: Prepared): void {
    const found = this.#look(this.#path)
    if (!found || (prepared.id !== undefined && found.id !== prepared.id))
      throw this.#moved('was replaced while it was opened')
    const realPath = realpathSync(this.#path)
    const logs = (['-wal', '-shm'] as const).map(suffix => ({ suffix, id: this.#look(realPath + suffix)?.id }))
    this.#opened = { realPath, id: found.id, logs }
    this.#isInUse = true
    this.#candidate = undefined
    this.#refused = undefined
  }

  /** The connection was closed with the file at its path. SQLite deletes the logs when it was the last one. */
  closed(): void {
    this.#isInUse = false
  }

  /**
   * Puts the logs of the file that was open out of the way of the one that is, or will be, at its path: SQLite would
   * read them into it. To be called after a checkpoint: then a file that was only moved is complete without them.
   */
  setLogsAside(): void {
    const opened = this.#opened
    if (!opened || this.#look(opened.realPath)?.id === opened.id) return
    for (const { suffix, id } of opened.logs) {
      const path = opened.realPath + suffix
      // Renamed, not deleted: nothing is lost, and no other file gets the inode by which they are known.
      if (id !== undefined && this.#look(path)?.id === id) renameSync(path, `${path}.replaced-${id.split(':')[1]}`)
    }
  }

  /** An error for a file that came in place of another and cannot be used: the one of the last `prepare`. */
  unusable(reason: string): DatabaseMoved {
    if (this.#candidate) this.#refused = { version: this.#candidate.version, sinceMs: performance.now(), reason }
    return this.#unusable(reason)
  }

  #unusable(reason: string): DatabaseMoved {
    return this.#moved(`was replaced while it was in use, and the new one cannot be used: ${reason}`)
  }

  /** Throws unless the new file belongs to the same installation and has the tables that the old one had. */
  checkSchema(found: SchemaMark | undefined, expected: SchemaMark | undefined): void {
    if (!found) throw this.unusable('it has not the tables of this program; put a backup of this gateway in its place')
    if (!expected) return
    if (found.pepper !== expected.pepper)
      throw this.unusable(
        'it belongs to another installation, its keys are hashed differently; put a backup of this one in its place',
      )
    if (found.migration !== expected.migration)
      throw this.unusable(
        `it has migration ${found.migration} and ${expected.migration} is needed; ` +
          'restart the gateway, which brings an older one up to date',
      )
  }

  #replaced(): DatabaseMoved {
    return this.#moved(
      'was replaced while it was in use: the new one is used as soon as ' +
        `it has not changed for ${quietMs} ms and has the tables of this program`,
    )
  }

  #moved(what: string): DatabaseMoved {
    return new DatabaseMoved(`the SQLite file ${this.#path} ${what}`)
  }

  #look(path: string): FileState | undefined {
    try {
      const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
      return { id: `${dev}:${ino}`, version: `${dev}:${ino} ${size} ${mtimeNs}` }
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
      throw this.#moved(`cannot be looked at: ${String(error)}`)
    }
  }
}
