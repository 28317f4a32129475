/** What has a budget, and how it stands: keys, users, teams, ... and the budgets of the configuration. */
import { z } from 'zod'
import { dollarsOf } from '../../../access/fields/money.ts'
import { iso } from '../../../access/fields/answers.ts'
import { keyName } from '../../../access/fields/checks.ts'
import { surveyedKinds } from '../../../core/tenancy/budgets.ts'
import type { SurveyedBudget } from '../../../core/tenancy/budgets.ts'
import type { Services } from '../../../core/endpoint.ts'
import { unprocessable } from '../../../core/errors.ts'
import { lazy } from '../../../lib/lazy.ts'
import { withQuery } from '../../common/json-endpoint.ts'
import {
  boolean,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { ValueOf } from '../../openapi/schema.ts'
import { budgetStateFields, budgetStates } from './budget-states.ts'

/** The schema allows a budget, whose it is, and how it stands. */
export const budgetStateSchema = named('BudgetState', () =>
  shape({
    scope: described('What calls count in; no other budget has it.', text),
    kind: oneOf(...surveyedKinds),
    id: described('The id of what has the budget; of members it is `GROUP/USER`.', text),
    name: text,
    model: described('The model whose calls count; null = those of all models do.', nullable(text)),
    budget_id: nullable(text),
    version: described('The version of what has the budget; null = the API changes none.', nullable(integer)),
    ...budgetStateFields,
    temp_budget_increase: described(
      'Dollars of a raise that holds now, which `max_budget` includes.',
      nullable(number),
    ),
    temp_budget_expiry: nullable(dateTime),
    temp_budget_reason: nullable(text),
  }),
)
const budgetUsageSchema = named('BudgetUsage', () =>
  shape({
    budgets: listOf(budgetStateSchema),
    is_complete: described(
      'false = there are very many: only the nearest to their limits, or those found until now, are listed.',
      boolean,
    ),
    next_cursor: nullable(text),
  }),
)

const pageSizeMax = 100

const query = lazy(() =>
  z.strictObject({
    kind: z
      .enum(surveyedKinds)
      .optional()
      .describe('Budgets of this kind are listed; `provider` and `gateway` are those of the configuration.'),
    id: keyName().optional().describe('Only those of this object are listed; its `kind` is needed.'),
    budget_id: keyName().optional().describe('Only those that this named budget sets are listed.'),
    search: keyName().optional().describe('The name or the id contains this part.'),
    min_share: z.coerce.number().min(0).max(1000).optional().describe('At least this share is spent: 0.8, 1, ...'),
    page_size: z.coerce.number().int().min(1).max(pageSizeMax).default(50),
    cursor: z.string().max(2000).optional().describe('It is the `next_cursor` of the page before.'),
  }),
)
type BudgetUsageQuery = z.infer<ReturnType<typeof query>>

/** What was spent is that of the present period, and 15 s old at most for calls at other replicas. */
export const budgetUsage = withQuery(query, {
  tag: 'Budgets',
  answer: budgetUsageSchema,
  paths: ['/budget/usage'],
  auth: 'viewer',
  operationId: 'listBudgetUsage',
  summary: 'Every budget, the nearest to its limit first: spent, reserved, left, and a forecast',
  async handle(filter, { services }) {
    const { budgets, isComplete } = await found(services, filter)
    const after = filter.cursor === undefined ? undefined : readCursor(filter.cursor)
    const left = budgets.filter(one => isWanted(one, filter) && (!after || isBehind(one, after)))
    const page = left.slice(0, filter.page_size)
    return {
      budgets: await shownBudgets(services, page),
      is_complete: isComplete,
      next_cursor: left.length > page.length ? cursorOf(page.at(-1)!) : null,
    }
  },
})

async function found({ budgetSurvey, current }: Services, { kind, id }: BudgetUsageQuery) {
  const settings = current.settings.budgets
  if (id === undefined) return budgetSurvey.all(settings)
  if (kind !== undefined) return { budgets: await budgetSurvey.one(kind, id, settings), isComplete: true }
  throw unprocessable([{ loc: ['query', 'kind'], msg: 'is missing; an id needs its kind', type: 'missing' }])
}

function isWanted(
  one: SurveyedBudget,
  { kind, budget_id: budgetId, search, min_share: share = 0 }: BudgetUsageQuery,
): boolean {
  if (kind !== undefined && one.kind !== kind) return false
  if (budgetId !== undefined && one.budgetId !== budgetId) return false
  if (one.share < share) return false
  if (search === undefined) return true
  const part = search.toLowerCase()
  return [one.name, one.id, one.model ?? ''].some(text => text.toLowerCase().includes(part))
}

/** How they stand now, as the API shows them. */
export async function shownBudgets(
  services: Services,
  budgets: readonly SurveyedBudget[],
): Promise<ValueOf<typeof budgetStateSchema>[]> {
  const states = await budgetStates(services, budgets)
  const nowMs = services.clock.epochMs()
  return budgets.map((one, at) => {
    const { raise } = one.definition
    const isRaised = raise !== null && nowMs < raise.untilMs
    return {
      scope: one.scope,
      kind: one.kind,
      id: one.id,
      name: one.name,
      model: one.model,
      budget_id: one.budgetId,
      version: one.version,
      ...states[at]!,
      temp_budget_increase: isRaised ? dollarsOf(BigInt(raise.nanoUsd)) : null,
      temp_budget_expiry: isRaised ? iso(raise.untilMs) : null,
      temp_budget_reason: isRaised ? one.raiseReason : null,
    }
  })
}

/** Where a page of the list ends. */
type CursorPosition = Pick<SurveyedBudget, 'share' | 'scope'>

const isBehind = (one: CursorPosition, { share, scope }: CursorPosition): boolean =>
  one.share < share || (one.share === share && one.scope > scope)

const cursorOf = ({ share, scope }: CursorPosition): string => Buffer.from(`${share}:${scope}`).toString('base64url')

function readCursor(text: string): CursorPosition {
  const written = /^([\d.e+-]+|Infinity):(.+)$/s.exec(Buffer.from(text, 'base64url').toString())
  const share = Number(written?.[1])
  if (written && !Number.isNaN(share)) return { share, scope: written[2]! }
  throw unprocessable([{ loc: ['query', 'cursor'], msg: 'is no `next_cursor` of a page', type: 'invalid' }])
}
