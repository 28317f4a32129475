/** Chat completions, whole and streamed (OpenAI API reference). */
import {
  anyObject,
  constant,
  described,
  either,
  integer,
  jsonOrEvents,
  listOf,
  named,
  nullable,
  number,
  oneOf,
  open,
  otherThan,
  shape,
  text,
  unixSeconds,
} from '../../openapi/schema.ts'
import type { Success } from '../../openapi/schema.ts'
import { aboutAnswer, fingerprint, usage } from './completion-usage.ts'
import { errorSchema } from '../../openapi/errors.ts'

const finishReason = oneOf('stop', 'length', 'tool_calls', 'content_filter', 'function_call')
const functionCall = shape({ name: text, arguments: described('It is JSON as the model has written it.', text) })
const tokenLogprob = { token: text, logprob: number, bytes: nullable(listOf(integer)) }

const tokenLogprobSchema = named('TokenLogprob', () =>
  shape({ ...tokenLogprob, top_logprobs: listOf(shape(tokenLogprob)) }),
)

const logprobs = shape(
  { content: nullable(listOf(tokenLogprobSchema)) },
  { refusal: nullable(listOf(tokenLogprobSchema)) },
)

const thinkingBlockSchema = named('ThinkingBlock', () =>
  either(
    shape({ type: constant('thinking'), thinking: text, signature: text }),
    shape({ type: constant('redacted_thinking'), data: text }),
  ),
)

const urlCitationSchema = named('UrlCitation', () =>
  either(
    shape({
      type: constant('url_citation'),
      url_citation: shape({ url: text, title: text, start_index: integer, end_index: integer }),
    }),
    open(shape({ type: otherThan('url_citation') })),
  ),
)

/** What a message and a delta have alike; all of it may be absent. */
const said = {
  refusal: nullable(text),
  reasoning_content: described('The text is what the model has thought.', nullable(text)),
  reasoning: described('It has the same text as `reasoning_content`.', nullable(text)),
  thinking_blocks: listOf(thinkingBlockSchema),
  annotations: listOf(urlCitationSchema),
  citations: described('Sources without an address, as their vendor names them.', listOf(anyObject)),
  images: listOf(shape({ type: constant('image_url'), image_url: shape({ url: text }) }, { index: integer })),
}

const toolCallSchema = named('ToolCall', () =>
  either(
    shape({ id: text, type: constant('function'), function: functionCall }),
    shape({ id: text, type: constant('custom'), custom: shape({ name: text, input: text }) }),
  ),
)

const message = shape(
  { role: constant('assistant'), content: nullable(text) },
  {
    ...said,
    tool_calls: listOf(toolCallSchema),
    function_call: described('For clients that sent `functions`.', nullable(functionCall)),
    audio: nullable(shape({ id: text, expires_at: unixSeconds, data: text, transcript: text })),
  },
)

const delta = shape(
  {},
  {
    role: constant('assistant'),
    content: nullable(text),
    ...said,
    tool_calls: listOf(
      shape(
        { index: integer },
        {
          id: text,
          type: oneOf('function', 'custom'),
          function: shape({}, { name: text, arguments: text }),
          custom: shape({}, { name: text, input: text }),
        },
      ),
    ),
    function_call: shape({}, { name: text, arguments: text }),
    audio: shape({}, { id: text, expires_at: unixSeconds, data: text, transcript: text }),
  },
)

const chatCompletionSchema = named('ChatCompletion', () =>
  shape(
    {
      id: text,
      object: constant('chat.completion'),
      ...aboutAnswer,
      choices: listOf(
        shape({ index: integer, message, finish_reason: finishReason }, { logprobs: nullable(logprobs) }),
      ),
    },
    { ...usage, ...fingerprint },
  ),
)

const chatCompletionChunkSchema = named('ChatCompletionChunk', () =>
  shape(
    {
      id: text,
      object: constant('chat.completion.chunk'),
      ...aboutAnswer,
      choices: listOf(
        shape({ index: integer, delta }, { finish_reason: nullable(finishReason), logprobs: nullable(logprobs) }),
      ),
    },
    { ...usage, ...fingerprint, obfuscation: described('Random text that hides the length of a delta.', text) },
  ),
)

const chatCompletionStreamSchema = named('ChatCompletionStream', () =>
  either(chatCompletionChunkSchema, errorSchema, constant('[DONE]')),
)

/** A chat completion is answered whole or as events. */
export const chatSuccess: Success = jsonOrEvents(chatCompletionSchema, chatCompletionStreamSchema)
