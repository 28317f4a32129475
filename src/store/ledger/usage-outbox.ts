/**
 * Tables `usage_exports` and `usage_outbox`: rows that destinations have not got yet. The ledger's worker puts a row in
 * with the transaction that stores it, so that none is missed, also where rows are stored late and out of order. What
 * will never be sent moves to `usage_given_up`.
 */
import type { SQL } from 'bun'
import type { ExportDestination } from '../../core/ledger/usage-export.ts'
import type { GivenUpRow, OutboxState, UsageOutbox, WaitingRow } from '../../core/ledger/usage-outbox.ts'
import { answerInTime, toNumber, transaction } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { readRow } from './reads/ledger-query.ts'
import { selectedNames } from './ledger-table.ts'

/** Nothing is put off for as long: what is due later was put off by a clock that has gone back since. */
const dueMsMax = 2 * 3_600_000

const waitingOf = '(select count(*) from usage_outbox o where o.destination = usage_exports.destination)'

/** The outbox in SQLite or Postgres. */
export function createUsageOutbox(database: Database): UsageOutbox {
  const { sql, kind } = database
  let state: readonly OutboxState[] = []
  const run: Run = async (text, values) =>
    [...(await answerInTime(Promise.resolve(sql.unsafe(text, [...values]))))] as Record<string, unknown>[]
  return {
    state: () => state,
    async use(destinations) {
      state = []
      const others = destinations.length === 0 ? '' : ` where destination not in (${places(1, destinations)})`
      const change = transaction(database, async tx => {
        for (const destination of destinations)
          await tx`insert into usage_exports (destination, is_full, skipped) values (${destination}, 0, 0)
            on conflict (destination) do nothing`
        for (const table of ['usage_exports', 'usage_outbox'])
          await tx.unsafe(`delete from ${table}${others}`, [...destinations])
      })
      await answerInTime(change)
    },
    lease: lease => leaseRows(run, kind, lease),
    async delivered(destination, ids) {
      if (ids.length === 0) return
      const text = `delete from usage_outbox where destination = $1 and request_id in (${places(2, ids)})`
      await run(text, [destination, ...ids])
    },
    async failed(destination, ids, dueAtMs) {
      if (ids.length === 0) return
      await run(
        // SQLite numbers the places as they appear.
        `update usage_outbox set attempts = attempts + 1, lease_owner = null, due_at_ms = $1
        where destination = $2 and request_id in (${places(3, ids)})`,
        [dueAtMs, destination, ...ids],
      )
    },
    async giveUp(destination, rows, nowMs) {
      await answerInTime(transaction(database, tx => giveUp(tx, destination, rows, nowMs)))
    },
    async measure(waitingMax) {
      const rows = await run(
        `update usage_exports set is_full = case when ${waitingOf} >= $1 then 1 else 0 end
        returning destination, skipped, coalesce(given_up, 0) as given_up, ${waitingOf} as waiting`,
        [waitingMax],
      )
      state = rows.map((row): OutboxState => {
        const destination = row.destination as ExportDestination
        const [waiting, skipped, givenUp] = [row.waiting, row.skipped, row.given_up].map(toNumber)
        return { destination, waiting: waiting!, skipped: skipped!, givenUp: givenUp! }
      })
    },
  }
}

type Run = (text: string, values: readonly (string | number)[]) => Promise<Record<string, unknown>[]>

async function leaseRows(
  run: Run,
  kind: Database['kind'],
  { destination, owner, nowMs, leaseMs, limit }: Parameters<UsageOutbox['lease']>[0],
): Promise<WaitingRow[]> {
  const take = (which: '<=' | '>', dueMs: number) =>
    run(
      `with due as materialized (
        select request_id from usage_outbox where destination = $1 and due_at_ms ${which} $2
        order by due_at_ms, request_id limit $3 ${kind === 'postgres' ? 'for update skip locked' : ''}
      )
      update usage_outbox set lease_owner = $4, due_at_ms = $5
      where destination = $1 and request_id in (select request_id from due) returning request_id, attempts`,
      [destination, dueMs, limit, owner, nowMs + leaseMs],
    )
  const due = await take('<=', nowMs)
  const taken = due.length > 0 ? due : await take('>', nowMs + dueMsMax)
  const ids = taken.map(one => String(one.request_id))
  if (ids.length === 0) return []
  const found = await run(`select ${selectedNames} from ledger where request_id in (${places(1, ids)})`, ids)
  const rows = new Map(found.map(row => [String(row.request_id), readRow(row)]))
  return taken.map(({ request_id: id, attempts }): WaitingRow => {
    return { id: String(id), attempts: toNumber(attempts), row: rows.get(String(id)) ?? null }
  })
}

/** Notes the rows that still wait, and counts them. */
async function giveUp(
  tx: SQL,
  destination: ExportDestination,
  rows: readonly GivenUpRow[],
  nowMs: number,
): Promise<void> {
  let count = 0
  for (const { id, reason, attempts, startedAtMs, customer, amount } of rows) {
    const taken = (await tx`delete from usage_outbox where destination = ${destination} and request_id = ${id}
      returning request_id`) as unknown[]
    if (taken.length === 0) continue
    count++
    await tx`insert into usage_given_up
      (destination, request_id, reason, attempts, given_up_at_ms, started_at_ms, customer, amount) values
      (${destination}, ${id}, ${reason}, ${attempts}, ${nowMs}, ${startedAtMs}, ${customer}, ${amount})
      on conflict (destination, request_id) do nothing`
  }
  await tx`update usage_exports set given_up = coalesce(given_up, 0) + ${count}
    where destination = ${destination}`
}

const places = (first: number, ids: readonly string[]): string => ids.map((_, at) => `$${at + first}`).join(', ')
