/** Every provider by name. One with a dialect of its own has a line here, one with OpenAI's a row in `catalog.ts`. */
import type { Provider } from '../core/provider.ts'
import { anthropic } from './anthropic/index.ts'
import { azure, azureAi } from './azure/index.ts'
import { bedrock } from './bedrock/index.ts'
import { catalog } from './catalog.ts'
import { cohere } from './cohere/index.ts'
import { gemini } from './gemini/index.ts'
import { local } from './local/index.ts'
import { mistral } from './mistral/index.ts'
import { ollama } from './ollama/index.ts'
import { openaiCompatible } from './openai-compatible/index.ts'
import { vertex } from './vertex/index.ts'

export { localModels } from './local/index.ts'

const native = {
  anthropic,
  local,
  gemini,
  vertex_ai: vertex,
  cohere,
  mistral,
  ollama,
  azure,
  azure_ai: azureAi,
  bedrock,
} satisfies Record<string, Provider>

/** Created once when this file is loaded. The key is `Provider.name`, the part of a `model` before the slash. */
export const providers: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ...Object.entries(native),
  ...Object.entries(catalog).map(([name, row]): [string, Provider] => [name, openaiCompatible(name, row)]),
])

/** Other names in LiteLLM's configurations for the same API. */
const otherNames: Readonly<Record<string, string>> = { cohere_chat: 'cohere', ollama_chat: 'ollama' }

/** Splits `provider/model`; a name without a known provider stays whole. */
export function splitModel(model: string): { provider?: string; model: string } {
  const slash = model.indexOf('/')
  const named = slash < 0 ? '' : model.slice(0, slash)
  const provider = Object.hasOwn(otherNames, named) ? otherNames[named]! : named
  return providers.has(provider) ? { provider, model: model.slice(slash + 1) } : { model }
}
