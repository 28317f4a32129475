/** What chat and text completions have alike. */
import { described, integer, named, nullable, shape, text, unixSeconds } from '../../openapi/schema.ts'

/** When it was made, and by what. */
export const aboutAnswer = {
  created: unixSeconds,
  model: described('The model is named as the client has asked for it.', text),
}

const completionUsageSchema = named('CompletionUsage', () =>
  shape(
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
)

/** What was used; absent unless it was asked for. */
export const usage = { usage: nullable(completionUsageSchema) }
/** How the upstream served it. */
export const fingerprint = { system_fingerprint: nullable(text), service_tier: nullable(text) }
