/** How requests send the fields of tenant objects: the check of each kind, and the changes of a record that follow. */
import { z } from 'zod'
import { blankValues, memberPermissions, memberRoles, userRoles } from '../../core/tenancy/fields.ts'
import type { FieldKind, FieldTable, KindValues, Values } from '../../core/tenancy/fields.ts'
import { parseIsoDate } from '../../lib/iso-date.ts'
import { lazy } from '../../lib/lazy.ts'
import { readDuration } from '../key.ts'
import { dollars } from './money.ts'
import { toolPermission } from './tool-permission.ts'

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

/** The range of a limit, as an error text; for the command line, where no `null` can be given. */
export const limitRange = 'must be a whole number from 0 to 1000000000'
const limitText = `${limitRange}, or null for no limit`
const limit = lazy(() => z.number(limitText).int(limitText).min(0, limitText).max(1_000_000_000, limitText))

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

/** Letters of any script before the `@` and in the domain (RFC 6531), without spaces, control characters and quotes. */
const emailPattern = new RegExp(
  String.raw`^(?!\.)(?!.*\.\.)[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~.-]{1,64}(?<!\.)` +
    String.raw`@(?:[\p{L}\p{M}\p{N}-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$`,
  'u',
)

/** An e-mail address, such as `zoë+1@example.com`. */
export const emailAddress = lazy(() => z.email({ pattern: emailPattern }).max(255))

const entriesMax = 1000
const shortMap = <Value extends z.ZodType>(value: Value) =>
  z
    .record(keyName(), value)
    .refine(map => Object.keys(map).length <= entriesMax, `must have at most ${entriesMax} entries`)
const amount = lazy(() => dollars().refine(value => value !== null, 'must be an amount of dollars'))

/**
 * `{max_budget, budget_duration}` as LiteLLM's budgets have it, `{budget_limit, time_period}` as its keys, or the
 * amount.
 */
const modelBudget = lazy(() =>
  z
    .union([
      z
        .strictObject({
          budget_limit: amount().optional(),
          time_period: durationText().nullable().optional(),
          max_budget: amount().optional(),
          budget_duration: durationText().nullable().optional(),
        })
        .refine(
          given => (given.budget_limit === undefined) !== (given.max_budget === undefined),
          'give `budget_limit` or `max_budget`, one of the two',
        ),
      amount(),
    ])
    .transform(given => {
      if (typeof given !== 'object' || given === null)
        return { maxBudgetNanoUsd: given ?? 0n, budgetDuration: null, form: 'amount' as const }
      return {
        maxBudgetNanoUsd: given.budget_limit ?? given.max_budget ?? 0n,
        budgetDuration: given.time_period ?? given.budget_duration ?? null,
        ...(given.max_budget !== undefined && { form: 'max_budget' as const }),
      }
    }),
)

/** What a request may send for a field of each kind; null = the value that a new object has. */
const checks: { readonly [Kind in FieldKind]: () => z.ZodType<KindValues[Kind] | null> } = {
  id: keyName,
  count: () => z.number().int().min(1),
  time: moment,
  moment: () => moment().nullable(),
  name: () => keyName().nullable(),
  paragraph: () =>
    z
      .string()
      .max(2000, 'must be at most 2000 characters')
      .regex(/^[^\u0000]*$/, 'must not hold U+0000')
      .nullable(),
  email: () =>
    emailAddress()
      .transform(text => text.toLowerCase())
      .nullable(),
  duration: () => durationText().nullable(),
  limit: () => limit().nullable(),
  limits: () => shortMap(limit()).nullable(),
  dollars,
  modelBudgets: () => shortMap(modelBudget()).nullable(),
  names: () => z.array(keyName()).max(100).nullable(),
  models: () => z.array(keyName()).max(1000).nullable(),
  aliases: () => shortMap(keyName()).nullable(),
  permissions: () => z.array(z.enum(memberPermissions)).nullable(),
  object: () => z.record(z.string(), z.unknown()).nullable(),
  toolPermission: () => toolPermission().nullable(),
  flag: () => z.boolean().nullable(),
  choice: () => z.boolean().nullable(),
  userRole: () => z.enum(userRoles).nullable(),
  memberRole: () => z.enum(memberRoles).nullable(),
  groupKind: () => z.enum(['team', 'organization']).nullable(),
}

/** The fields of a request by the API's names, for `z.strictObject`. */
type WrittenFields<Table extends FieldTable> = {
  [Name in keyof Table as Table[Name]['isWritten'] extends true
    ? NonNullable<Table[Name]['name']>
    : never]: z.ZodOptional<z.ZodType<KindValues[Table[Name]['kind']] | null>>
}

/** The checks of all fields of the table that requests may send, none of which has to be sent. */
export function writtenFields<Table extends FieldTable>(table: Table): WrittenFields<Table> {
  const fields = Object.values(table)
    .filter(field => field.isWritten)
    .map(({ kind, name, description }) => [name, checks[kind]().optional().describe(description)])
  return Object.fromEntries(fields) as WrittenFields<Table>
}

/** What was sent of the fields of a table. */
type Sent<Table extends FieldTable> = Partial<z.infer<z.ZodObject<WrittenFields<Table>>>>

/**
 * The fields of the record that were sent; null resets one to what it is in a new object. A raise of the budget that
 * ends takes its reason along.
 */
export function changesOf<Table extends FieldTable>(table: Table, sent: Sent<NoInfer<Table>>): Partial<Values<Table>> {
  const values: Readonly<Record<string, unknown>> = sent
  const changes: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(table)) {
    const value = field.isWritten ? values[field.name ?? ''] : undefined
    if (value !== undefined) changes[name] = value ?? blankValues[field.kind]
  }
  if (changes.budgetIncreaseNanoUsd === null) changes.budgetIncreaseReason = null
  return changes as Partial<Values<Table>>
}

/** What those who lead an object may write of it, beside `others`: names of fields of a request. */
export function selfServiceFields(table: FieldTable, ...others: readonly string[]): ReadonlySet<string> {
  const own = Object.values(table).filter(field => field.isSelfService)
  return new Set([...others, ...own.flatMap(({ name }) => name ?? [])])
}

/** A version, for optimistic concurrency. */
export const version = lazy(() =>
  z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('The `version` that the change was made for: 409 when it is another by now.'),
)
