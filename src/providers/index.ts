/** Every provider by name. One with a dialect of its own has a line here, one with OpenAI's a row in `catalog.ts`. */
import type { Provider } from '../core/provider.ts'
import { closestMatch } from '../lib/closest-match.ts'
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

export { answerAdapters, chatBodyOf } from './common/answer-adapters.ts'
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
const otherNames: Readonly<Record<string, string>> = {
  bigmodel: 'zhipu',
  cohere_chat: 'cohere',
  ollama_chat: 'ollama',
  openai_like: 'custom_openai',
  'text-completion-openai': 'text_completion_openai',
  vertex_ai_beta: 'vertex_ai',
}

/** What people write for a provider that has another name here; for suggestions, never taken for it. */
const meantProviders: Readonly<Record<string, string>> = {
  aws: 'bedrock',
  azure_openai: 'azure',
  claude: 'anthropic',
  fireworks: 'fireworks_ai',
  google: 'gemini',
  grok: 'xai',
  hf: 'huggingface',
  jina: 'jina_ai',
  kimi: 'moonshot',
  lmstudio: 'lm_studio',
  mistralai: 'mistral',
  nvidia: 'nvidia_nim',
  qwen: 'dashscope',
  together: 'together_ai',
  vertex: 'vertex_ai',
  vllm: 'hosted_vllm',
  voyageai: 'voyage',
  'x-ai': 'xai',
}

/** The provider that is probably meant by a word that is none: `hosted_vllm` for `vllm`. */
export function similarProvider(word: string): string | undefined {
  const name = word.toLowerCase().replaceAll(' ', '_')
  return Object.hasOwn(meantProviders, name) ? meantProviders[name] : closestMatch(word, providers.keys())
}

/** The provider whose vendor alone names its models so: `openai` for `gpt-4o`. undefined = not known, or not bare. */
export function vendorOf(model: string): string | undefined {
  if (model.includes('/')) return undefined
  for (const { name, ownNames } of providers.values()) if (ownNames?.test(model)) return name
  return undefined
}

/** Splits `provider/model`; a name without a known provider stays whole. */
export function splitModel(model: string): { provider?: string; model: string } {
  const slash = model.indexOf('/')
  const named = slash < 0 ? '' : model.slice(0, slash)
  const provider = Object.hasOwn(otherNames, named) ? otherNames[named]! : named
  return providers.has(provider) ? { provider, model: model.slice(slash + 1) } : { model }
}
