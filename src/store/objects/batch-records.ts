/**
 * Batches from the intent to the settlement, each step one transaction: what a batch reserves is in `budget_spend` as
 * long as its record is there and the ledger has not the row of its end, whichever process made it and whichever ends
 * it. The row itself brings it back (`sums/budget-spend.ts`).
 */
import type { SQL } from 'bun'
import type { SpendWriter } from '../../core/tenancy/budget-charge.ts'
import type { BudgetAmount, StoredAmount } from '../../core/tenancy/limits.ts'
import type { BatchLease, BegunBatch, FileRecord } from '../../core/objects/file-records.ts'
import { isOfStatement, transaction, transactionInTime } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { addBudgetText, budgetColumns } from '../ledger/sums/budget-spend.ts'
import { findUpstream, toRecord, toRow } from './file-rows.ts'
import type { FileRow } from './file-rows.ts'
import type { StorageGuard } from './storage-guard.ts'

interface BatchRecordParts {
  readonly database: Database
  readonly guard: StorageGuard
  readonly writer: SpendWriter
}

/** The steps of `FileStore` that are about batches. */
export function batchRecords({ database, guard, writer }: BatchRecordParts) {
  return {
    begin(record: FileRecord, { owner, nowMs, leaseMs }: BatchLease): Promise<void> {
      return transactionInTime(database, async tx => {
        const row = { ...toRow(record), lease_owner: owner, due_at_ms: nowMs + leaseMs }
        await tx`insert into upstream_files ${tx(row)}`
        await guard.check(tx, record.keyId, Buffer.byteLength(row.body + row.models + row.filename))
        await add(tx, writer, record.reserved ?? [])
      })
    },

    async begun(id: string, upstreamId: string): Promise<BegunBatch | undefined> {
      const step = () => transaction(database, tx => begun(tx, { id, upstreamId, writer }))
      // Another record got the id meanwhile: now it is seen.
      return step().catch(error => (isOfStatement(error) ? step() : Promise.reject(error)))
    },

    giveUp: (id: string): Promise<readonly StoredAmount[]> => transaction(database, tx => giveUp(tx, id, writer)),

    async settled(id: string, body: FileRecord['body']): Promise<boolean> {
      const rows = (await database.sql`
        update upstream_files set body = ${JSON.stringify(body)}, recorded = 1
        where id = ${id} and recorded = 0 returning id`) as unknown[]
      return rows.length > 0
    },
  }
}

async function begun(
  tx: SQL,
  { id, upstreamId, writer }: { id: string; upstreamId: string; writer: SpendWriter },
): Promise<BegunBatch | undefined> {
  const [row] = (await tx`select * from upstream_files where id = ${id}`) as FileRow[]
  if (!row) return undefined
  const record = { ...toRecord(row), upstreamId }
  const other = await findUpstream(tx, record)
  if (other && other.id !== id) return { record: other, returned: await giveUp(tx, id, writer) }
  await tx`
    update upstream_files set upstream_id = ${upstreamId}, lease_owner = null, due_at_ms = 0 where id = ${id}`
  return { record, returned: [] }
}

async function giveUp(tx: SQL, id: string, writer: SpendWriter): Promise<readonly StoredAmount[]> {
  const rows = (await tx`delete from upstream_files where id = ${id} and recorded = 0 returning *`) as FileRow[]
  return rows[0] ? giveBack(tx, writer, rows[0]) : []
}

const giveBack = (tx: SQL, writer: SpendWriter, row: FileRow): Promise<StoredAmount[]> =>
  add(
    tx,
    `-${writer}`,
    (toRecord(row).reserved ?? []).map(one => ({ ...one, nanoUsd: -one.nanoUsd })),
  )

/** In the order in which the ledger's worker locks the same rows. Resolves with what is stored then. */
async function add(tx: SQL, writer: string, amounts: readonly BudgetAmount[]): Promise<StoredAmount[]> {
  const sums = new Map<string, BudgetAmount>()
  for (const { scope, startMs, nanoUsd } of amounts) {
    const counterKey = `${scope}\u0000${startMs}`
    sums.set(counterKey, { scope, startMs, nanoUsd: nanoUsd + (sums.get(counterKey)?.nanoUsd ?? 0) })
  }
  const stored: StoredAmount[] = []
  for (const [, { scope, startMs, nanoUsd }] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [row] = (await tx.unsafe(
      `${addBudgetText('values ($1, $2, $3, $4)')} returning ${budgetColumns.at(-1)} as total`,
      [scope, startMs, writer, nanoUsd],
    )) as { total: unknown }[]
    stored.push({ scope, startMs, writer, nanoUsd: Number(row!.total) })
  }
  return stored
}
