/** Rows and places for the tests of the ledger. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUIDv7, SQL } from 'bun'
import type { LedgerRow } from '../core/ports.ts'
import { migrate } from './migrate.ts'
import type { LedgerIntent } from './ledger-record.ts'
import { openDatabase } from './open.ts'

/** A settled chat with every field set but the units beside tokens, unless `changes` says otherwise. */
export function exampleRow(changes: Partial<LedgerRow> = {}): LedgerRow {
  return {
    request_id: randomUUIDv7(),
    started_at_ms: 1_763_710_000_000,
    route: '/v1/chat/completions',
    operation: 'chat',
    outcome: 'success',
    status: 200,
    error_kind: null,
    model: 'small-model',
    deployment_id: 'deployment-1',
    provider: 'some-provider',
    upstream_model: 'small-model-2026',
    key_id: 'key-1',
    key_alias: 'team a',
    user_id: 'user-1',
    team_id: 'team-1',
    end_user: null,
    stream: true,
    input_tokens: 12,
    output_tokens: 345,
    cached_input_tokens: null,
    cache_write_tokens: 0,
    reasoning_tokens: 7,
    usage_source: 'upstream',
    cost_nano_usd: '123456789',
    duration_ms: 1234.567,
    first_byte_ms: 12.5,
    attempts: 2,
    client_address: '2001:db8::1',
    user_agent: 'test/1.0',
    cache_write_one_hour_tokens: null,
    input_audio_tokens: null,
    output_audio_tokens: null,
    input_image_tokens: null,
    output_image_tokens: null,
    images: null,
    audio_microseconds: null,
    characters: null,
    search_units: null,
    ...changes,
  }
}

/** The intent that belongs to a row. */
export function intentOf(row: LedgerRow): LedgerIntent {
  const { request_id, started_at_ms, route, operation, model, key_id, user_id, team_id, stream } = row
  return { request_id, started_at_ms, route, operation, model, key_id, user_id, team_id, stream }
}

/** A directory and a migrated, empty database of its own. */
export interface LedgerPlace {
  readonly directory: string
  readonly journal: string
  readonly databaseUrl: string
  remove(): Promise<void>
}

export async function makePlace(postgresUrl?: string): Promise<LedgerPlace> {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'))
  const name = `ledger_${randomUUIDv7('hex').replaceAll('-', '')}`
  const file = `sqlite:${join(directory, 'gateway.db')}`
  const databaseUrl = postgresUrl ? databaseNamed(postgresUrl, name) : file
  if (postgresUrl) await withServer(postgresUrl, sql => sql.unsafe(`create database ${name}`))
  const database = await openDatabase(databaseUrl)
  await migrate(database)
  await database.close()
  return {
    directory,
    journal: join(directory, 'journal'),
    databaseUrl,
    remove: async () => {
      rmSync(directory, { recursive: true, force: true })
      if (postgresUrl) await withServer(postgresUrl, sql => sql.unsafe(`drop database ${name} with (force)`))
    },
  }
}

function databaseNamed(url: string, name: string): string {
  const named = new URL(url)
  named.pathname = `/${name}`
  return named.href
}

async function withServer(url: string, work: (sql: SQL) => Promise<unknown>): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  await work(sql)
  await sql.close()
}
