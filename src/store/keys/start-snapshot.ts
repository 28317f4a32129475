/**
 * What a gateway has to know of its Postgres database to serve known keys while it is away: kept in the data directory,
 * for a start at such a moment. It holds hashes of keys and the pepper under which they are made, and models with their
 * secrets encrypted; no key.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { Caller } from '../../core/caller.ts'
import { newestMigration } from '../database/migrate.ts'
import { callerFromRows, callerToRows } from '../tenancy/caller-rows.ts'
import type { CallerRows } from '../tenancy/caller-rows.ts'
import type { ConfiguredSnapshot } from '../objects/configured-objects.ts'
import type { InstallationSnapshot } from './installation.ts'

/** Callers as `KeyCache` knows them. */
export interface KeySnapshot {
  /** Changes up to this one are in it. */
  readonly revision: number
  /** The change that made this revision. */
  readonly newest: string | undefined
  /** By hash of the key, the one used last first. */
  readonly callers: readonly (readonly [hash: string, caller: Caller])[]
}

/** The content of the file. */
export interface StartSnapshot {
  readonly installation: InstallationSnapshot
  readonly keys: KeySnapshot
  /** What was made by API, sealed as in the database. */
  readonly configured?: ConfiguredSnapshot
  /** When the database had answered last, milliseconds since 1970. */
  readonly savedAtMs: number
}

/** As it is written: callers as rows, because JSON has no integers of 64 bits. */
type Content = Omit<StartSnapshot, 'keys'> & {
  readonly database: string
  readonly migration: number
  readonly keys: Omit<KeySnapshot, 'callers'> & { readonly callers: readonly (readonly [string, CallerRows])[] }
}

/** Names the database, without its password. */
function databaseName(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return createHash('sha256').update(`${hostname}:${port}${pathname}`).digest('hex')
}

/** undefined = there is none of this database with the schema of this program. */
export function readStartSnapshot(path: string, databaseUrl: string): StartSnapshot | undefined {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Content
    if (found.database !== databaseName(databaseUrl) || found.migration !== newestMigration) return undefined
    const callers = found.keys.callers.map(([hash, rows]) => [hash, callerFromRows(rows)] as const)
    return { ...found, keys: { ...found.keys, callers } }
  } catch {
    return undefined
  }
}

/** Rejects when it cannot be written; the file before stays then. */
export async function writeStartSnapshot(path: string, databaseUrl: string, snapshot: StartSnapshot): Promise<void> {
  const callers = snapshot.keys.callers.map(([hash, caller]) => [hash, callerToRows(caller)] as const)
  const content: Content = {
    database: databaseName(databaseUrl),
    migration: newestMigration,
    ...snapshot,
    keys: { ...snapshot.keys, callers },
  }
  await writeFile(`${path}.tmp`, JSON.stringify(content), { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}
