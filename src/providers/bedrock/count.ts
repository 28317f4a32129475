/** `CountTokens` (docs.aws.amazon.com/bedrock, "CountTokens"): it knows models, not the profiles that lead to them. */
import type { ChatRequest } from '../../core/chat.ts'
import type { Target, TokenCount, TranslatedCall } from '../../core/provider.ts'
import { broken, countOf, objectOf } from '../json.ts'
import { bedrockHead, modelId } from './address.ts'
import { converseBody } from './request.ts'

/** `us.anthropic...`: an inference profile across regions. */
const profilePrefix = /^(?:us|us-gov|eu|apac|jp|au|ca|global)\.(?=[a-z0-9]+\.)/

/** What Converse would be sent, less what says nothing about the input. Throws what `converseBody` throws. */
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
  if (inputTokens === undefined) throw broken('no inputTokens')
  return { inputTokens }
}
