/** The first call of a model, by what it is for. */
import type { HubModel } from '../../api/model-groups.ts'
import type { Snippet } from '../../components/code-block.tsx'
import { gatewayUrl } from '../../lib/places.ts'
import { snippetsFor } from '../../lib/snippets.ts'
import { copiesOf } from '../playground/copy-as.ts'
import { operationNames, operationOf } from '../playground/operations.ts'
import type { Input, OperationName } from '../playground/operations.ts'

/** What is asked, as a person would type it in the playground. */
const texts: Readonly<Partial<Record<OperationName, string>>> = {
  embeddings: 'A sentence to compare with others.',
  rerank: 'What is the capital of France?',
  image: 'A lighthouse at dawn, watercolour',
  speech: 'Hello from the gateway.',
  moderation: 'A text to check.',
}
const documents = 'Paris is the capital of France.\nBerlin is the capital of Germany.'
const soundFile = 'speech.mp3'

/** The kind of call that models of this mode take; undefined = none that is known. */
export function operationOfMode(mode: string | null): OperationName | undefined {
  return operationNames.find(name => mode !== null && operationOf(name).modes.includes(mode))
}

/** Tabs of a CodeBlock; empty = nothing is known of how it is called. */
export function firstCallOf({ model_group: model, mode }: HubModel): Snippet[] {
  const name = operationOfMode(mode)
  if (name === undefined) return []
  if (name === 'chat') return snippetsFor({ gateway: gatewayUrl, key: 'YOUR_KEY', model })
  const input: Input = { system: '', text: texts[name] ?? '', documents, file: null }
  const body = { model, ...operationOf(name).body(input) }
  return copiesOf({ name, body, gateway: gatewayUrl, fileName: soundFile })
}
