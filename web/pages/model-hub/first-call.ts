/** The first call of a model in each API that it can be called by. */
import type { HubModel } from '../../api/model-groups.ts'
import type { Snippet } from '../../components/text/code-block.tsx'
import { gatewayUrl } from '../../lib/urls.ts'
import { snippetsFor } from '../../lib/snippets.ts'
import { copiesOf } from '../playground/copy-as.ts'
import { operationOf, operationsOfMode } from '../playground/operations.ts'
import type { Input, OperationName } from '../playground/operations.ts'

const question = 'Say hello in one sentence.'
/** What is asked, as a person would type it in the playground. */
const texts: Readonly<Record<OperationName, string>> = {
  chat: question,
  responses: question,
  messages: question,
  completions: 'Once upon a time',
  embeddings: 'A sentence to compare with others.',
  rerank: 'What is the capital of France?',
  image: 'A lighthouse at dawn, watercolour',
  speech: 'Hello from the gateway.',
  transcription: '',
  moderation: 'A text to check.',
}
const documents = 'Paris is the capital of France.\nBerlin is the capital of Germany.'
const soundFile = 'speech.mp3'

/** How a model is called by one API. */
export interface FirstCall {
  readonly operation: OperationName
  /** Tabs of a CodeBlock. */
  readonly snippets: readonly Snippet[]
  /** The key has to be put into the text; else it is taken from the environment. */
  readonly hasKey: boolean
}

/** The usual API first; empty = nothing is known of how it is called. */
export function firstCallsOf({ model_group: model, mode }: HubModel): FirstCall[] {
  return (mode === null ? [] : operationsOfMode(mode)).map(operation => {
    if (operation === 'chat')
      return { operation, snippets: snippetsFor({ gateway: gatewayUrl, key: 'YOUR_KEY', model }), hasKey: true }
    const input: Input = { system: '', text: texts[operation], documents, file: null }
    const body = { model, ...operationOf(operation).body(input) }
    const snippets = copiesOf({ name: operation, body, gateway: gatewayUrl, fileName: soundFile })
    return { operation, snippets, hasKey: false }
  })
}
