/** Brings the spend log of LiteLLM into the ledger and its sums, so that reports go back before the import. */
import type { SQL } from 'bun'
import { callOf } from '../../access/imports/litellm-calls.ts'
import { nanoUsd } from '../../access/imports/litellm-rows.ts'
import type { LitellmRow } from '../../access/imports/litellm-rows.ts'
import { decodeRecord, encodeSettlement } from '../ledger/journal/ledger-record.ts'
import type { LedgerDatabase } from '../ledger/ledger-database.ts'
import { foldSums } from '../ledger/sums/fold-sums.ts'
import type { ImportCount } from './litellm-import.ts'

const batchRows = 500
/** A gateway that serves writes to the same file. */
const [attemptsMax, pauseMs] = [50, 100]
const log = '"LiteLLM_SpendLogs"'

interface CallImport {
  readonly source: SQL
  readonly ledger: LedgerDatabase
  /** Milliseconds since 1970: calls that began before are left out. */
  readonly fromMs: number
  /** Called with how many rows have been read, after each batch. */
  progress(rows: number): void
}

/**
 * Oldest first, in batches. A row that is there already is not stored again, so that it can be run again for what came
 * later, or after it was cut off; it counts as brought. Throws what a database throws.
 */
export async function importLitellmCalls({ source, ledger, fromMs, progress }: CallImport): Promise<ImportCount> {
  let [made, after] = [0, { at: new Date(fromMs).toISOString(), id: '' }]
  let dropped = 0
  for (;;) {
    const rows = await nextRows(source, after)
    const last = rows.at(-1)
    if (last === undefined) break
    const calls = rows.flatMap(row => callOf(row) ?? [])
    dropped += rows.length - calls.length
    const values = calls.flatMap(call => {
      const record = decodeRecord(encodeSettlement(call))
      return record?.kind === 'settlement' ? [record.values] : []
    })
    await retried(() => ledger.insert(values))
    made += calls.length
    after = { at: String(last.startTime), id: String(last.request_id) }
    progress(made)
  }
  await retried(() => foldSums(ledger))
  await ledger.sync()
  const problems = dropped > 0 ? [`${dropped} calls do not say when they began`] : []
  return { kind: 'calls', made, kept: 0, problems }
}

/** Without what was said in the calls. `after` = the row before. */
async function nextRows(source: SQL, after: { at: string; id: string }): Promise<LitellmRow[]> {
  const found = (await source.unsafe(
    `select to_jsonb(l) - 'messages' - 'response' - 'proxy_server_request' as row from ${log} l
      where "startTime" >= $1::timestamp and ("startTime" > $1::timestamp or request_id > $2)
      order by "startTime", request_id limit ${batchRows}`,
    [after.at, after.id],
  )) as { row: unknown }[]
  return found.map(({ row }) => (typeof row === 'string' ? JSON.parse(row) : row) as LitellmRow)
}

/** Writes again while the file is locked. */
async function retried<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (attempt === attemptsMax || !/SQLITE_BUSY|locked/.test(`${(error as { code?: unknown }).code} ${error}`))
        throw error
    }
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/** true = the database of LiteLLM has a spend log. */
export async function hasSpendLog(source: SQL): Promise<boolean> {
  const found = (await source.unsafe(`select to_regclass('${log}') is not null as found`)) as { found: boolean }[]
  return found[0]?.found === true
}

/** The dollars of each key, user and team in the calls that were brought, as nano-dollars by id. */
export async function broughtSums(
  source: SQL,
  fromMs: number,
): Promise<Readonly<Record<'key' | 'user' | 'team', ReadonlyMap<string, bigint>>>> {
  const columns = { key: 'api_key', user: '"user"', team: 'team_id' } as const
  const sums: Record<string, ReadonlyMap<string, bigint>> = {}
  for (const [kind, column] of Object.entries(columns)) {
    const rows = (await source.unsafe(
      `select ${column} as id, sum(spend) as spend from ${log} where "startTime" >= $1::timestamp and ${column} <> ''
        group by ${column}`,
      [new Date(fromMs).toISOString()],
    )) as { id: string; spend: number }[]
    sums[kind] = new Map(rows.map(({ id, spend }) => [id, nanoUsd(Number(spend)) ?? 0n]))
  }
  return sums as Readonly<Record<'key' | 'user' | 'team', ReadonlyMap<string, bigint>>>
}
