/** What has a budget, and how it stands: keys, users, teams, ... in pages, and the budgets of the configuration. */
import { z } from 'zod'
import { budgetDefinitions } from '../../../accounts/budget-plan.ts'
import { withBudget } from '../../../accounts/caller.ts'
import { keyName } from '../../../accounts/spending-fields.ts'
import type { BudgetRule } from '../../../core/budgets.ts'
import type { Services } from '../../../core/endpoint.ts'
import { unlimited } from '../../../core/tenancy.ts'
import type { SpendingFields, TenantKind } from '../../../core/tenancy.ts'
import { onUse } from '../../../lib/on-use.ts'
import { cursorField, nextCursor, pageOf } from '../tenancy/answers.ts'
import { withQuery } from '../tenancy/managed.ts'
import { budgetStates, withDefaultBudget } from './budget-states.ts'

const kinds = ['key', 'user', 'team', 'organization', 'customer', 'tag', 'provider', 'gateway'] as const
type Kind = (typeof kinds)[number]
const pageSizeMax = 100

const query = onUse(() =>
  z.strictObject({
    kind: z.enum(kinds).default('key').describe('`provider` and `gateway` = budgets of the configuration.'),
    id: keyName().optional().describe('Only this one.'),
    budget_id: keyName().optional().describe('Only those that use this named budget.'),
    page_size: z.coerce
      .number()
      .int()
      .min(1)
      .max(pageSizeMax)
      .default(50)
      .describe('At most; a page may have fewer, and even none, before the last.'),
    cursor: cursorField(),
  }),
)

/** One thing with a budget. */
interface Budgeted {
  readonly id: string
  readonly name: string
  readonly fields: SpendingFields
}

/** Newest first. What was spent is that of the present period, and 15 s old at most for calls at other replicas. */
export const budgetUsage = withQuery(query, {
  tag: 'Budgets',
  answer: 'BudgetUsage',
  paths: ['/budget/usage'],
  auth: 'viewer',
  operationId: 'listBudgetUsage',
  summary: 'What has a budget: spent, reserved, left, and a forecast',
  async handle(asked, { services }) {
    const { items, cursor } = await (asked.kind === 'provider' || asked.kind === 'gateway'
      ? { items: ofConfiguration(services, asked.kind, asked.id), cursor: null }
      : stored(services, asked.kind, asked))
    const found = items.flatMap(one => {
      const [definition] = budgetDefinitions(scopeOf(asked.kind, one.id), one.fields, [])
      return definition ? [{ ...one, definition, duration: one.fields.budgetDuration }] : []
    })
    const states = await budgetStates(services, found)
    return {
      budgets: found.map(({ id, name, fields }, at) => ({
        kind: asked.kind,
        id,
        name,
        budget_id: fields.budgetId,
        ...states[at],
      })),
      next_cursor: cursor,
    }
  },
})

const scopeOf = (kind: Kind, id: string): string => (kind === 'gateway' ? 'gateway' : `${kind}:${id}`)

function ofConfiguration({ current }: Services, kind: 'provider' | 'gateway', id: string | undefined): Budgeted[] {
  const { all, providers } = current.settings.budgets
  const fieldsOf = (rule: BudgetRule): SpendingFields => ({ ...unlimited, ...rule })
  if (kind === 'gateway') return all ? [{ id: 'gateway', name: 'gateway', fields: fieldsOf(all) }] : []
  return Object.entries(providers)
    .filter(([name]) => id === undefined || name === id)
    .map(([name, rule]) => ({ id: name, name, fields: fieldsOf(rule) }))
}

type Asked = z.infer<ReturnType<typeof query>>

async function stored(
  services: Services,
  kind: TenantKind | 'key',
  { id, budget_id: budgetId, page_size: size, cursor }: Asked,
): Promise<{ items: Budgeted[]; cursor: string | null }> {
  const { tenancy, keys, current } = services
  const page = pageOf(1, size, cursor)
  const { endUser } = current.settings.budgets
  if (kind === 'key') {
    const { keys: found } = await keys.list({ id, budgeted: true, budgetId, ...page })
    const items = found.map(one => ({ id: one.id, name: one.alias ?? one.hint, fields: one }))
    return { items: await withNamed(services, items), cursor: nextCursor(found, size) }
  }
  // Customers without a budget of their own have that of the configuration.
  const isDefault = kind === 'customer' && endUser !== null && budgetId === undefined
  const filter = { ids: id === undefined ? undefined : [id], budgeted: !isDefault, budgetId }
  const { items: found } = await tenancy.list(kind, filter, page)
  const named = await withNamed(
    services,
    found.map(one => ({ id: one.id, name: one.alias ?? emailOf(one) ?? one.id, fields: one })),
  )
  const items = isDefault ? named.map(one => ({ ...one, fields: withDefaultBudget(one.fields, endUser) })) : named
  return { items, cursor: nextCursor(found, size) }
}

const emailOf = (one: object): string | null => ('email' in one && typeof one.email === 'string' ? one.email : null)

/** What a named budget sets is filled in. */
async function withNamed({ tenancy }: Services, items: readonly Budgeted[]): Promise<Budgeted[]> {
  const ids = [...new Set(items.flatMap(({ fields }) => fields.budgetId ?? []))]
  const named = new Map((await tenancy.findAll('budget', ids)).map(one => [one.id, one]))
  return items.map(one => ({ ...one, fields: withBudget(one.fields, named.get(one.fields.budgetId ?? '')) }))
}
