/** What a call would cost, or has cost by its usage: nothing is sent, counted or charged. */
import { z } from 'zod'
import { costNanoUsd } from '../../pricing/cost.ts'
import { visibleDeployments } from '../../access/models/model-access.ts'
import { costUnder, termsFor } from '../../pricing/price-terms.ts'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { estimateInput } from '../../core/hub/input-tokens.ts'
import { readOpenaiUsage } from '../../core/usage/openai-usage.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { tokenCounter } from '../../formats/token-counter.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { described, integer, named, shape, text } from '../openapi/schema.ts'
import { dollars, maybeUsd } from './common/access.ts'
import { lazy } from '../../lib/lazy.ts'
import { withBody } from '../common/json-endpoint.ts'

const costEstimateSchema = named('CostEstimate', () =>
  shape({
    model: text,
    input_tokens: integer,
    output_tokens: integer,
    cost_per_request: described('What the caller is charged; null = not known.', maybeUsd),
    list_cost_per_request: described('What the vendor charges for the request, in dollars.', maybeUsd),
    input_cost_per_request: described('Which part of the list cost is that of the input.', maybeUsd),
    output_cost_per_request: described('Which part of the list cost is that of the output.', maybeUsd),
    daily_cost: maybeUsd,
    monthly_cost: maybeUsd,
    price_list: described('Which version of the price list was used.', text),
  }),
)

const calculatedSpendSchema = named('CalculatedSpend', () =>
  shape({ cost: described('What it cost; null = that is not known.', maybeUsd) }),
)

const word = lazy(() => z.string().min(1).max(255))
const count = lazy(() => z.number().int().min(0).max(1_000_000_000))
const anyObject = lazy(() => z.record(z.string(), z.unknown()))

const estimateBody = lazy(() =>
  z.strictObject({
    model: word(),
    input_tokens: count().optional().describe('How many tokens a call has.'),
    output_tokens: count().optional().describe('How many tokens a call has.'),
    usage: anyObject()
      .optional()
      .describe('In place of the two it has the `usage` of a chat completion, with its details.'),
    request: anyObject().optional().describe('In place of all: the body of a chat completion; its input is estimated.'),
    num_requests_per_day: count().optional(),
    num_requests_per_month: count().optional(),
  }),
)

const calculateBody = lazy(() =>
  z.strictObject({
    model: word().optional(),
    messages: z.array(anyObject()).max(10_000).optional(),
    completion_response: anyObject().optional(),
  }),
)

/** Nano-dollars; null = no price is known for a unit that is used. */
interface Estimate {
  readonly listNanoUsd: bigint | null
  readonly nanoUsd: bigint | null
}

/** By the model's first deployment, as a call that is served without a fallback. */
function estimateOf(services: Services, caller: Caller, { model, usage }: { model: string; usage: Usage }): Estimate {
  const deployment = deploymentOf(services, caller, model)
  const nowMs = services.clock.epochMs()
  const list = costNanoUsd(usage, deployment.prices, { atMs: nowMs, endedAtMs: nowMs })
  const { priceTerms } = services.current.settings
  if (list === null || priceTerms === null) return { listNanoUsd: list, nanoUsd: list }
  const terms = termsFor(priceTerms, caller, deployment.target.provider.name)
  return { listNanoUsd: list, nanoUsd: costUnder(terms, list) }
}

function deploymentOf(services: Services, caller: Caller, model: string): Deployment {
  const [deployment] = visibleDeployments(caller, model, services.current.models.of(caller))
  if (!deployment)
    throw new GatewayError('model-not-found', `the model '${model.slice(0, 100)}' is not offered; see GET /v1/models`, {
      param: 'model',
    })
  return deployment
}

/** Throws 422 for a usage without plausible counts. */
function usageIn(value: unknown, field: string): Usage {
  const usage = readOpenaiUsage(value)
  if (usage) return usage
  const msg = 'must have `prompt_tokens` and `completion_tokens`, whole numbers from 0 on'
  throw unprocessable([{ loc: ['body', field], msg, type: 'invalid' }])
}

/** The input of a chat as it is estimated, and its output as far as the body bounds it: at most `max_tokens`. */
function usageOfRequest(request: Record<string, unknown>, model: string): Usage {
  const body = JsonBody.read(Buffer.from(JSON.stringify({ ...request, model })))
  const { problems } = tokenCounter.inspect(body)
  if (problems.length > 0) throw unprocessable(problems)
  const most = request.max_completion_tokens ?? request.max_tokens
  const outputTokens = typeof most === 'number' && Number.isSafeInteger(most) && most > 0 ? most : 0
  return { inputTokens: estimateInput(tokenCounter.decode(body)), outputTokens }
}

const usdOrNull = (nanoUsd: bigint | null, times = 1): number | null =>
  nanoUsd === null ? null : dollars(nanoUsd * BigInt(times))

const costEstimate: Endpoint = withBody(estimateBody, {
  answer: costEstimateSchema,
  paths: ['/cost/estimate'],
  auth: 'key',
  operationId: 'estimateCost',
  summary: 'What a call would cost the caller: by tokens, by a usage, or by the body of a chat',
  tag: 'Spend',
  failures: [404],
  async handle(body, { services, caller }) {
    const usage = body.request
      ? usageOfRequest(body.request, body.model)
      : body.usage
        ? usageIn(body.usage, 'usage')
        : { inputTokens: body.input_tokens ?? 0, outputTokens: body.output_tokens ?? 0 }
    const estimated = { model: body.model, usage }
    const { nanoUsd, listNanoUsd } = estimateOf(services, caller, estimated)
    const part = (tokens: Pick<Usage, 'inputTokens' | 'outputTokens'>) =>
      usdOrNull(estimateOf(services, caller, { model: body.model, usage: tokens }).listNanoUsd)
    return {
      model: body.model,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cost_per_request: usdOrNull(nanoUsd),
      list_cost_per_request: usdOrNull(listNanoUsd),
      input_cost_per_request: part({ inputTokens: usage.inputTokens, outputTokens: 0 }),
      output_cost_per_request: part({ inputTokens: 0, outputTokens: usage.outputTokens }),
      daily_cost: body.num_requests_per_day === undefined ? null : usdOrNull(nanoUsd, body.num_requests_per_day),
      monthly_cost: body.num_requests_per_month === undefined ? null : usdOrNull(nanoUsd, body.num_requests_per_month),
      price_list: services.current.settings.priceListVersion,
    }
  },
})

const spendCalculate: Endpoint = withBody(calculateBody, {
  answer: calculatedSpendSchema,
  paths: ['/spend/calculate'],
  auth: 'key',
  operationId: 'calculateSpend',
  summary: 'What a completion cost, by its `usage`, or what messages would cost as input',
  tag: 'Spend',
  failures: [404],
  async handle(body, { services, caller }) {
    const { model: named, messages, completion_response: answer } = body
    const model = named ?? (typeof answer?.model === 'string' ? answer.model : undefined)
    if (model === undefined || (!messages && !answer)) {
      const msg = 'give `model` with `messages`, or a `completion_response` with its `model` and `usage`'
      throw unprocessable([{ loc: ['body'], msg, type: 'missing' }])
    }
    const usage = answer ? usageIn(answer.usage, 'completion_response') : usageOfRequest({ messages }, model)
    return { cost: usdOrNull(estimateOf(services, caller, { model, usage }).nanoUsd) }
  },
})

/** `/cost/estimate` and `/spend/calculate`. */
export const estimateEndpoints: readonly Endpoint[] = [costEstimate, spendCalculate]
