/** What was spent by keys, teams and the like, from the daily sums of the ledger. */
import type { SQL } from 'bun'
import { nanoUsdToText } from '../../accounts/costs/cost.ts'
import { GatewayError } from '../../core/errors.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { SpendKind, SpendReset } from '../../core/tenancy/tenancy-store.ts'
import { addBudgetText } from '../ledger/sums/budget-spend.ts'
import { totals } from '../ledger/sums/rollup-derived.ts'
import { unfilledTotals } from '../ledger/sums/rollup-fill.ts'
import { Where } from './where.ts'

/** The table with the sums by day of each kind, in the scope of its name, where there are no totals yet. */
const tables: Readonly<Record<SpendKind, string>> = {
  key: 'ledger_daily',
  user: 'ledger_daily_spend',
  team: 'ledger_daily_spend',
  customer: 'ledger_daily',
  tag: 'ledger_daily_spend',
}

/** Nano-dollars by id, of all calls in the sums, less what was reset; ids without any are missing. */
export async function spentOf(sql: SQL, kind: SpendKind, ids: readonly string[]): Promise<Map<string, bigint>> {
  if (ids.length === 0) return new Map()
  const where = new Where()
  where.equal('scope', kind)
  where.among('entity', [...new Set(ids)])
  const { text, values } = unfilledTotals
  const areTotalsMissing = ((await sql.unsafe(text, [...values])) as unknown[]).length > 0
  const rows = await where.sums(sql, areTotalsMissing ? tables[kind] : totals.name, 'entity', 'cost_nano_usd')
  const offsets = await offsetsOf(sql, kind, ids)
  return new Map(
    rows.map(({ name, total }) => {
      // Sums of days that are no longer kept are gone; what was reset of them is not.
      const left = BigInt(total) - (offsets.get(name) ?? 0n)
      return [name, left > 0n ? left : 0n]
    }),
  )
}

/** The name in `budget_spend` under which a reset stores what is spent already. */
const resetWriter = 'reset'

/** The table of each kind whose spending can be reset. */
const resetTables = { key: 'virtual_keys', team: 'teams' } as const

/** What of the sums was reset, by id; ids without any are missing. */
async function offsetsOf(sql: SQL, kind: SpendKind, ids: readonly string[]): Promise<Map<string, bigint>> {
  if (kind !== 'key' && kind !== 'team') return new Map()
  const where = new Where()
  where.raw('spend_offset_nano_usd is not null')
  where.among('id', [...new Set(ids)])
  const rows = await where.select<{ id: string; spend_offset_nano_usd: string }>(sql, resetTables[kind])
  return new Map(rows.map(row => [row.id, BigInt(row.spend_offset_nano_usd)]))
}

interface Reset {
  readonly kind: keyof typeof resetTables
  readonly id: string
  readonly toNanoUsd: bigint
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/**
 * Begins a new period of the object's budget, in which `toNanoUsd` are spent already, and says what is to be taken off
 * the sum of all calls where it is shown. Throws `invalid-request` for more than is shown now.
 */
export async function resetSpendOf(
  tx: SQL,
  { kind, id, toNanoUsd, atMs }: Reset,
): Promise<{ reset: SpendReset; offsetNanoUsd: bigint }> {
  const beforeNanoUsd = (await spentOf(tx, kind, [id])).get(id) ?? 0n
  if (toNanoUsd > beforeNanoUsd)
    throw new GatewayError(
      'invalid-request',
      `reset_to is more than the ${nanoUsdToText(beforeNanoUsd)} dollars that were spent; send at most that`,
      { param: 'reset_to' },
    )
  const offset = (await offsetsOf(tx, kind, [id])).get(id) ?? 0n
  if (toNanoUsd > 0n)
    await tx.unsafe(addBudgetText('values ($1, $2, $3, $4)'), [
      `${kind}:${id}`,
      atMs,
      resetWriter,
      Math.min(Number(toNanoUsd), budgetNanoUsdMax),
    ])
  return {
    reset: { beforeNanoUsd, afterNanoUsd: toNanoUsd },
    offsetNanoUsd: offset + beforeNanoUsd - toNanoUsd,
  }
}
