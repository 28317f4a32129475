/** Responses as OpenAI's clients write and read them (API reference, "Responses"). */
import type { TokenCount } from '../core/provider.ts'
import type { ChatFormat, UnaryFormat } from '../core/format.ts'
import { GatewayError } from '../core/errors.ts'
import { readWishes } from './openai-chat/wishes.ts'
import { openaiErrorBody } from './openai-error.ts'
import { decodeResponses } from './openai-responses/decode.ts'
import { encodeResponse } from './openai-responses/encode.ts'
import { responsesForward } from './openai-responses/forward.ts'
import { inspectResponses } from './openai-responses/inspect.ts'
import { responseError, sseEvent } from './openai-responses/response-object.ts'
import { strictResponseSchema } from './openai-responses/strict.ts'
import { ResponsesWriter } from './openai-responses/writer.ts'

/** The error event of a stream of which nothing is known; a writer that has begun tells more. */
function errorEvent(error: GatewayError): string {
  const { code, message } = responseError(error)
  return sseEvent('error', JSON.stringify({ type: 'error', code, message, param: error.param, sequence_number: 0 }))
}

/** `/v1/responses`. */
export const openaiResponses: ChatFormat = {
  dialect: 'openai-responses',
  operation: 'chat',
  inspect: inspectResponses,
  wishes: readWishes,
  strictSchema: strictResponseSchema,
  decode: decodeResponses,
  encode: encodeResponse,
  writer: (model, request) => new ResponsesWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent,
  forward: responsesForward,
}

/** `/v1/responses/input_tokens`: the provider's own counter, asked for a Responses body. */
export const openaiInputTokens: UnaryFormat<'count-tokens'> = {
  dialect: 'openai-input-tokens',
  operation: 'count-tokens',
  inspect: body => ({ ...inspectResponses(body), stream: false }),
  wishes: readWishes,
  decode: decodeResponses,
  encode: ({ inputTokens }: TokenCount) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
  errorBody: openaiErrorBody,
  forward: {
    edits: responsesForward.edits,
    answer: bytes => ({ body: bytes, usage: undefined }),
    relay() {
      throw new GatewayError('internal', 'token counts are never streamed')
    },
  },
}
