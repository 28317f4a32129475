/** Answers of chat completions, text completions, embeddings and moderations (OpenAI API reference). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  open,
  otherThan,
  reference,
  shape,
  text,
  unixSeconds,
} from './schema.ts'
import type { Schema } from './schema.ts'

const finishReason = oneOf('stop', 'length', 'tool_calls', 'content_filter', 'function_call')
const functionCall = shape({ name: text, arguments: described('JSON, as the model wrote it.', text) })
const tokenLogprob = { token: text, logprob: number, bytes: nullable(listOf(integer)) }
const logprobs = shape(
  { content: nullable(listOf(reference('TokenLogprob'))) },
  { refusal: nullable(listOf(reference('TokenLogprob'))) },
)

/** What a message and a delta have alike; all of it may be absent. */
const said = {
  refusal: nullable(text),
  reasoning_content: described('What the model thought.', nullable(text)),
  reasoning: described('The same as `reasoning_content`.', nullable(text)),
  thinking_blocks: listOf(reference('ThinkingBlock')),
  annotations: listOf(reference('UrlCitation')),
  citations: described('Sources without an address, as their vendor names them.', listOf(anyObject)),
  images: listOf(shape({ type: constant('image_url'), image_url: shape({ url: text }) }, { index: integer })),
}

const message = shape(
  { role: constant('assistant'), content: nullable(text) },
  {
    ...said,
    tool_calls: listOf(reference('ToolCall')),
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

const aboutAnswer = { created: unixSeconds, model: described('The name that the client asked for.', text) }
const usage = { usage: nullable(reference('CompletionUsage')) }
const fingerprint = { system_fingerprint: nullable(text), service_tier: nullable(text) }

const chatSchemas: Readonly<Record<string, Schema>> = {
  ChatCompletion: shape(
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
  ChatCompletionChunk: shape(
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
  ChatCompletionStream: either(reference('ChatCompletionChunk'), reference('Error'), constant('[DONE]')),
  ToolCall: either(
    shape({ id: text, type: constant('function'), function: functionCall }),
    shape({ id: text, type: constant('custom'), custom: shape({ name: text, input: text }) }),
  ),
  ThinkingBlock: either(
    shape({ type: constant('thinking'), thinking: text, signature: text }),
    shape({ type: constant('redacted_thinking'), data: text }),
  ),
  UrlCitation: either(
    shape({
      type: constant('url_citation'),
      url_citation: shape({ url: text, title: text, start_index: integer, end_index: integer }),
    }),
    open(shape({ type: otherThan('url_citation') })),
  ),
  TokenLogprob: shape({ ...tokenLogprob, top_logprobs: listOf(shape(tokenLogprob)) }),
  CompletionUsage: shape(
    { prompt_tokens: integer, completion_tokens: integer, total_tokens: integer },
    {
      prompt_tokens_details: nullable(
        shape({}, { cached_tokens: integer, audio_tokens: integer, cache_write_tokens: integer }),
      ),
      completion_tokens_details: nullable(
        shape(
          {},
          {
            reasoning_tokens: integer,
            audio_tokens: integer,
            accepted_prediction_tokens: integer,
            rejected_prediction_tokens: integer,
          },
        ),
      ),
      cache_creation_input_tokens: integer,
      cache_read_input_tokens: integer,
    },
  ),
}

const completionChoice = {
  text,
  index: integer,
  logprobs: nullable(
    shape({
      tokens: listOf(text),
      token_logprobs: listOf(nullable(number)),
      top_logprobs: nullable(listOf(nullable(mapOf(number)))),
      text_offset: listOf(integer),
    }),
  ),
}
const completion = { id: text, object: constant('text_completion'), ...aboutAnswer }
const completionReason = oneOf('stop', 'length', 'content_filter')

const completionSchemas: Readonly<Record<string, Schema>> = {
  Completion: shape(
    { ...completion, choices: listOf(shape({ ...completionChoice, finish_reason: completionReason })) },
    { ...usage, ...fingerprint },
  ),
  CompletionChunk: shape(
    { ...completion, choices: listOf(shape({ ...completionChoice, finish_reason: nullable(completionReason) })) },
    { ...usage, ...fingerprint },
  ),
  CompletionStream: either(reference('CompletionChunk'), reference('Error'), constant('[DONE]')),
}

const vectorSchemas: Readonly<Record<string, Schema>> = {
  Embeddings: shape({
    id: text,
    object: constant('list'),
    data: listOf(
      shape({
        object: constant('embedding'),
        index: integer,
        embedding: either(
          listOf(number),
          described('Base64 of 32-bit floating-point numbers, least significant byte first.', text),
        ),
      }),
    ),
    model: text,
    usage: shape({ prompt_tokens: integer, total_tokens: integer }),
  }),
  Moderation: shape({
    id: text,
    model: text,
    results: listOf(
      shape(
        { flagged: boolean, categories: mapOf(boolean), category_scores: mapOf(number) },
        { category_applied_input_types: mapOf(listOf(oneOf('text', 'image'))) },
      ),
    ),
  }),
  RerankResults: shape(
    {
      results: listOf(
        shape({ index: integer, relevance_score: number }, { document: described('As it was sent.', anyObject) }),
      ),
    },
    {
      id: described("Absent where the upstream's answer has none.", text),
      object: constant('list'),
      model: described('Not in version 2.', text),
      usage: described('Not in version 2.', shape({ total_tokens: integer }, { prompt_tokens: integer })),
      meta: shape(
        {},
        {
          api_version: shape({ version: text }),
          billed_units: shape({}, { input_tokens: integer, output_tokens: integer, search_units: number }),
          tokens: shape({}, { input_tokens: integer, output_tokens: integer }),
        },
      ),
    },
  ),
}

/** By their names under `#/components/schemas/`. */
export const chatAnswerSchemas: Readonly<Record<string, Schema>> = {
  ...chatSchemas,
  ...completionSchemas,
  ...vectorSchemas,
}
