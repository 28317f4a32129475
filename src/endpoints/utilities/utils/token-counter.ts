/** `/utils/token_counter`: by the provider's own counter, the model's tokenizer, or an estimate. */
import { visibleDeployments } from '../../../access/models/model-access.ts'
import type { Answer } from '../../../core/answer.ts'
import { toResponse } from '../../../core/answer.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Deployment } from '../../../core/deployment.ts'
import type { EndpointContext, Services } from '../../../core/endpoint.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { unprocessable } from '../../../core/errors.ts'
import { readBody, readJsonBody } from '../../../core/request.ts'
import { countableInput, estimateInput } from '../../../core/hub/input-tokens.ts'
import { promptTexts, tokenCounter } from '../../../formats/token-counter.ts'
import { TextCounter } from '../../../lib/tokens/count-tokens.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { encodingOf } from '../../../lib/tokens/tokenizer.ts'
import { internalRequest } from '../../../core/internal-request.ts'
import { anyObject, boolean, described, integer, named, nullable, shape, text } from '../../openapi/schema.ts'
import type { ValueOf } from '../../openapi/schema.ts'
import { answerOf } from '../../common/json-endpoint.ts'

/** How many tokens a text or a chat has, and who counted. */
export const tokenCountSchema = named('TokenCount', () =>
  shape({
    total_tokens: integer,
    request_model: text,
    model_used: described("The model at the upstream, where the name is one of this gateway's.", text),
    tokenizer_type: described('`openai_tokenizer`, `estimate`, or `NAME_api` of the provider that counted.', text),
    original_response: described(
      "The answer of the provider's counter; null when it was not asked.",
      nullable(anyObject),
    ),
    error: described("The provider's counter failed; the count was made here.", boolean),
    error_message: nullable(text),
    status_code: nullable(integer),
  }),
)

type TokenCount = ValueOf<typeof tokenCountSchema>

const route = '/utils/token_counter'

/**
 * `callEndpoint` = ask the provider's counter, where there is one. Either way it is a call, with limits and a row in
 * the ledger; counts that are made here cost nothing. Rejects with `unprocessable` and all problems of the body.
 */
export async function countTokens(counting: EndpointContext, callEndpoint: boolean): Promise<Answer> {
  const { request, services, caller } = counting
  if (!callEndpoint) return countLocally(counting, request)
  const body = readJsonBody(await readBody(request.body, services.current.settings.bodyBytesMax))
  const model = modelOf(body)
  const deployments = visibleDeployments(caller, model, services.current.models.of(caller))
  const again = replayed(request, body)
  if (!deployments.some(one => one.target.provider.countTokens)) return countLocally(counting, again)
  return countThere(counting, { body, model, deployments, again })
}

/** The request with a body that was read already. */
function replayed(request: HttpRequest, { bytes }: JsonBody): HttpRequest {
  const { id, path, params, query, headers } = request
  return internalRequest({ id, path, params, query, headers, bytes, client: request })
}

function modelOf(body: JsonBody): string {
  const { problems, model } = tokenCounter.inspect(body)
  if (problems.length > 0) throw unprocessable(problems)
  return model
}

function countLocally({ services, caller }: EndpointContext, request: HttpRequest): Promise<Answer> {
  return services.callObjects(request, caller, {
    operation: 'count-tokens',
    route,
    body: 'json',
    bodyBytesMax: services.current.settings.bodyBytesMax,
    async work(call) {
      const body = call.body!
      const model = modelOf(body)
      call.model = model
      call.usedNothing()
      const deployments = visibleDeployments(caller, model, services.current.models.of(caller))
      return answerOf(tokenCountSchema, await countHere(services, caller, { body, model, deployments }))
    },
  })
}

interface CountableCall {
  readonly body: JsonBody
  readonly model: string
  readonly deployments: readonly Deployment[]
}

async function countHere(
  services: Services,
  caller: Caller,
  { body, model, deployments: [deployment] }: CountableCall,
): Promise<TokenCount> {
  const used = deployment?.target.model ?? model
  const base = deployment?.info.base_model
  const encoding = encodingOf(typeof base === 'string' ? base : used)
  const prompt = promptTexts(body)
  const answer = {
    request_model: model,
    model_used: used,
    original_response: null,
    error: false,
    error_message: null,
    status_code: null,
  }
  if (encoding) {
    const { texts, otherTokens } = prompt
      ? { texts: prompt, otherTokens: 0 }
      : countableInput(tokenCounter.decode(body), encoding)
    const counts = await services.tokenizer.count(encoding, texts, caller.key.id)
    if (counts)
      return {
        total_tokens: counts.reduce((sum, count) => sum + count, otherTokens),
        ...answer,
        tokenizer_type: 'openai_tokenizer',
      }
  }
  return {
    total_tokens: prompt ? estimateTexts(prompt) : estimateInput(tokenCounter.decode(body)),
    ...answer,
    tokenizer_type: 'estimate',
  }
}

function estimateTexts(texts: readonly string[]): number {
  const counter = new TextCounter()
  for (const text of texts) counter.add(text)
  return counter.tokens
}

async function countThere(
  { services, caller }: EndpointContext,
  { again, ...counted }: CountableCall & { readonly again: HttpRequest },
): Promise<Answer> {
  const { model, deployments } = counted
  const answered = await services.callModel(again, caller, { format: tokenCounter, route, exactCount: true })
  const { status, headers } = answered
  const deploymentId = headers[`${services.current.settings.headerPrefix}-model-id`]
  // Without a deployment the error is a refusal of the gateway itself, which is returned unchanged.
  if (deploymentId === undefined) return answered
  const response = toResponse(answered)
  if (status !== 200) {
    const { error } = (await response.json()) as { error: { message: string } }
    const local = await countHere(services, caller, counted)
    const answer = { ...local, error: true, error_message: error.message, status_code: status }
    return answerOf(tokenCountSchema, answer, 200, headers)
  }
  const { input_tokens: total, upstream } = (await response.json()) as { input_tokens: number; upstream: object | null }
  const { provider, model: used } = (
    deployments.find(one => one.id === deploymentId) ??
    services.current.models.of(caller).resolve(deploymentId)[0] ??
    deployments[0]!
  ).target
  const answer: TokenCount = {
    total_tokens: total,
    request_model: model,
    model_used: used,
    tokenizer_type: `${provider.name}_api`,
    original_response: upstream,
    error: false,
    error_message: null,
    status_code: null,
  }
  return answerOf(tokenCountSchema, answer, 200, headers)
}
