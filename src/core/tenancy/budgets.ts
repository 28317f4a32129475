/** What may be spent: definitions, and what the configuration says of all budgets. */
import type { SpendingFields } from './tenancy.ts'

/** How long a budget lasts before it begins anew: seconds, minutes, hours, days, weeks or months. */
export interface BudgetDuration {
  readonly count: number
  readonly unit: 's' | 'm' | 'h' | 'd' | 'w' | 'mo'
}

/** What may be spent in one scope. Nano-dollars; moments are milliseconds since 1970. */
export interface BudgetDefinition {
  /** `key:ID`, `team:ID:model:NAME`, ... */
  readonly id: string
  readonly maxNanoUsd: number
  /** null = the operator is not notified. */
  readonly softNanoUsd: number | null
  /** undefined = it is spent once and for all. */
  readonly duration: BudgetDuration | undefined
  /** One end of a period; null = periods follow the calendar. */
  readonly resetAtMs: number | null
  /** What was spent was set anew then: what came before counts no more; null = never. */
  readonly spendResetAtMs: number | null
  readonly raise: { readonly nanoUsd: number; readonly untilMs: number } | null
}

/** A budget of the configuration. */
export type BudgetRule = Pick<SpendingFields, 'maxBudgetNanoUsd' | 'budgetDuration'>

/** How budgets are kept. */
export interface BudgetSettings {
  /**
   * A call that could cost more than is left: `refuse` it, or `shrink` its maximum of output tokens to what is left.
   */
  readonly fit: 'refuse' | 'shrink'
  /** Calls of a model without a price: refused, counted as `reserveNanoUsd`, or let through and not counted. */
  readonly unknownPrice: 'refuse' | 'reserve' | 'allow'
  /** What is reserved for a call of which it is not known how much it can cost. */
  readonly reserveNanoUsd: number
  /** Of the calendar that periods follow, a name of the IANA database. */
  readonly timeZone: string
  /** Notified when a soft budget is reached; empty = the log alone. */
  readonly webhookUrls: readonly string[]
  /** As `webhookUrls`, by mail. */
  readonly alertEmails: readonly string[]
  /** Of all calls with virtual keys together; null = none. */
  readonly all: BudgetRule | null
  /** What holds for each end user as far as it sets nothing itself; the `budgetId` sets the rest. null = nothing. */
  readonly endUser: SpendingFields | null
  /**
   * Customers and tags that limit calls and belong to no team or organization: calls that name them are refused, but
   * for those of administrators, or counted.
   */
  readonly unownedLimits: 'refuse' | 'allow'
  /** Of all calls at a provider, by its name. */
  readonly providers: Readonly<Record<string, BudgetRule>>
}

/** What may have a budget. `member` = a user in a team. */
export const surveyedKinds = [
  'key',
  'user',
  'team',
  'organization',
  'customer',
  'tag',
  'member',
  'organization_member',
  'provider',
  'gateway',
] as const
/** One of them. */
export type SurveyedKind = (typeof surveyedKinds)[number]

/** A budget of something, for people who look at it. */
export interface SurveyedBudget {
  /** No other budget has it. */
  readonly scope: string
  readonly kind: SurveyedKind
  /** Of what has it; of members `GROUP/USER`. */
  readonly id: string
  readonly name: string
  /** For a change of what has it; null = there is none to be made. */
  readonly version: number | null
  readonly budgetId: string | null
  /** null = of all models. */
  readonly model: string | null
  readonly definition: BudgetDefinition
  /** As it was written. */
  readonly duration: string | null
  readonly raiseReason: string | null
  /** Of its limit, soft where there is no other, that is spent in the present period; 1 = reached. */
  readonly share: number
}

/** Reads all budgets. Rejects with `overloaded` while the database cannot be read. */
export interface BudgetSurvey {
  /**
   * The nearest to its limit first; not `isComplete` = of very many only the nearest, or those that were found until
   * now. The more there are, the longer an answer is kept: a twentieth of the time is spent with it at most.
   */
  all(settings: BudgetSettings): Promise<{ readonly budgets: readonly SurveyedBudget[]; readonly isComplete: boolean }>
  /** Those of one thing; empty = it has none, or does not exist. */
  one(kind: SurveyedKind, id: string, settings: BudgetSettings): Promise<readonly SurveyedBudget[]>
}
