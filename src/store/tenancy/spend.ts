/** What was spent by keys, teams and the like, from the daily sums of the ledger. */
import type { SQL } from 'bun'
import { nanoUsdToText } from '../../pricing/cost.ts'
import { GatewayError } from '../../core/errors.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { SpendKind, SpendReset } from '../../core/tenancy/tenancy-store.ts'
import { addBudgetText } from '../ledger/sums/budget-spend.ts'
import { totals } from '../ledger/sums/rollup-derived.ts'
import { Where } from './where.ts'

/** Nano-dollars by id, of all calls in the sums, less what was reset; ids without any are missing. */
export async function spentOf(sql: SQL, kind: SpendKind, ids: readonly string[]): Promise<Map<string, bigint>> {
  if (ids.length === 0) return new Map()
  const where = new Where()
  where.equal('scope', kind)
  where.among('entity', [...new Set(ids)])
  const rows = await where.sums(sql, totals.name, 'entity', 'cost_nano_usd')
  const offsets = await offsetsOf(sql, kind, ids)
  const sums = new Map(rows.map(({ name, total }) => [name, BigInt(total)]))
  // What was spent before at another gateway is a negative offset, and counts without a call, too.
  for (const [name, offset] of offsets) if (offset < 0n && !sums.has(name)) sums.set(name, 0n)
  return new Map(
    [...sums].map(([name, total]) => {
      // Sums of days that are no longer kept are gone; what was reset of them is not.
      const left = total - (offsets.get(name) ?? 0n)
      return [name, left > 0n ? left : 0n]
    }),
  )
}

/** The name in `budget_spend` under which a reset stores what is spent already. */
const resetWriter = 'reset'

/** The table of each kind whose spending can be reset. */
const resetTables = { key: 'virtual_keys', team: 'teams', user: 'users' } as const

/** What of the sums was reset, by id; ids without any are missing. */
async function offsetsOf(sql: SQL, kind: SpendKind, ids: readonly string[]): Promise<Map<string, bigint>> {
  if (!(kind in resetTables)) return new Map()
  const table = resetTables[kind as keyof typeof resetTables]
  const where = new Where()
  where.raw('spend_offset_nano_usd is not null')
  where.among('id', [...new Set(ids)])
  const rows = await where.select<{ id: string; spend_offset_nano_usd: string }>(sql, table)
  return new Map(rows.map(row => [row.id, BigInt(row.spend_offset_nano_usd)]))
}

interface ResetTarget {
  readonly kind: 'key' | 'team'
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
  { kind, id, toNanoUsd, atMs }: ResetTarget,
): Promise<{ reset: SpendReset; offsetNanoUsd: bigint }> {
  const beforeNanoUsd = (await spentOf(tx, kind, [id])).get(id) ?? 0n
  if (toNanoUsd > beforeNanoUsd)
    throw new GatewayError(
      'invalid-request',
      `reset_to is more than the ${nanoUsdToText(beforeNanoUsd)} dollars that were spent; send at most that`,
      { param: 'reset_to' },
    )
  const offset = (await offsetsOf(tx, kind, [id])).get(id) ?? 0n
  await countAsSpent(tx, `${kind}:${id}`, atMs, toNanoUsd)
  return {
    reset: { beforeNanoUsd, afterNanoUsd: toNanoUsd },
    offsetNanoUsd: offset + beforeNanoUsd - toNanoUsd,
  }
}

/**
 * Begins a period of the budget in which `nanoUsd` are spent already: what it spent at another gateway. Returns the
 * offset that shows them as spent beside the calls that come.
 */
export async function carrySpendOf(
  tx: SQL,
  of: { readonly kind: keyof typeof resetTables; readonly id: string; readonly atMs: number; readonly nanoUsd: bigint },
): Promise<bigint> {
  await countAsSpent(tx, `${of.kind}:${of.id}`, of.atMs, of.nanoUsd)
  return -of.nanoUsd
}

async function countAsSpent(tx: SQL, scope: string, atMs: number, nanoUsd: bigint): Promise<void> {
  if (nanoUsd <= 0n) return
  const amount = Math.min(Number(nanoUsd), budgetNanoUsdMax)
  await tx.unsafe(addBudgetText('values ($1, $2, $3, $4)'), [scope, atMs, resetWriter, amount])
}
