/**
 * What a gateway has to know of its Postgres database to serve known keys while it is away: kept in the data directory,
 * for a start at such a moment. It holds hashes of keys and the pepper under which they are made, no key.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { VirtualKey } from '../../core/caller.ts'
import { newestMigration } from '../database/migrate.ts'
import type { InstallationSnapshot } from './installation.ts'

/** Keys as `KeyCache` knows them. */
export interface KeySnapshot {
  /** Changes up to this one are in it. */
  readonly revision: number
  /** Hash of the key that brought the revision. */
  readonly newest: string | undefined
  /** By hash, the one used last first. */
  readonly keys: readonly (readonly [hash: string, key: VirtualKey])[]
}

/** The content of the file. */
export interface StartSnapshot {
  readonly installation: InstallationSnapshot
  readonly keys: KeySnapshot
  /** When the database had answered last, milliseconds since 1970. */
  readonly savedAtMs: number
}

/** Names the database, without its password. */
function databaseName(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return createHash('sha256').update(`${hostname}:${port}${pathname}`).digest('hex')
}

/** undefined = there is none of this database with the schema of this program. */
export function readStartSnapshot(path: string, databaseUrl: string): StartSnapshot | undefined {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as StartSnapshot & { database: string; migration: number }
    return found.database === databaseName(databaseUrl) && found.migration === newestMigration ? found : undefined
  } catch {
    return undefined
  }
}

/** Rejects when it cannot be written; the file before stays then. */
export async function writeStartSnapshot(path: string, databaseUrl: string, snapshot: StartSnapshot): Promise<void> {
  const content = { database: databaseName(databaseUrl), migration: newestMigration, ...snapshot }
  await writeFile(`${path}.tmp`, JSON.stringify(content), { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}
