/** Which of OpenAI's APIs its models take calls by (developers.openai.com/api/docs/models/all), and how it refuses. */
import { neverReasons } from '../../../rules/openai.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

/** Only `/responses` has them. */
const responsesOnly =
  /^(?:o[13]-pro|gpt-[5-9](?:\.\d+)?-pro|computer-use-preview)|(?:^|-)codex(?:-|$)|-deep-research(?:-|$)/
/** Reason by default, which chat completions do not allow beside function tools. */
const reasonsByDefault = /^gpt-(?:5\.[6-9]|[6-9])(?:[.-]|$)(?!.*chat)/
/** Do not reason unless asked. */
const reasonsWhenAsked = /^gpt-5\.[45](?:-|$)(?!.*chat)/
/** Cannot be kept from reasoning. */
const alwaysReasons = /^gpt-6-astra/

/** Throws ApiError for what chat completions refuse for this model. */
export function checkChatModel(model: string, body: JsonObject): void {
  if (responsesOnly.test(model))
    throw new ApiError('This model is only supported in v1/responses and not in v1/chat/completions.', {
      status: 404,
      param: 'model',
    })
  const effort = body.reasoning_effort ?? undefined
  checkEffort(model, effort, 'reasoning_effort')
  const hasTools = [body.tools, body.functions].some(list => Array.isArray(list) && list.length > 0)
  const thinks = effort === undefined ? reasonsByDefault.test(model) : effort !== 'none'
  if (!hasTools || !thinks || !(reasonsByDefault.test(model) || reasonsWhenAsked.test(model))) return
  const remedy = reasonsByDefault.test(model)
    ? "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    : 'Please use /v1/responses instead.'
  throw new ApiError(
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. ${remedy}`,
    { param: 'reasoning_effort' },
  )
}

function checkEffort(model: string, effort: unknown, param: string): void {
  if (!alwaysReasons.test(model) || (effort !== 'none' && effort !== 'minimal')) return
  const values = "'low', 'medium', 'high', 'xhigh', and 'max'"
  throw new ApiError(
    `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: ${values}.`,
    { param, code: 'unsupported_value' },
  )
}

/** The parameters of a Response (API reference, "Create a model response"). */
const parameters = new Set(
  `background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model
  moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
  prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text
  tool_choice tools top_logprobs top_p truncation user`.split(/\s+/),
)

/** Throws ApiError for what Responses refuse for this model, beside what is said in the input. */
export function checkResponsesModel(model: string, body: JsonObject): void {
  const unknown = Object.keys(body).find(name => !parameters.has(name))
  if (unknown !== undefined)
    throw new ApiError(`Unknown parameter: '${unknown}'.`, { param: unknown, code: 'unknown_parameter' })
  const { reasoning } = body
  checkEffort(
    model,
    typeof reasoning === 'object' && reasoning ? (reasoning as JsonObject).effort : undefined,
    'reasoning.effort',
  )
  if (wantsEncrypted(body) && neverReasons(model))
    throw new ApiError('Encrypted content is not supported with this model.', { param: 'include' })
}

/** The effort of a call that names none. */
export const defaultEffort = (model: string): string => (reasonsByDefault.test(model) ? 'medium' : 'none')

/** Reasoning is to be sent back by the client. */
export function wantsEncrypted({ include }: JsonObject): boolean {
  return Array.isArray(include) && include.includes('reasoning.encrypted_content')
}

const encryptedPrefix = 'gAAAAABsimulated_'

/** Reasoning as only this simulator can read it. */
export const encrypt = (text: string): string => encryptedPrefix + Buffer.from(text).toString('base64url')

/** Throws ApiError for what another account encrypted, and for reasoning that leads to nothing. */
export function checkReasoning(items: readonly JsonObject[]): void {
  items.forEach(({ type, id, encrypted_content: encrypted }, at) => {
    if (type !== 'reasoning' && type !== 'compaction') return
    if (typeof encrypted === 'string' && !encrypted.startsWith(encryptedPrefix))
      throw new ApiError(`The encrypted content for item ${String(id)} could not be verified.`, {
        code: 'invalid_encrypted_content',
      })
    if (type === 'reasoning' && at + 1 === items.length)
      throw new ApiError(`Item '${String(id)}' of type 'reasoning' was provided without its required following item.`, {
        param: 'input',
      })
  })
}
