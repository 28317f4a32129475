/** Text completions, whole and streamed (OpenAI API reference). */
import {
  constant,
  either,
  integer,
  jsonOrEvents,
  listOf,
  mapOf,
  named,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { Success } from '../../openapi/schema.ts'
import { aboutAnswer, fingerprint, usage } from './completion-usage.ts'
import { errorSchema } from '../../openapi/errors.ts'

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

const completionSchema = named('Completion', () =>
  shape(
    { ...completion, choices: listOf(shape({ ...completionChoice, finish_reason: completionReason })) },
    { ...usage, ...fingerprint },
  ),
)

const completionChunkSchema = named('CompletionChunk', () =>
  shape(
    { ...completion, choices: listOf(shape({ ...completionChoice, finish_reason: nullable(completionReason) })) },
    { ...usage, ...fingerprint },
  ),
)

const completionStreamSchema = named('CompletionStream', () =>
  either(completionChunkSchema, errorSchema, constant('[DONE]')),
)

/** A text completion is answered whole or as events. */
export const completionsSuccess: Success = jsonOrEvents(completionSchema, completionStreamSchema)
