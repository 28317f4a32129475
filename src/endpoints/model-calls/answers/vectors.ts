/** Embeddings, moderations (OpenAI API reference) and reranking (Jina's and Cohere's). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  json,
  listOf,
  mapOf,
  named,
  number,
  oneOf,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { Success } from '../../openapi/schema.ts'

const embeddingsSchema = named('Embeddings', () =>
  shape({
    id: text,
    object: constant('list'),
    data: listOf(
      shape({
        object: constant('embedding'),
        index: integer,
        embedding: either(
          listOf(number),
          described('It is the base64 of 32-bit floating-point numbers, least significant byte first.', text),
        ),
      }),
    ),
    model: text,
    usage: shape({ prompt_tokens: integer, total_tokens: integer }),
  }),
)

const moderationSchema = named('Moderation', () =>
  shape({
    id: text,
    model: text,
    results: listOf(
      shape(
        { flagged: boolean, categories: mapOf(boolean), category_scores: mapOf(number) },
        { category_applied_input_types: mapOf(listOf(oneOf('text', 'image'))) },
      ),
    ),
  }),
)

const rerankResultsSchema = named('RerankResults', () =>
  shape(
    {
      results: listOf(
        shape(
          { index: integer, relevance_score: number },
          { document: described('The document is as it was sent.', anyObject) },
        ),
      ),
    },
    {
      id: described("Absent where the upstream's answer has none.", text),
      object: constant('list'),
      model: described('Answers of version 2 do not have it.', text),
      usage: described(
        'Answers of version 2 do not have it.',
        shape({ total_tokens: integer }, { prompt_tokens: integer }),
      ),
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
)

/** Embeddings are answered whole. */
export const embeddingsSuccess: Success = json(embeddingsSchema)

/** Moderations are answered whole. */
export const moderationsSuccess: Success = json(moderationSchema)

/** Reranked documents are answered whole. */
export const rerankSuccess: Success = json(rerankResultsSchema)
