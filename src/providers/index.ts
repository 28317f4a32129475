/** Every provider by name. A native one is a file and a line here; one that speaks OpenAI is a row in `catalog.ts`. */
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

/** All of them, made once when this file is loaded. The key is `Provider.name`: what stands before the slash of a `model`. */
export const providers: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ...Object.entries(native),
  ...Object.entries(catalog).map(([name, row]): [string, Provider] => [name, openaiCompatible(name, row)]),
])

/** Other names that users of the peer have in their files for the same API. */
const otherNames: Readonly<Record<string, string>> = { cohere_chat: 'cohere', ollama_chat: 'ollama' }

/** `vendor/model` -> both; a name without a known vendor keeps its slashes. */
export function splitModel(model: string): { provider?: string; model: string } {
  const slash = model.indexOf('/')
  const named = slash < 0 ? '' : model.slice(0, slash)
  const provider = Object.hasOwn(otherNames, named) ? otherNames[named]! : named
  return providers.has(provider) ? { provider, model: model.slice(slash + 1) } : { model }
}
