/**
 * Fields of limits and budgets as LiteLLM names them, the same on keys, users, teams, organizations, customers, tags
 * and named budgets (https://docs.litellm.ai/docs/proxy/users, read 2026-11-23).
 */
import { z } from 'zod'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { SpendingFields, TenantFields } from '../../core/tenancy/tenancy.ts'
import { parseIsoDate } from '../../lib/iso-date.ts'
import { readDuration } from '../key.ts'
import { dollars, dollarsOf } from './money.ts'
import { lazy } from '../../lib/lazy.ts'

/** A name, 1 to 255 characters. No control characters: Postgres text holds no NUL, and lists are printed in lines. */
export const keyName = lazy(() =>
  z
    .string({ error: ({ input }) => (input === undefined ? 'is missing; send a string' : 'must be a string') })
    .min(1, 'must not be empty')
    .max(255, 'must be at most 255 characters')
    .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not hold control characters')
    // Databases keep U+FFFD in the place of each, so that two names would be one.
    .refine(name => name.isWellFormed(), 'must not hold half of a surrogate pair'),
)

/** Some sentences about an object, with line breaks. */
export const descriptionText = lazy(() =>
  z
    .string()
    .max(2000, 'must be at most 2000 characters')
    .regex(/^[^\u0000]*$/, 'must not hold U+0000'),
)

/** The range of a limit, as an error text; for the command line, where no `null` can be given. */
export const limitRange = 'must be a whole number from 0 to 1000000000'
const limitText = `${limitRange}, or null for no limit`
const limit = lazy(() => z.number(limitText).int(limitText).min(0, limitText).max(1_000_000_000, limitText).nullable())

/** A duration as text; it is kept as it was sent. */
export const durationText = lazy(() =>
  z.string().superRefine((text, context) => {
    const read = readDuration(text)
    if ('problem' in read) context.addIssue({ code: 'custom', message: read.problem })
  }),
)

/** A moment in ISO 8601, as milliseconds since 1970. */
export const moment = lazy(() =>
  z.string().transform((text, context) => {
    const read = parseIsoDate(text)
    if (read) return read.ms
    context.addIssue({ code: 'custom', message: 'must be a date of the calendar, such as 2026-12-31T00:00:00Z' })
    return z.NEVER
  }),
)

const entriesMax = 1000
const shortMap = <Value extends z.ZodType>(value: Value) =>
  z
    .record(keyName(), value)
    .refine(map => Object.keys(map).length <= entriesMax, `must have at most ${entriesMax} entries`)
const amount = lazy(() => dollars().refine(value => value !== null, 'must be an amount of dollars'))

/** `{model: {budget_limit, time_period}}` as LiteLLM's keys have it, `{max_budget, budget_duration}`, or the amount. */
const modelBudget = lazy(() =>
  z
    .union([
      z.strictObject({ budget_limit: amount(), time_period: durationText().nullable().optional() }),
      z.strictObject({ max_budget: amount(), budget_duration: durationText().nullable().optional() }),
      amount(),
    ])
    .transform(given => {
      if (typeof given === 'bigint' || given === null) return { maxBudgetNanoUsd: given ?? 0n, budgetDuration: null }
      const [max, duration] =
        'budget_limit' in given ? [given.budget_limit, given.time_period] : [given.max_budget, given.budget_duration]
      return { maxBudgetNanoUsd: max ?? 0n, budgetDuration: duration ?? null }
    }),
)

/** Whether requests and answers of a key, or of a team, are stored. */
export const storesBodies = lazy(() =>
  z
    .boolean()
    .nullable()
    .optional()
    .describe('Whether request and answer of its calls are stored: one false anywhere decides; null = as others say.'),
)

/** null = none. */
export const spendingFields = lazy(() => ({
  rpm_limit: limit().optional().describe('Requests a minute; 0 = none is allowed.'),
  tpm_limit: limit().optional().describe('Tokens a minute.'),
  max_parallel_requests: limit().optional().describe('Calls at once.'),
  model_rpm_limit: shortMap(limit().unwrap()).nullable().optional().describe('Requests a minute by model.'),
  model_tpm_limit: shortMap(limit().unwrap()).nullable().optional().describe('Tokens a minute by model.'),
  max_budget: dollars().optional().describe('Dollars that may be spent in each `budget_duration`.'),
  soft_budget: dollars().optional().describe('Dollars at which an alert is raised; nothing is refused.'),
  budget_duration: durationText().nullable().optional().describe('`30d`, `1mo`, ...; null = one budget for ever.'),
  budget_reset_at: moment().nullable().optional().describe('One end of a budget window; null = by the calendar.'),
  model_max_budget: shortMap(modelBudget()).nullable().optional().describe('Budgets by model.'),
  temp_budget_increase: dollars().optional().describe('Added to `max_budget` until `temp_budget_expiry`.'),
  temp_budget_expiry: moment().nullable().optional(),
  temp_budget_reason: keyName().nullable().optional().describe('Why, for people and the audit log.'),
  budget_id: keyName().nullable().optional().describe('A named budget, for what is not set here.'),
}))

const spendingNames = {
  rpm_limit: 'requestsPerMinute',
  tpm_limit: 'tokensPerMinute',
  max_parallel_requests: 'parallelRequests',
  model_rpm_limit: 'modelRequestsPerMinute',
  model_tpm_limit: 'modelTokensPerMinute',
  max_budget: 'maxBudgetNanoUsd',
  soft_budget: 'softBudgetNanoUsd',
  budget_duration: 'budgetDuration',
  budget_reset_at: 'budgetResetAtMs',
  model_max_budget: 'modelMaxBudget',
  temp_budget_increase: 'budgetIncreaseNanoUsd',
  temp_budget_expiry: 'budgetIncreaseUntilMs',
  temp_budget_reason: 'budgetIncreaseReason',
  budget_id: 'budgetId',
} as const satisfies Record<keyof ReturnType<typeof spendingFields>, keyof SpendingFields>

type SpendingInput = { readonly [Name in keyof ReturnType<typeof spendingFields>]?: unknown }

/**
 * The record's fields of those that were sent; null resets one to `blank`. `names`: the API's name -> the record's.
 */
export function changesOf<Fields extends object>(
  sent: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, keyof Fields>>,
  blank: Fields,
): Partial<Fields> {
  const changes: Partial<Record<keyof Fields, unknown>> = {}
  for (const [name, property] of Object.entries(names))
    if (sent[name] !== undefined) changes[property] = sent[name] ?? blank[property]
  return changes as Partial<Fields>
}

/** The limits and the budget that were sent. A raise that ends takes its reason along. */
export function spendingChanges(sent: SpendingInput): Partial<SpendingFields> {
  const changes = changesOf<SpendingFields>(sent, spendingNames, unlimited)
  return changes.budgetIncreaseNanoUsd === null ? { ...changes, budgetIncreaseReason: null } : changes
}

/** The field to be mended, by its name in the API. */
interface SpendingProblem {
  readonly field: keyof ReturnType<typeof spendingFields>
  readonly msg: string
}

/** What a change begins with: nothing for a new object. `nowMs` = since 1970. */
interface SpendingChange {
  readonly before: Partial<SpendingFields>
  readonly nowMs: number
}

/** What is wrong with fields that only work together, as they would stand after a change; undefined = nothing. */
export function spendingProblem(
  fields: Partial<SpendingFields>,
  { before, nowMs }: SpendingChange,
): SpendingProblem | undefined {
  const { budgetIncreaseNanoUsd: raised = null, budgetIncreaseUntilMs: until = null } = fields
  if ((raised === null) !== (until === null)) {
    const field = raised === null ? 'temp_budget_increase' : 'temp_budget_expiry'
    return { field, msg: 'temp_budget_increase and temp_budget_expiry need each other' }
  }
  if (raised === null && fields.budgetIncreaseReason != null)
    return { field: 'temp_budget_reason', msg: 'temp_budget_reason needs temp_budget_increase' }
  // A raise that has ended may be sent again unchanged, together with other changes.
  if (until !== null && until <= nowMs && until !== before.budgetIncreaseUntilMs)
    return {
      field: 'temp_budget_expiry',
      msg:
        `temp_budget_expiry is past (${iso(until)}): the budget would not be raised; give a later moment, or ` +
        'null for both fields to end a raise',
    }
  const { softBudgetNanoUsd: soft = null, maxBudgetNanoUsd: max = null } = fields
  if (soft !== null && max !== null && soft > max)
    return { field: 'soft_budget', msg: 'soft_budget must be at most max_budget' }
  return undefined
}

/** ISO 8601; null stays null. */
export const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** The limits and the budget as the API shows them. */
export function shownSpending(fields: SpendingFields): Record<string, unknown> {
  const budgets = Object.entries(fields.modelMaxBudget).map(([model, { maxBudgetNanoUsd, budgetDuration }]) => [
    model,
    { budget_limit: dollarsOf(maxBudgetNanoUsd), time_period: budgetDuration },
  ])
  return {
    rpm_limit: fields.requestsPerMinute,
    tpm_limit: fields.tokensPerMinute,
    max_parallel_requests: fields.parallelRequests,
    model_rpm_limit: fields.modelRequestsPerMinute,
    model_tpm_limit: fields.modelTokensPerMinute,
    max_budget: dollarsOf(fields.maxBudgetNanoUsd),
    soft_budget: dollarsOf(fields.softBudgetNanoUsd),
    budget_duration: fields.budgetDuration,
    budget_reset_at: iso(fields.budgetResetAtMs),
    model_max_budget: Object.fromEntries(budgets),
    temp_budget_increase: dollarsOf(fields.budgetIncreaseNanoUsd),
    temp_budget_expiry: iso(fields.budgetIncreaseUntilMs),
    temp_budget_reason: fields.budgetIncreaseReason,
    budget_id: fields.budgetId,
  }
}

/** A list of models as keys, teams, users and organizations have it. */
export const modelList = lazy(() =>
  z
    .array(keyName())
    .max(1000)
    .nullable()
    .optional()
    .describe('Names, `prefix/*` patterns or access groups; empty or null = every model.'),
)
/** Any JSON object. */
export const metadata = lazy(() => z.record(z.string(), z.unknown()).nullable().optional())
/** Up to 100 short texts. */
export const nameList = lazy(() => z.array(keyName()).max(100).nullable().optional())
/** A version, for optimistic concurrency. */
export const version = lazy(() =>
  z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('The `version` that the change was made for: 409 when it is another by now.'),
)
/** What a client calls a model -> the model. */
export const aliasMap = lazy(() => shortMap(keyName()).nullable().optional())

/** Fields that every kind of tenant has. */
export const tenantFields = lazy(() => ({
  ...spendingFields(),
  models: modelList(),
  metadata: metadata(),
  blocked: z.boolean().nullable().optional(),
}))

/** A new object without anything set. */
export const blankTenant: Omit<
  TenantFields,
  'id' | 'version' | 'createdAtMs' | 'createdBy' | 'updatedAtMs' | 'updatedBy'
> = { ...unlimited, alias: null, models: [], metadata: {}, blocked: false }

/** Limits, budget, models, metadata and `blocked`, as far as they were sent. */
export function tenantChanges(sent: SpendingInput & { models?: unknown; metadata?: unknown; blocked?: unknown }) {
  return {
    ...spendingChanges(sent),
    ...changesOf<typeof blankTenant>(sent, { models: 'models', metadata: 'metadata', blocked: 'blocked' }, blankTenant),
  }
}

/** What the API shows of every kind of tenant. */
export function shownTenant(tenant: TenantFields): Record<string, unknown> {
  return {
    ...shownSpending(tenant),
    models: tenant.models,
    metadata: tenant.metadata,
    blocked: tenant.blocked,
    version: tenant.version,
    created_at: iso(tenant.createdAtMs),
    created_by: tenant.createdBy,
    updated_at: iso(tenant.updatedAtMs),
    updated_by: tenant.updatedBy,
  }
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && isEmptyObject(value))
const isEmptyObject = (value: object): boolean => Object.keys(value).length === 0

/**
 * A field of LiteLLM's that has no meaning here: accepted where it asks for nothing (null, false, 0, an empty text,
 * list or object), else refused with what to do instead.
 */
export const without = (instead: string) => z.unknown().refine(isEmpty, `has no meaning here; ${instead}`).optional()
