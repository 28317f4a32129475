/** A whole chat completion (OpenAI API reference, "The chat completion object"). */
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import { freeTextOf } from '../../../core/hub/tool-arguments.ts'
import { callShapeOf } from '../text-tool.ts'
import { gather } from './answer.ts'
import type { AnswerCall, GatheredChoice } from './answer.ts'
import { usesLegacyFunctions } from './decode.ts'
import { answerId } from '../../common/answer-id.ts'
import { createdOr, finishReason, signedFields, usageObject } from '../answer-fields.ts'

/** `model` is the public name. Throws the answer's own error; `upstream-broken` when a choice never ended. */
export function encodeChat(events: readonly ChatEvent[], model: string, request: ChatRequest): object {
  const answer = gather(events)
  const legacy = usesLegacyFunctions(request)
  const body: Record<string, unknown> = {
    id: answerId('chatcmpl-', answer.id),
    object: 'chat.completion',
    created: createdOr(answer.createdS),
    model,
    system_fingerprint: null,
    choices: answer.choices.map(choice => ({
      index: choice.index,
      message: message(choice, request, legacy),
      logprobs: logprobs(choice),
      finish_reason: finishReason(choice.finish, legacy),
    })),
  }
  if (answer.usage) body.usage = usageObject(answer.usage)
  return body
}

function message(choice: GatheredChoice, request: ChatRequest, legacy: boolean): Record<string, unknown> {
  const calls = choice.calls && [...choice.calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call)
  const hasOther = calls !== undefined || choice.refusal !== '' || choice.audio !== undefined
  const result: Record<string, unknown> = {
    role: 'assistant',
    content: choice.text === '' && hasOther ? null : choice.text,
    refusal: choice.refusal === '' ? null : choice.refusal,
  }
  if (choice.annotations) result.annotations = choice.annotations
  if (choice.citations) result.citations = choice.citations
  if (choice.reasoning !== '') {
    // Two names for one text: half of the clients read the one, half the other.
    result.reasoning_content = choice.reasoning
    result.reasoning = choice.reasoning
  }
  if (choice.signed) result.thinking_blocks = choice.blocks
  if (calls && legacy) result.function_call = { name: calls[0]!.name, arguments: calls[0]!.arguments }
  else if (calls) result.tool_calls = calls.map(call => toolCall(call, request))
  if (choice.images) result.images = choice.images
  if (choice.audio) {
    const { id, expires_at, transcript, pieces } = choice.audio
    result.audio = { id, expires_at, data: Buffer.concat(pieces).toString('base64'), transcript }
  }
  return result
}

function toolCall({ name, arguments: text, ...signed }: AnswerCall, request: ChatRequest): object {
  const { id, ...member } = signedFields(signed)
  const shape = callShapeOf(request, name)
  if (shape === 'custom') return { id, type: 'custom', custom: { name, input: freeTextOf(text) }, ...member }
  return { id, type: 'function', function: { name, arguments: shape ? freeTextOf(text) : text }, ...member }
}

function logprobs(choice: GatheredChoice): object | null {
  if (!choice.contentLogprobs && !choice.refusalLogprobs) return null
  return { content: choice.contentLogprobs ?? null, refusal: choice.refusalLogprobs ?? null }
}
