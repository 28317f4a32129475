/** Every provider by name. A native one is a file and a line here; one that speaks OpenAI is a row in `catalog.ts`. */
import type { Provider } from '../core/provider.ts'
import { anthropic } from './anthropic/index.ts'
import { catalog } from './catalog.ts'
import { local } from './local/index.ts'
import { openaiCompatible } from './openai-compatible/index.ts'

export { localModels } from './local/index.ts'

const native = { anthropic, local } satisfies Record<string, Provider>

export type ProviderName = keyof typeof native | keyof typeof catalog

export const providers: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ...Object.entries(native),
  ...Object.entries(catalog).map(([name, row]): [string, Provider] => [name, openaiCompatible(name, row)]),
])

/** `vendor/model` -> both; a name without a known vendor keeps its slashes. */
export function splitModel(model: string): { provider?: string; model: string } {
  const slash = model.indexOf('/')
  const provider = slash < 0 ? '' : model.slice(0, slash)
  return providers.has(provider) ? { provider, model: model.slice(slash + 1) } : { model }
}
