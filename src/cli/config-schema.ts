import { z } from 'zod'
import { configSchema } from '../config/file/schema.ts'
import type { Command } from './command.ts'
import { print } from './command.ts'

/**
 * The schema has our own names only; editors mark LiteLLM's names, which are read as well
 * (config/file/litellm-keys.ts).
 */
export const configSchemaCommand: Command = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration file, for editors',
  flags: {},
  run() {
    print(JSON.stringify(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }), null, 2))
    return 0
  },
}
