/** `count_tokens` (platform.claude.com/docs/en/api/messages-count-tokens): a Messages body without `max_tokens`. */
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import type { UnaryFormat } from '../../core/format.ts'
import { decodeMessagesBody } from './decode.ts'
import { anthropicErrorBody } from './error.ts'
import { countTable } from './fields.ts'
import { messagesEdits, messagesHeaders, wholeAnswerBody } from './forward.ts'
import { inspectCount } from './inspect.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { readOverrides } from '../common/overrides.ts'

/** A forwarded answer passes byte for byte; without a plausible count it is `upstream-broken`. */
export const anthropicCountTokens: UnaryFormat<'count-tokens'> = {
  dialect: 'anthropic-count-tokens',
  operation: 'count-tokens',
  fieldNames: countTable.names,
  inspect: inspectCount,
  overrides: body => readOverrides(body, countTable.gatewayFields),
  decode: decodeMessagesBody,
  encode: ({ inputTokens }) => ({ input_tokens: inputTokens }),
  errorBody: anthropicErrorBody,
  forward: {
    edits: messagesEdits,
    answer(bytes) {
      if (countOf(wholeAnswerBody(bytes, 'input_tokens').get('input_tokens')) === undefined)
        throw brokenProtocol('no count')
      // Counting is free: nothing was used.
      return { body: bytes, usage: { inputTokens: 0, outputTokens: 0 } }
    },
    relay() {
      throw new GatewayError('internal', 'token counts are never streamed')
    },
    headers: messagesHeaders,
  },
}
