import { z } from 'zod'
import { configSchema } from '../config/sections/file.ts'
import type { Command } from './command.ts'
import { print } from './command.ts'

/** Prices in tiers, variants and places: more keys than a schema can name (config/prices/read-price-keys.ts). */
const furtherPrices =
  '^\\w+_cost\\w*_(?:above_\\d+k_tokens|batches|flex|priority|fast|ultrafast|scale|balanced|decisions)\\w*$|' +
  '^regional_processing_uplift_multiplier_\\w+$'

/** As the command prints it. */
export const editorSchema = () =>
  z.toJSONSchema(configSchema(), {
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      if (jsonSchema.properties?.input_cost_per_token)
        jsonSchema.patternProperties = { [furtherPrices]: { type: ['number', 'string'] } }
    },
  })

/**
 * The schema has our own names only; editors mark LiteLLM's names, which are read as well
 * (config/litellm/litellm-keys.ts).
 */
export const configSchemaCommand: Command = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration file, for editors',
  flags: {},
  run() {
    print(JSON.stringify(editorSchema(), null, 2))
    return 0
  },
}
