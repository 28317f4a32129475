/** Models in lists, and the facts of models that other answers show, too. */
import {
  boolean,
  constant,
  dateTime,
  described,
  each,
  either,
  integer,
  json,
  listOf,
  named,
  nullable,
  number,
  open,
  shape,
  text,
  unixSeconds,
} from '../openapi/schema.ts'
import { geminiModelListSchema, geminiModelSchema } from '../model-calls/answers/gemini.ts'
import { alwaysShownKeys, tokenKeys, unitKeys } from '../../pricing/price-keys.ts'
import type { Properties, Success } from '../openapi/schema.ts'

/** A price in dollars. */
export const dollars = nullable({ ...number, description: 'Dollars for one; null = not known.' })
const priceNames = Object.keys({ ...tokenKeys, ...unitKeys })
/** Prices that are always shown. */
export const alwaysPriced = each(alwaysShownKeys, dollars)

/** Prices that a model may have. */
export const otherPrices = each(
  priceNames.filter(name => !(name in alwaysPriced)),
  dollars,
)

/** An object with facts of a model whose names the catalogue and the configuration decide. */
export function withFacts<R extends Properties, O extends Properties>(required: R, optional: O) {
  const facts = {
    '^supports_': { type: ['boolean', 'null'] },
    '^supported_': nullable(listOf(text)),
    '_above_\\d+k_tokens': dollars,
    '_(?:batches|flex|priority|fast|ultrafast|scale|balanced|decisions)$': dollars,
  }
  return { ...shape(required, optional), patternProperties: facts }
}

const modelEntry = {
  id: text,
  object: constant('model'),
  created: unixSeconds,
  owned_by: text,
  type: constant('model'),
  display_name: text,
  created_at: dateTime,
  context_length: nullable(integer),
  max_output_tokens: nullable(integer),
}

/** Who says what a model costs. */
export const priceSource = nullable(described('Where the prices come from.', text))

const modelSchema = named('Model', () =>
  withFacts(modelEntry, {
    mode: text,
    max_input_tokens: nullable(integer),
    ...alwaysPriced,
    ...otherPrices,
    price_source: priceSource,
    blocked: described('Every deployment is switched off; only fallbacks answer. Absent = it is not.', constant(true)),
    metadata: shape({ fallbacks: listOf(text) }),
  }),
)

const modelListSchema = named('ModelList', () =>
  shape({
    object: constant('list'),
    data: listOf(modelSchema),
    has_more: boolean,
    first_id: nullable(text),
    last_id: nullable(text),
  }),
)

const codexCatalogueSchema = named('CodexCatalogue', () =>
  described(
    'For clients that send `client_version`.',
    shape({
      models: listOf(open(shape({ slug: text, display_name: text, context_window: integer, priority: integer }))),
    }),
  ),
)

/** A list of models is in the dialect of the client that asks. */
export const modelListSuccess: Success = json(either(modelListSchema, codexCatalogueSchema, geminiModelListSchema))
/** One model is in the dialect of the client that asks. */
export const modelSuccess: Success = json(either(modelSchema, geminiModelSchema))
