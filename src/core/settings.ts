/** Frozen settings. A reload makes a new object; open calls keep theirs. */
import type { OpenTelemetrySettings } from './open-telemetry.ts'
import type { CacheSettings } from './cache/cache-settings.ts'
import type { AgentSettings } from './agents.ts'
import type { BodySettings } from './ledger/stored-bodies.ts'
import type { BudgetSettings } from './tenancy/budgets.ts'
import type { PriceAdjustmentSettings } from './usage/price-terms.ts'
import type { UsageExportSettings } from './ledger/usage-export.ts'
import type { LedgerRetention } from './ledger/usage-report.ts'
import type { Deployment } from './deployment.ts'
import type { IdentitySettings } from './sign-in/identity-providers.ts'
import type { GuardrailSettings } from './guardrails.ts'
import type { LimitScope } from './tenancy/limits.ts'
import type { ToolServerSettings } from './tool-servers.ts'
import type { SignInSettings } from './sign-in/sign-in-settings.ts'
import type { Team, User } from './tenancy/tenancy.ts'
import type { DatedPriceList } from './usage/price-list-age.ts'

/** Everything that a configuration file decides. */
export interface Settings {
  /** Every deployment, in order of the file. */
  readonly deployments: readonly Deployment[]
  /** `{alias: model_name}`. */
  readonly aliases: Readonly<Record<string, string>>
  /** Those that lists of models leave out; absent = none. */
  readonly hiddenAliases?: ReadonlySet<string>
  readonly router: RouterSettings
  /** Applied to every user that has no limits of its own. */
  readonly userLimits: Omit<LimitScope, 'id'>
  /** What users get who are made without these fields. */
  readonly newUsers: Pick<User, 'role' | 'models' | 'maxBudgetNanoUsd' | 'budgetDuration'>
  /** Ids of the teams that every user may join. */
  readonly availableTeams: readonly string[]
  /** What teams get that are made without these fields. */
  readonly newTeams: Partial<Team>
  /** What counts as a request per minute: calls of models and files, or every request with a key. */
  readonly rateLimitCounts: 'calls' | 'requests'
  readonly budgets: BudgetSettings
  readonly signIn: SignInSettings
  readonly identity: IdentitySettings
  /** What decides on limits while the Redis that shares them is away. */
  readonly limitsWithoutRedis: WithoutRedis
  /** The maximum number of valid keys of a user; null = unlimited. */
  readonly keysPerUser: number | null
  readonly keyRotation: KeyRotationSettings
  readonly newKeys: NewKeySettings
  readonly healthAlerts: HealthAlertSettings
  /** Prefix of the gateway's own response headers: `x-proxy`. */
  readonly headerPrefix: string
  /** Lower-case names of groups -> model names (`model_info.access_groups`). */
  readonly accessGroups: Readonly<Record<string, readonly string[]>>
  /** What of them was made by API, which names models whosesoever they are; absent = nothing. */
  readonly sentAccessGroups?: Readonly<Record<string, readonly string[]>>
  /** Models, credentials and access groups may be made by API. */
  readonly storesModels: boolean
  readonly publicModels: PublicModels
  /** In the order in which they are asked; absent = there are none. */
  readonly guardrails?: readonly GuardrailSettings[]
  /** Servers of tools, in the order of the file; absent = there are none. */
  readonly toolServers?: readonly ToolServerSettings[]
  /** Hosts of private networks that tool servers made by API may have. */
  readonly privateToolHosts: readonly string[]
  /** Without a model list: the providers of which the environment offers nothing, and what would change that. */
  readonly notOffered?: Readonly<Record<string, string>>
  /** The provider whose vendor alone names its models so: for the bare names of models that are not offered. */
  readonly vendorOf?: (model: string) => string | undefined
  readonly metricsRequireKey: boolean
  /** `/metrics` has LiteLLM's names, too. */
  readonly litellmMetricNames: boolean
  /** Who may name objects of a provider's account by the provider's own ids. */
  /** Those whose unknown paths are passed on. */
  readonly passThroughProviders: readonly string[]
  readonly providerObjectIds: 'master_key' | 'all_keys' | 'none'
  /** Public names of models for calls that name none; undefined = none is configured. */
  /** A header of calls that names their end user, in lower case; null = none but those of every gateway. */
  readonly endUserHeader: string | null
  /** Writes the summaries of compacted conversations; undefined = the model of the call. */
  readonly compactionModel?: string | undefined
  /** Headers of calls that become tags, in lower case. */
  readonly spendTagHeaders: readonly string[]
  readonly defaultModels: {
    readonly moderation: string | undefined
    readonly image_generation: string | undefined
    readonly files: string | undefined
  }
  readonly bodyBytesMax: number
  /** Of the bodies of all open calls together. */
  readonly bodyMemoryBytesMax: number
  /** What a key may store; null = no limit. */
  readonly storageQuota: { readonly objectsMax: number | null; readonly bytesMax: number | null }
  readonly ledgerRetention: LedgerRetention
  /** What is said in calls, where it is stored. */
  readonly bodies: BodySettings
  /** null = usage is not sent to other systems. */
  readonly usageExport: UsageExportSettings | null
  /** Which teams, keys and the like have metrics of their own; null = none. */
  readonly tenantMetrics: TenantMetricsSettings | null
  /** null = no collector is told of calls. As of the start: a reload does not change it. */
  readonly openTelemetry: OpenTelemetrySettings | null
  /** How coding agents sign in, and which settings they get. */
  readonly agents: AgentSettings
  /** Of the built-in price list: kept in each row whose cost was computed. */
  readonly priceListVersion: string
  /** The lists in force, the one whose price holds first. */
  readonly priceLists: readonly DatedPriceList[]
  /** null = all callers are charged what the vendor charges. */
  readonly priceTerms: PriceAdjustmentSettings | null
  /** null = no answer is kept. */
  readonly cache: CacheSettings | null
  /** How often the gateway looks for batches that have ended. */
  readonly batchPollMs: number
  /** How long stored responses are kept. */
  readonly responseRetentionMs: number
  /** How long conversations are kept after their last message; absent = as their owners say. */
  readonly chatRetentionMs?: number
  /** The file it came from; null = no file. */
  readonly file: string | null
  /** Messages for the operator that do not prevent the start. */
  readonly warnings: readonly string[]
  /** A file with a broken entry is refused as a whole. */
  readonly isStrict: boolean
  /** Mistakes of the entries of the file that are not served, one a line; absent = there are none. */
  readonly leftOut?: readonly string[]
}

/**
 * What decides on limits that are shared over Redis while it is away: refuse, or a share of each limit for each replica
 * by itself, above 0 and up to 1. `share` = one part for each replica that was seen last.
 */
export type WithoutRedis = 'refuse' | 'share' | number

/** Who is notified of what keeps the gateway from its work. */
export interface HealthAlertSettings {
  readonly webhookUrls: readonly string[]
  readonly alertEmails: readonly string[]
}

/** The most that a key may have; absent = no bound. */
export interface KeyBounds {
  readonly maxBudgetNanoUsd?: bigint
  readonly budgetDuration?: string
  readonly lifetimeMs?: number
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  readonly parallelRequests?: number
}

/** What keys get that are made by API without some fields, and the most that they may have. */
export interface NewKeySettings {
  readonly defaults: KeyBounds & {
    readonly models?: readonly string[]
    readonly metadata?: Readonly<Record<string, unknown>>
    readonly teamId?: string
    readonly userId?: string
  }
  readonly bounds: KeyBounds
}

/** What the model hub shows without a key. */
export interface PublicModels {
  /** Public names and aliases; empty = nothing is shown. */
  readonly names: readonly string[]
  readonly showPrices: boolean
  /** Where the file lists the names: `config.yaml:12`; null = they are said by API, or not at all. */
  readonly where: string | null
}

/** How old the texts of keys may become, and who is reminded. */
export interface KeyRotationSettings {
  /** null = no limit but those of keys. */
  readonly maxAgeMs: number | null
  /** How long a text works that should have been replaced. */
  readonly graceMs: number
  /** How long before a moment reminders are sent; empty = never. */
  readonly reminderStagesMs: readonly number[]
  readonly webhookUrls: readonly string[]
  readonly alertEmails: readonly string[]
}

/** By what deployments are chosen that are otherwise as good as each other, in LiteLLM's words. */
export type RoutingStrategy =
  | { readonly by: 'least-busy' | 'usage-based-routing' | 'cost-based-routing' }
  | {
      readonly by: 'latency-based-routing'
      /** Deployments count as the fastest that take longer by at most this part of its time. */
      readonly bufferShare: number
      /** After so long without an answer the time of a deployment is forgotten, and it is tried again. */
      readonly forgetMs: number
    }

/** The kinds of errors that may have counts of their own, by LiteLLM's names. */
export const policyErrors = [
  'BadRequestError',
  'AuthenticationError',
  'NotFoundError',
  'TimeoutError',
  'RateLimitError',
  'ContentPolicyViolationError',
  'InternalServerError',
] as const
/** One of `policyErrors`. */
export type PolicyError = (typeof policyErrors)[number]
/** Kinds that are missing have no count of their own. */
export type CountsByError = Readonly<Partial<Record<PolicyError, number>>>

/** Retries, cooldowns and fallbacks. */
export interface RouterSettings {
  /** Chooses among deployments of one `order`; absent = by their weights. */
  readonly strategy?: RoutingStrategy
  /** A session stays at its deployment so long after a turn, in milliseconds; absent = each turn is chosen for anew. */
  readonly affinityMs?: number
  /** The tags of a call choose among the deployments of a model; absent = they do not. */
  readonly tagFilter?: {
    /** Whether a deployment needs one of the call's tags, or all of them. */
    readonly matches: 'any' | 'all'
  }
  /** Further attempts after the first, on other deployments where there are any. */
  readonly retries: number
  /** In place of `retries`, and of those that a client asks for, after an error of these kinds. */
  readonly retryPolicy?: CountsByError
  /** By model name, in place of `retryPolicy`. */
  readonly retryPolicies?: Readonly<Record<string, CountsByError>>
  /** Requests to upstreams for one call: first attempt, retries, fallbacks and corrections together. */
  readonly attemptsMax: number
  /** Failures in a row that cool a deployment down. */
  readonly allowedFails: number
  /** In place of `allowedFails` where the last failure is of these kinds. */
  readonly allowedFailsPolicy?: CountsByError
  readonly cooldownMs: number
  /** When all deployments of a model failed. */
  readonly fallbacks: FallbackLists
  /** When a conversation is too long for a model. */
  readonly contextWindowFallbacks: FallbackLists
  /** When the provider's content policy refuses a call. */
  readonly contentPolicyFallbacks: FallbackLists
}

/** Model name -> names to try, in order; `*` = every model without its own list. */
export type FallbackLists = Readonly<Record<string, readonly string[]>>

/** The list of a model, or of the model that it is an alias of; empty = none. */
export function fallbacksOf(
  lists: FallbackLists,
  model: string,
  { aliases }: Pick<Settings, 'aliases'>,
): readonly string[] {
  if (Object.hasOwn(lists, model)) return lists[model]!
  const target = Object.hasOwn(aliases, model) ? aliases[model]! : '*'
  return (Object.hasOwn(lists, target) ? lists[target] : lists['*']) ?? noNames
}

const noNames: readonly string[] = []

/** Which tenants have metrics of their own. */
export interface TenantMetricsSettings {
  readonly kinds: readonly ('key' | 'team' | 'user' | 'organization')[]
  /** Of each kind; further ones share one series. */
  readonly max: number
}
