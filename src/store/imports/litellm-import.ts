/** Brings what a LiteLLM database says of keys, teams, users and budgets into the gateway's own. */
import * as rows from '../../access/imports/litellm-rows.ts'
import type { LitellmRow } from '../../access/imports/litellm-rows.ts'
import type { Actor, TenantKind } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenancyStore, TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import type { LitellmTables } from './litellm-tables.ts'

/** Of one kind: how many were made, and how many were there already and stayed as they are. */
export interface ImportCount {
  readonly kind: string
  readonly made: number
  readonly kept: number
  /** What was left out, and why; absent = nothing was. */
  readonly problems?: readonly string[]
}

interface ImportOptions {
  readonly tenancy: Pick<TenancyStore, 'change'>
  readonly actor: Actor
  /** The stored hash of a key, of the SHA-256 of its text. */
  hashOfDigest(digest: string): string
}

/** Every other change of tenancy waits for a transaction. */
const perTransaction = 200

/** What is brought of one row; false = it is there already. */
type Step = (tx: TenancyTransaction) => Promise<boolean>

/**
 * Objects that are there already stay as they are, with their memberships: it can be run again for what came later.
 * What keys, teams and users have spent counts as spent in a period that begins now. Sessions of LiteLLM's pages are
 * left out.
 */
export async function importLitellm(tables: LitellmTables, options: ImportOptions): Promise<ImportCount[]> {
  const counts: ImportCount[] = []
  for (const [kind, steps] of Object.entries(stepsOf(tables, options))) {
    let made = 0
    for (let at = 0; at < steps.length; at += perTransaction)
      made += await options.tenancy.change(options.actor, async tx => {
        let brought = 0
        for (const step of steps.slice(at, at + perTransaction)) if (await step(tx)) brought++
        return brought
      })
    counts.push({ kind, made, kept: steps.length - made })
  }
  return counts
}

/** In the order in which one needs the other. */
function stepsOf(tables: LitellmTables, { hashOfDigest }: ImportOptions): Record<string, Step[]> {
  return {
    budgets: tables.budgets.map(row => inserted('budget', rows.budgetOf(row))),
    organizations: tables.organizations.map(row => inserted('organization', rows.organizationOf(row))),
    users: tables.users.map(row => inserted('user', rows.userOf(row), row)),
    teams: teamSteps(tables),
    'members of organizations': tables.organizationMembers.map(row => async tx => {
      const member = rows.organizationMemberOf(row)
      const known = await tx.memberships({ userId: member.userId })
      if (known.some(one => one.kind === member.kind && one.groupId === member.groupId)) return false
      await putMember(tx, member)
      return true
    }),
    customers: tables.customers.map(row => inserted('customer', rows.customerOf(row))),
    tags: tables.tags.map(row => inserted('tag', rows.tagOf(row))),
    keys: tables.keys.flatMap(row => {
      const key = rows.keyOf(row, hashOfDigest)
      if (!key) return []
      return async (tx: TenancyTransaction) => {
        if (await tx.findKey({ id: key.id })) return false
        await tx.insertKey(key)
        await carry(tx, 'key', key.id, row)
        return true
      }
    }),
  }
}

/** `row` where it says what was spent. */
const inserted =
  <Kind extends TenantKind>(kind: Kind, record: NewTenant<Kind>, row?: LitellmRow): Step =>
  async tx => {
    if (await tx.find(kind, record.id)) return false
    await tx.insert(kind, record)
    if (row && (kind === 'user' || kind === 'team')) await carry(tx, kind, record.id, row)
    return true
  }

async function carry(
  tx: TenancyTransaction,
  kind: 'key' | 'team' | 'user',
  id: string,
  row: LitellmRow,
): Promise<void> {
  const spent = rows.nanoUsd(row.spend) ?? 0n
  if (spent > 0n) await tx.carrySpend(kind, id, spent)
}

function teamSteps(tables: LitellmTables): Step[] {
  const budgets = new Map(tables.budgets.map(row => [row.budget_id, row]))
  const aliases = new Map(tables.teamAliases.map(row => [row.id, row.model_aliases]))
  const budgetIds = new Map<unknown, Map<string, string>>()
  for (const { team_id: team, user_id: user, budget_id: budget } of tables.teamMembers)
    if (typeof budget === 'string') {
      if (!budgetIds.has(team)) budgetIds.set(team, new Map())
      budgetIds.get(team)!.set(String(user), budget)
    }
  return tables.teams.map(row => async tx => {
    const { team_member_budget_id: ofMembers } = (row.metadata ?? {}) as { team_member_budget_id?: unknown }
    const team = rows.teamOf(row, aliases.get(row.model_id), budgets.get(ofMembers))
    if (!(await inserted('team', team, row)(tx))) return false
    for (const member of rows.membersOf(row, budgetIds.get(row.team_id) ?? new Map())) await putMember(tx, member)
    return true
  })
}

/** A user who has no row there gets one here. */
async function putMember(tx: TenancyTransaction, member: Parameters<TenancyTransaction['putMembership']>[0]) {
  if (!(await tx.find('user', member.userId))) await tx.insert('user', rows.bareUser(member.userId))
  await tx.putMembership(member)
}

/**
 * What calls that were brought have cost is in the sums of the ledger: of what was carried it is taken off, so that
 * nothing is shown twice. Budgets stay as they are. `sums`: nano-dollars of these calls, by id.
 */
export async function takeBrought(
  tables: LitellmTables,
  sums: Readonly<Record<'key' | 'user' | 'team', ReadonlyMap<string, bigint>>>,
  { tenancy, actor }: Pick<ImportOptions, 'tenancy' | 'actor'>,
): Promise<void> {
  const rest = (row: LitellmRow, brought: bigint | undefined) => {
    const spent = rows.nanoUsd(row.spend) ?? 0n
    const left = spent - (brought ?? 0n)
    return { carried: -spent, offset: left > 0n ? -left : 0n }
  }
  const steps: ((tx: TenancyTransaction) => Promise<unknown>)[] = [
    ...tables.keys.map(row => async (tx: TenancyTransaction) => {
      const { carried, offset } = rest(row, sums.key.get(String(row.token)))
      const key = await tx.findKey({ id: String(row.token) })
      if (key?.spendOffsetNanoUsd === carried && offset !== carried)
        await tx.updateKey(key.id, { spendOffsetNanoUsd: offset })
    }),
    ...(['team', 'user'] as const).flatMap(kind =>
      tables[`${kind}s`].map(row => async (tx: TenancyTransaction) => {
        const id = String(row[`${kind}_id`])
        const { carried, offset } = rest(row, sums[kind].get(id))
        const found = await tx.find(kind, id)
        if (found?.spendOffsetNanoUsd === carried && offset !== carried)
          await tx.update(kind, id, { spendOffsetNanoUsd: offset })
      }),
    ),
  ]
  for (let at = 0; at < steps.length; at += perTransaction)
    await tenancy.change(actor, async tx => {
      for (const step of steps.slice(at, at + perTransaction)) await step(tx)
    })
}
