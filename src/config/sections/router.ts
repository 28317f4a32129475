/** Retries, cooldowns, fallbacks, and how deployments are chosen. */
import { z } from 'zod'
import { policyErrors } from '../../core/settings.ts'
import type { CountsByError, FallbackLists, RouterSettings } from '../../core/settings.ts'
import { secondKeys, settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Filled, Values } from '../../core/setting-keys.ts'
import { providerBudgetKeys } from './budgets.ts'
import { redisKeys } from './redis.ts'
import { countUpTo, modelName, seconds, text } from './value-types.ts'

const fallbackList = () => z.array(z.record(z.string(), z.array(text())))

/** The names of keys that hold lists of fallbacks by model name. */
export const fallbackFields = ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'] as const

/** Keys that stand in `settings` as well. */
const sharedKeys = settingKeys('routing', {
  num_retries: {
    type: () => countUpTo(10),
    default: 2,
    description: 'How many attempts are made after the first at the deployments of a name.',
    example: 2,
  },
  allowed_fails: {
    type: () => countUpTo(1_000_000),
    default: 3,
    description: 'How many failures in a row cool a deployment down.',
    example: 3,
  },
  cooldown_time: {
    type: () => z.number().min(0).max(86_400),
    default: 5,
    description:
      'How many seconds the first cooldown of a deployment lasts that fails, at most 60; each probe that fails ' +
      'doubles it. 0 means that there is none.',
    example: 5,
  },
  fallbacks: {
    type: fallbackList,
    description:
      'The models that are tried in order when all deployments of a model fail, as `{model: [models]}`; `*` stands ' +
      'for every model without its own list, of which an empty one is none.',
    example: [{ fast: ['small', 'large'] }],
  },
  context_window_fallbacks: {
    type: fallbackList,
    description:
      'The models that are tried in order when a conversation is too long for a model, as `{model: [models]}`.',
    example: [{ small: ['large'] }],
  },
  content_policy_fallbacks: {
    type: fallbackList,
    description:
      "The models that are tried in order when the provider's content policy refuses a call, as `{model: [models]}`.",
    example: [{ fast: ['lenient'] }],
  },
  default_fallbacks: {
    type: () => z.array(text()),
    description: 'The models that are tried for every model without a list in `fallbacks`, the same as its `*`.',
    example: ['small'],
  },
})

const retriesAfter = <const Example extends number>(what: string, example: Example) => ({
  type: () => countUpTo(100),
  description: `How many attempts are made after ${what}.`,
  example,
})

const failsOf = <const Example extends number>(what: string, example: Example) => ({
  type: () => countUpTo(1_000_000),
  description: `How many failures in a row cool a deployment down where the last one is ${what}.`,
  example,
})

const retryKeys = settingKeys('routing', {
  BadRequestErrorRetries: retriesAfter('a request that the upstream refuses with 400', 1),
  AuthenticationErrorRetries: retriesAfter("a refusal of the gateway's own key", 0),
  NotFoundErrorRetries: retriesAfter('an answer that the upstream does not have the model', 1),
  TimeoutErrorRetries: retriesAfter('a timeout', 1),
  RateLimitErrorRetries: retriesAfter('429, when its wait is over where there is no other deployment', 3),
  ContentPolicyViolationErrorRetries: retriesAfter("a refusal by the provider's content policy", 1),
  InternalServerErrorRetries: retriesAfter('an error of the upstream (500)', 2),
})

const strategyKeys = settingKeys('routing', {
  lowest_latency_buffer: {
    type: () => z.number().min(0).max(100),
    default: 0,
    description: 'Deployments share the calls that are slower than the fastest by at most this part of its time.',
    example: 0.5,
  },
  ttl: {
    type: seconds,
    default: 60,
    description: 'After how many seconds without an answer a deployment is tried again.',
    example: 60,
  },
})

const ownKeys = settingKeys('routing', {
  routing_strategy: {
    type: () =>
      z.enum(['simple-shuffle', 'least-busy', 'usage-based-routing', 'latency-based-routing', 'cost-based-routing']),
    default: 'simple-shuffle',
    description:
      'Which of the deployments with the smallest `order` gets a call: `simple-shuffle` chooses by `weight`, ' +
      '`least-busy` the one with the fewest calls under way, `usage-based-routing` the one with the fewest tokens in ' +
      'the last minute, `latency-based-routing` the one that answers fastest, `cost-based-routing` the cheapest. ' +
      'Equals are chosen by `weight` (docs/routing.md).',
    example: 'least-busy',
  },
  routing_strategy_args: {
    keys: strategyKeys,
    description: 'What `latency-based-routing` goes by, beside the times of answers.',
    example: { lowest_latency_buffer: 0.5 },
    usedWith: { path: 'router_settings.routing_strategy', value: 'latency-based-routing' },
  },
  session_affinity: {
    type: () => z.boolean(),
    default: true,
    description:
      'true: the turns of a session go to the deployment that served the last one, whose prompt cache is warm, as ' +
      'long as it is among those that the call may go to by `order`, `weight`, limits, cooldowns and tags ' +
      '(docs/agent-sessions.md).',
    example: false,
  },
  affinity_ttl: {
    type: () => z.number().min(1).max(86_400),
    default: 3600,
    description: 'How many seconds after its last turn a session stays at its deployment.',
    example: 3600,
    litellm: 'deployment_affinity_ttl_seconds',
    usedWith: { path: 'router_settings.session_affinity', value: true },
  },
  enable_tag_filtering: {
    type: () => z.boolean(),
    default: false,
    description: 'true: the tags of a call choose among the deployments of its model, by their `tags`.',
    example: true,
  },
  tag_filtering_match_any: {
    type: () => z.boolean(),
    default: true,
    description: 'true: a deployment needs one of the tags of the call. false: it needs all of them.',
    example: true,
    usedWith: { path: 'router_settings.enable_tag_filtering', value: true },
  },
  max_attempts: {
    type: () => z.number().int().min(1).max(100),
    // Room for two retries at the model of the call, and as many at a fallback.
    default: 6,
    description: 'How many requests are sent to upstreams for one call at most.',
    example: 6,
  },
  retry_policy: {
    keys: retryKeys,
    description:
      'How many attempts are made after the first by the kind of the last error, in place of `num_retries`, also of ' +
      'a client: at the other deployments of the name, then again.',
    example: { TimeoutErrorRetries: 1, RateLimitErrorRetries: 3 },
  },
  model_group_retry_policy: {
    entries: retryKeys,
    map: policy => z.record(modelName(), policy),
    description: 'Further retry policies by `model_name`, each of which wins over `retry_policy` for its deployments.',
    example: { fast: { InternalServerErrorRetries: 4 } },
  },
  allowed_fails_policy: {
    keys: settingKeys('routing', {
      AuthenticationErrorAllowedFails: failsOf("a refusal of the gateway's own key", 1),
      TimeoutErrorAllowedFails: failsOf('a timeout', 10),
      RateLimitErrorAllowedFails: failsOf('a 429', 100),
      InternalServerErrorAllowedFails: failsOf('a 500', 20),
    }),
    description: 'How many failures cool a deployment down by the kind of the last error, in place of `allowed_fails`.',
    example: { RateLimitErrorAllowedFails: 10 },
  },
  timeout: {
    type: seconds,
    default: 600,
    description:
      'How many seconds may pass until the first byte of a whole answer, for models without their own `timeout`.',
    example: 600,
  },
  stream_timeout: {
    type: seconds,
    default: 300,
    description:
      'How many seconds may pass until the first event of a stream, for models without a timeout of their own.',
    example: 60,
  },
  model_group_alias: {
    type: () =>
      z.record(modelName(), z.union([text(), z.strictObject({ model: text(), hidden: z.boolean().optional() })])),
    description: 'Other names for models: `{alias: model_name}`, or `{alias: {model, hidden}}` as LiteLLM has it.',
    example: { 'gpt-4': 'gpt-4.1-mini' },
  },
})

/** The section `router_settings`. */
export const routerKeys = { ...ownKeys, ...sharedKeys, ...providerBudgetKeys, ...redisKeys }

/** Keys of `settings` that LiteLLM's users know there. */
export const commonRouterKeys = {
  ...secondKeys('router_settings', sharedKeys),
  ...settingKeys('routing', {
    request_timeout: {
      type: seconds,
      sameAs: 'router_settings.timeout',
      description: 'The same as `timeout` of `router_settings`, which wins.',
      example: 600,
    },
  }),
}

/** The sections in which keys about routing stand. */
interface RouterSections {
  readonly settings?: Values<typeof commonRouterKeys>
  readonly router_settings?: Values<typeof routerKeys>
}

/** `router_settings` over `settings`, over the defaults. */
export function filledRouter({ settings: common = {}, router_settings: given = {} }: RouterSections) {
  const { num_retries, allowed_fails, cooldown_time, default_fallbacks, request_timeout: timeout } = common
  const shared = { num_retries, allowed_fails, cooldown_time, default_fallbacks, timeout }
  return withDefaults(routerKeys, { ...shared, ...given })
}

type Router = Filled<typeof routerKeys>

/** No cooldown is longer (pipeline/routing/cooldown.ts). */
export const cooldownSecondsMax = 60

/** The settings of the router. */
export function routerSettingsOf(config: RouterSections): RouterSettings {
  const router = filledRouter(config)
  return {
    ...strategyOf(router),
    ...(router.session_affinity && { affinityMs: router.affinity_ttl * 1000 }),
    ...(router.enable_tag_filtering && {
      tagFilter: { matches: router.tag_filtering_match_any ? 'any' : 'all' },
    }),
    retries: router.num_retries,
    attemptsMax: router.max_attempts,
    // 0 is LiteLLM's word for a cooldown at the first failure.
    allowedFails: Math.max(1, router.allowed_fails),
    cooldownMs: Math.min(router.cooldown_time, cooldownSecondsMax) * 1000,
    ...errorPoliciesOf(router),
    ...fallbackLists(config, router.default_fallbacks),
  }
}

/** Empty = deployments are chosen by their weights. */
function strategyOf({
  routing_strategy: by,
  routing_strategy_args: args = {},
}: Router): Pick<RouterSettings, 'strategy'> | undefined {
  if (by === 'simple-shuffle') return undefined
  if (by !== 'latency-based-routing') return { strategy: { by } }
  const { lowest_latency_buffer: bufferShare, ttl } = withDefaults(strategyKeys, args)
  return { strategy: { by, bufferShare, forgetMs: ttl * 1000 } }
}

/** Empty = every kind of error has the same counts. */
function errorPoliciesOf({
  retry_policy: policy,
  model_group_retry_policy: byModel,
  allowed_fails_policy: fails,
}: Router): Pick<RouterSettings, 'retryPolicy' | 'retryPolicies' | 'allowedFailsPolicy'> {
  return {
    ...(policy && { retryPolicy: countsOf(policy, 'Retries') }),
    ...(byModel && {
      retryPolicies: Object.fromEntries(Object.entries(byModel).map(([name, one]) => [name, countsOf(one, 'Retries')])),
    }),
    // 0 is LiteLLM's word for a cooldown at the first failure.
    ...(fails && { allowedFailsPolicy: countsOf(fails, 'AllowedFails', 1) }),
  }
}

function countsOf(policy: Readonly<Record<string, number | undefined>>, suffix: string, least = 0): CountsByError {
  return Object.fromEntries(
    policyErrors.flatMap(error => {
      const count = policy[`${error}${suffix}`]
      return count === undefined ? [] : [[error, Math.max(count, least)]]
    }),
  )
}

/** The most retries that are granted, by key of `router_settings`. */
export function retriesGranted(router: Values<typeof routerKeys>): [key: string, retries: number][] {
  const { num_retries: retries = 0, retry_policy: policy = {}, model_group_retry_policy: byModel = {} } = router
  const most = (...policies: (typeof policy)[]) => Math.max(0, ...policies.flatMap(one => Object.values(one)))
  return [
    ['num_retries', retries],
    ['retry_policy', most(policy)],
    ['model_group_retry_policy', most(...Object.values(byModel))],
  ]
}

/** A list of `router_settings` wins over one of `settings`, and one in `fallbacks` over `default_fallbacks`. */
function fallbackLists(
  { settings: common = {}, router_settings: router = {} }: RouterSections,
  always: readonly string[] | undefined,
): Pick<RouterSettings, 'fallbacks' | 'contextWindowFallbacks' | 'contentPolicyFallbacks'> {
  const merged = (field: (typeof fallbackFields)[number]): FallbackLists =>
    Object.fromEntries([...(common[field] ?? []), ...(router[field] ?? [])].flatMap(map => Object.entries(map)))
  return {
    fallbacks: { ...(always && { '*': always }), ...merged('fallbacks') },
    contextWindowFallbacks: merged('context_window_fallbacks'),
    contentPolicyFallbacks: merged('content_policy_fallbacks'),
  }
}
