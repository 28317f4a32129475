/** Responses as OpenAI's clients write and read them (API reference, "Responses"). */
import { withNumber } from '../../common/maximum.ts'
import type { TokenCount } from '../../../core/provider.ts'
import type { ChatFormat, UnaryFormat } from '../../../core/format.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readOverrides } from '../../common/overrides.ts'
import { openaiErrorBody } from '../error.ts'
import { decodeResponses } from './decode.ts'
import { encodeResponse } from './encode.ts'
import { responsesTable } from './fields.ts'
import { responsesForward } from './forward.ts'
import { inspectResponses } from './inspect.ts'
import { responseError, sseEvent } from './response-object.ts'
import { strictResponseSchema } from './structured-output.ts'
import { ResponsesWriter } from './writer.ts'

/** The error event of a stream that has not begun; a writer that has begun says more. */
function errorEvent(error: GatewayError): string {
  const { code, message } = responseError(error)
  return sseEvent('error', JSON.stringify({ type: 'error', code, message, param: error.param, sequence_number: 0 }))
}

/** `/v1/responses`. */
export const openaiResponses: ChatFormat = {
  dialect: 'openai-responses',
  operation: 'chat',
  fieldNames: responsesTable.names,
  inspect: inspectResponses,
  overrides: readOverrides,
  strictSchema: strictResponseSchema,
  decode: decodeResponses,
  encode: encodeResponse,
  withMaximum: (body, tokens) => withNumber(body, 'max_output_tokens', tokens),
  writer: (model, request) => new ResponsesWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent,
  forward: responsesForward,
}

/** `/v1/responses/input_tokens`: the provider's own counter for a Responses body. */
export const openaiInputTokens: UnaryFormat<'count-tokens'> = {
  dialect: 'openai-input-tokens',
  operation: 'count-tokens',
  fieldNames: responsesTable.names,
  inspect: body => ({ ...inspectResponses(body), stream: false }),
  overrides: readOverrides,
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
