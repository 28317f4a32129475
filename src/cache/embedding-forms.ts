/** How the dialects of embeddings write lists of inputs and of vectors. */
import type { Call } from '../core/call.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/** A text, a text that is split into token ids, or a request of Gemini's dialect. */
export type Input = string | readonly number[] | Readonly<Record<string, unknown>>

/** One way. Answers are fields by name, and written as pairs of a name and its JSON. */
export interface Form {
  /** Under which a body has the list of inputs, when it has several. */
  readonly listField: string
  /** Whether a field of a body is in its inputs. */
  isInput(field: string): boolean
  inputsOf(body: JsonBody): readonly Input[] | undefined
  /** The vectors of an answer in the order of what was asked; undefined = it has none. */
  vectorsOf(answer: Json): readonly unknown[] | undefined
  /** How many tokens an answer says that the inputs have; undefined = it says nothing. */
  tokensOf(answer: Json): unknown
  /** Fields of an answer for which no upstream was called, in their order. */
  about(model: string): Json
  /** The fields of an answer, with these vectors (as JSON) and tokens in place of its own. */
  written(answer: Json, vectors: readonly string[], tokens: number): ReadonlyMap<string, string>
}

const openai: Form = {
  listField: 'input',
  isInput: field => field === 'input',
  inputsOf(body) {
    const given = body.get('input')
    const isOne = typeof given === 'string' || (Array.isArray(given) && typeof given[0] === 'number')
    return isOne ? [given as Input] : Array.isArray(given) ? (given as Input[]) : undefined
  },
  vectorsOf({ data }) {
    if (!Array.isArray(data)) return undefined
    const vectors = new Array<unknown>(data.length)
    for (const [at, one] of data.entries())
      if (isObject(one)) vectors[Number.isInteger(one.index) ? (one.index as number) : at] = one.embedding
    return vectors
  },
  tokensOf: ({ usage }) => (isObject(usage) ? usage.prompt_tokens : undefined),
  about: model => ({ object: 'list', data: undefined, model, usage: undefined }),
  written(answer, vectors, tokens) {
    const items = vectors.map((json, index) => `{"object":"embedding","index":${index},"embedding":${json}}`)
    const usage = { ...(isObject(answer.usage) && answer.usage), prompt_tokens: tokens, total_tokens: tokens }
    return textsOf({ ...answer, usage }, 'data', `[${items.join(',')}]`)
  },
}

/** Both actions of Gemini's dialect: an input is a request, whose model stands in the path. */
const geminiAnswers: Pick<Form, 'tokensOf' | 'about'> = {
  tokensOf: ({ usageMetadata }) => (isObject(usageMetadata) ? usageMetadata.promptTokenCount : undefined),
  about: () => ({ embeddings: undefined, embedding: undefined }),
}

const withoutModel = ({ model: _, ...request }: Json): Input => request

const usageOf = (tokens: number): Json =>
  tokens > 0 ? { usageMetadata: { promptTokenCount: tokens, totalTokenCount: tokens } } : {}

const geminiBatch: Form = {
  ...geminiAnswers,
  listField: 'requests',
  isInput: field => field === 'requests',
  inputsOf(body) {
    const requests = body.get('requests')
    const list = isObject(requests) ? [requests] : requests
    return Array.isArray(list) ? list.map(withoutModel) : undefined
  },
  vectorsOf: ({ embeddings }) => (Array.isArray(embeddings) ? embeddings : undefined),
  written: (_, vectors, tokens) =>
    textsOf({ embeddings: [], ...usageOf(tokens) }, 'embeddings', `[${vectors.join(',')}]`),
}

const geminiSingle: Form = {
  ...geminiAnswers,
  listField: '',
  isInput: () => true,
  inputsOf: body => [withoutModel(Object.fromEntries(body.names().map(name => [name, body.get(name)])))],
  vectorsOf: ({ embedding }) => (embedding === undefined ? undefined : [embedding]),
  written: (_, [vector], tokens) => textsOf({ embedding: {}, ...usageOf(tokens) }, 'embedding', vector!),
}

function textsOf(answer: Json, vectorField: string, vectors: string): Map<string, string> {
  return new Map(
    Object.entries(answer).map(([name, value]) => [name, name === vectorField ? vectors : JSON.stringify(value)]),
  )
}

/** undefined = inputs of the dialect are not distinguished. */
export function formOf({ format, body }: Call): Form | undefined {
  if (format?.dialect === 'openai-embeddings') return openai
  if (format?.dialect !== 'gemini-named-inside') return undefined
  return body?.has('requests') ? geminiBatch : geminiSingle
}
