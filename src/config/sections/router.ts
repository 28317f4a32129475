/** Retries, cooldowns, fallbacks, and how deployments are chosen. */
import { z } from 'zod'
import { routerExamples, withExamples } from './key-examples.ts'
import { isModelName } from '../checks/value-checks.ts'
import { providerBudgetSettings } from './budgets.ts'

const text = z.string().min(1)
const seconds = z.number().positive().max(86_400)
const modelName = text.refine(isModelName, 'must not be blank or have line breaks and other control characters')

const fallbackList = z.array(z.record(z.string(), z.array(text)))
/** Keys of `router_settings`, and of `settings` as well. */
export const fallbackSettings = {
  fallbacks: fallbackList
    .optional()
    .describe(
      '`{model: [models to try in order]}` when its deployments fail; `*` = every model without its own list, ' +
        'of which an empty one is none.',
    ),
  context_window_fallbacks: fallbackList
    .optional()
    .describe('The same for conversations that are too long for the model.'),
  content_policy_fallbacks: fallbackList
    .optional()
    .describe("The same for calls that the provider's content policy refuses."),
  default_fallbacks: z
    .array(text)
    .optional()
    .describe('Models to try for every model without a list in `fallbacks`: the same as its `*`.'),
}

/** Keys of `router_settings`, and of `settings` as well. */
export const cooldownSettings = {
  allowed_fails: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('Failures in a row after which a deployment cools down; 3 when left out.'),
  cooldown_time: z
    .number()
    .min(0)
    .max(86_400)
    .optional()
    .describe(
      'Seconds of the first cooldown of a deployment that fails, at most 60; each probe that fails doubles it. ' +
        '0 = none.',
    ),
}

const retriesAfter = (what: string, example: number) => countUpTo(100, `Attempts after ${what}.`, example)

const failsOf = (what: string, example: number) => countUpTo(1_000_000, `Where the last failure is ${what}.`, example)

const retryPolicy = z.strictObject({
  BadRequestErrorRetries: retriesAfter('a request that the upstream refuses with 400', 1),
  AuthenticationErrorRetries: retriesAfter("a refusal of the gateway's own key", 0),
  NotFoundErrorRetries: retriesAfter('the upstream does not have the model', 1),
  TimeoutErrorRetries: retriesAfter('a timeout', 1),
  RateLimitErrorRetries: retriesAfter('429, when its wait is over where there is no other deployment', 3),
  ContentPolicyViolationErrorRetries: retriesAfter("a refusal by the provider's content policy", 1),
  InternalServerErrorRetries: retriesAfter('500', 2),
})

function countUpTo(most: number, description: string, example: number) {
  return z
    .number()
    .int()
    .min(0)
    .max(most)
    .optional()
    .describe(description)
    .meta({ examples: [example] })
}

/** The section `router_settings`. */
export const routerSettings = z.strictObject(
  withExamples(
    {
      routing_strategy: z
        .enum(['simple-shuffle', 'least-busy', 'usage-based-routing', 'latency-based-routing', 'cost-based-routing'])
        .optional()
        .describe(
          'Which of the deployments with the smallest `order` gets a call: `simple-shuffle` (when left out) by ' +
            '`weight`, `least-busy` the one with the fewest calls under way, `usage-based-routing` the one with the ' +
            'fewest tokens in the last minute, `latency-based-routing` the one that answers fastest, ' +
            '`cost-based-routing` the cheapest. Of equals, by `weight` (docs/routing.md).',
        ),
      routing_strategy_args: z
        .strictObject({
          lowest_latency_buffer: z
            .number()
            .min(0)
            .max(100)
            .optional()
            .describe('Deployments share the calls that are slower than the fastest by at most this part of its time.')
            .meta({ examples: [0.5] }),
          ttl: seconds
            .optional()
            .describe('Seconds without an answer after which a deployment is tried again; 60 when left out.')
            .meta({ examples: [60] }),
        })
        .optional()
        .describe('Of `latency-based-routing`.'),
      enable_tag_filtering: z
        .boolean()
        .optional()
        .describe('true: the tags of a call choose among the deployments of its model, by their `tags`.'),
      tag_filtering_match_any: z
        .boolean()
        .optional()
        .describe('false: a deployment needs all tags of the call; true, when left out: one of them.'),
      num_retries: z
        .number()
        .int()
        .min(0)
        .max(10)
        .optional()
        .describe('Attempts after the first at the deployments of a name; 2 when left out.'),
      max_attempts: z.number().int().min(1).max(100).optional().describe('Requests to upstreams of one call (6).'),
      ...cooldownSettings,
      retry_policy: retryPolicy
        .optional()
        .describe(
          'Attempts after the first by the kind of the last error, in place of `num_retries`, also of a client: at ' +
            'the other deployments of the name, then again.',
        ),
      model_group_retry_policy: z
        .record(modelName, retryPolicy)
        .optional()
        .describe('`{model_name: policy}`, in place of `retry_policy` for the deployments of this name.'),
      allowed_fails_policy: z
        .strictObject({
          AuthenticationErrorAllowedFails: failsOf("a refusal of the gateway's own key", 1),
          TimeoutErrorAllowedFails: failsOf('a timeout', 10),
          RateLimitErrorAllowedFails: failsOf('a 429', 100),
          InternalServerErrorAllowedFails: failsOf('a 500', 20),
        })
        .optional()
        .describe('As `allowed_fails`, by the kind of the last error.'),
      timeout: seconds
        .optional()
        .describe(
          'Seconds until the first byte of a whole answer, for models without their own `timeout`; 600 when left out.',
        ),
      stream_timeout: seconds
        .optional()
        .describe(
          'Seconds to the first event of a stream, for models without a timeout of their own; 300 when left out.',
        ),
      ...fallbackSettings,
      model_group_alias: z
        .record(modelName, z.union([text, z.strictObject({ model: text, hidden: z.boolean().optional() })]))
        .optional()
        .describe('Other names for models: `{alias: model_name}`, or `{alias: {model, hidden}}` as in LiteLLM.'),
      ...providerBudgetSettings,
    },
    routerExamples,
  ),
)
