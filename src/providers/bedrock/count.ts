/** `CountTokens` (docs.aws.amazon.com/bedrock, "CountTokens"). It takes ids of models, not of inference profiles. */
import { brokenProtocol } from '../../core/errors.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { Target, TokenCount, TranslatedCall } from '../../core/provider.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { bedrockHead, modelId } from './address.ts'
import { converseBody } from './request.ts'
import { objectOf } from '../../lib/json/json-values.ts'

/** The prefix of an inference profile across regions: `us.anthropic...`. */
const profilePrefix = /^(?:us|us-gov|eu|apac|jp|au|ca|global)\.(?=[a-z0-9]+\.)/

/** The body for Converse, reduced to the fields that count as input. Throws as `converseBody` does. */
export function countCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body, dropped } = converseBody(request, target)
  const { messages, system, toolConfig, additionalModelRequestFields } = body
  return {
    head: bedrockHead({ ...target, model: modelId(target).replace(profilePrefix, '') }, 'count-tokens'),
    body: { input: { converse: { messages, system, toolConfig, additionalModelRequestFields } } },
    dropped,
  }
}

/** Throws `upstream-broken` when there is no count. */
export function countResult(body: unknown): TokenCount {
  const inputTokens = countOf(objectOf(body).inputTokens)
  if (inputTokens === undefined) throw brokenProtocol('no inputTokens')
  return { inputTokens }
}
