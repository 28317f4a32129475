/** What an answer holds, in any dialect: read from whole answers and from the events of streams. */

/** One line of a ranking or of a list of categories. */
export interface Score {
  readonly label: string
  readonly value: number
  /** A category that was flagged. */
  readonly isMarked?: boolean
}

/** A tool that the model wants called; `input` is JSON, as far as it has come. */
export interface ToolCall {
  readonly name: string
  readonly input: string
}

/** Everything that a model can answer with. What it did not send is empty. */
export interface Output {
  readonly text: string
  readonly thinking: string
  readonly tools: readonly ToolCall[]
  /** Addresses of pictures: `data:` ones are shown, others are links. */
  readonly images: readonly string[]
  /** A `blob:` address, to be revoked by its owner. */
  readonly sound: string | null
  readonly scores: readonly Score[]
  /** Of embeddings. */
  readonly dimensions: number | null
  /** Of a moderation. */
  readonly isFlagged: boolean | null
}

export const emptyOutput: Output = {
  text: '',
  thinking: '',
  tools: [],
  images: [],
  sound: null,
  scores: [],
  dimensions: null,
  isFlagged: null,
}

/** JSON of the gateway, of which only what is shown is named. */
// biome-ignore lint/suspicious/noExplicitAny: foreign JSON is decoded here
type Json = any

const texts = (parts: Json): string =>
  typeof parts === 'string' ? parts : (parts ?? []).map((part: Json) => part.text ?? '').join('')

/** Appends to the last tool, or to the one with this place. */
function withInput(tools: readonly ToolCall[], at: number, { name = '', input = '' }: Partial<ToolCall>): ToolCall[] {
  const known = tools[at] ?? { name: '', input: '' }
  return tools.toSpliced(at, 1, { name: known.name || name, input: known.input + input })
}

/** The error of an event, as an exception with its text. */
function raise(error: Json): never {
  throw new Error(typeof error?.message === 'string' ? error.message : 'the model failed in the middle of its answer')
}

export function wholeChat({ choices }: Json): Output {
  const message = choices?.[0]?.message ?? {}
  const calls = (message.tool_calls ?? []) as Json[]
  return {
    ...emptyOutput,
    text: texts(message.content) || (message.refusal ?? ''),
    thinking: message.reasoning_content ?? '',
    tools: calls.map(({ function: one }) => ({ name: one?.name ?? '', input: one?.arguments ?? '' })),
  }
}

export function wholeCompletion({ choices }: Json): Output {
  return { ...emptyOutput, text: choices?.[0]?.text ?? '' }
}

export function chatEvent(output: Output, data: Json): Output {
  if (data.error) raise(data.error)
  const delta = data.choices?.[0]?.delta
  if (!delta) return output
  let { tools } = output
  for (const { index = 0, function: one } of (delta.tool_calls ?? []) as Json[])
    tools = withInput(tools, index, { name: one?.name, input: one?.arguments })
  return {
    ...output,
    text: output.text + (delta.content ?? delta.refusal ?? ''),
    thinking: output.thinking + (delta.reasoning_content ?? ''),
    tools,
  }
}

export function wholeResponse({ output = [] }: Json): Output {
  const items = output as Json[]
  const ofType = (type: string) => items.filter(item => item.type === type)
  return {
    ...emptyOutput,
    text: ofType('message')
      .map(item => texts(item.content))
      .join('\n\n'),
    thinking: ofType('reasoning')
      .map(item => texts(item.content) || texts(item.summary))
      .join('\n\n'),
    tools: ofType('function_call').map(item => ({ name: item.name ?? '', input: item.arguments ?? '' })),
    images: ofType('image_generation_call').flatMap(item => (item.result ? [pngOf(item.result)] : [])),
  }
}

export function responseEvent(output: Output, data: Json): Output {
  switch (data.type) {
    case 'error':
      return raise(data.error ?? data)
    case 'response.failed':
      return raise(data.response?.error)
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { ...output, text: output.text + data.delta }
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return { ...output, thinking: output.thinking + data.delta }
    case 'response.output_item.done': {
      const made = wholeResponse({ output: [data.item] })
      return { ...output, tools: [...output.tools, ...made.tools], images: [...output.images, ...made.images] }
    }
    default:
      return output
  }
}

export function wholeMessage({ content = [] }: Json): Output {
  const blocks = content as Json[]
  return {
    ...emptyOutput,
    text: blocks.map(block => (block.type === 'text' ? block.text : '')).join(''),
    thinking: blocks.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
    tools: blocks
      .filter(block => block.type === 'tool_use')
      .map(block => ({ name: block.name ?? '', input: JSON.stringify(block.input ?? {}) })),
  }
}

export function messageEvent(output: Output, data: Json): Output {
  if (data.type === 'error') raise(data.error)
  if (data.type === 'content_block_start' && data.content_block?.type === 'tool_use')
    return { ...output, tools: withInput(output.tools, output.tools.length, { name: data.content_block.name }) }
  if (data.type !== 'content_block_delta') return output
  const { delta } = data
  const last = Math.max(0, output.tools.length - 1)
  return {
    ...output,
    text: output.text + (delta?.text ?? ''),
    thinking: output.thinking + (delta?.thinking ?? ''),
    tools: delta?.partial_json ? withInput(output.tools, last, { input: delta.partial_json }) : output.tools,
  }
}

/** How near each of the texts is to the first one. */
export function wholeEmbeddings({ data = [] }: Json, labels: readonly string[]): Output {
  const vectors = (data as Json[]).map(one => numbersOf(one.embedding))
  const [first] = vectors
  if (!first) return emptyOutput
  return {
    ...emptyOutput,
    dimensions: first.length,
    scores:
      vectors.length < 2
        ? []
        : vectors.map((vector, at) => ({ label: labels[at] ?? String(at + 1), value: cosine(first, vector) })),
  }
}

/** A list of numbers, or 32-bit floats in base64 (`encoding_format`). */
function numbersOf(embedding: Json): readonly number[] {
  if (typeof embedding !== 'string') return embedding ?? []
  const bytes = Uint8Array.from(atob(embedding), one => one.charCodeAt(0))
  return [...new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4))]
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
  const size = Math.sqrt(dot(one, one) * dot(other, other))
  return size === 0 ? 0 : dot(one, other) / size
}

/** The documents in the order of the model. */
export function wholeRanking({ results = [] }: Json, labels: readonly string[]): Output {
  const rows = results as Json[]
  return {
    ...emptyOutput,
    scores: rows.map(one => ({ label: labels[one.index] ?? String(one.index), value: one.relevance_score ?? 0 })),
  }
}

const pngOf = (base64: string): string => `data:image/png;base64,${base64}`

export function wholeImages({ data = [], output_format: format = 'png' }: Json): Output {
  const of = (one: Json): string[] =>
    one.b64_json ? [`data:image/${format};base64,${one.b64_json}`] : typeof one.url === 'string' ? [one.url] : []
  return { ...emptyOutput, images: (data as Json[]).flatMap(of) }
}

export function wholeModeration({ results = [] }: Json): Output {
  const [first] = results as Json[]
  const scores = Object.entries((first?.category_scores ?? {}) as Record<string, number>)
  return {
    ...emptyOutput,
    isFlagged: first?.flagged ?? null,
    scores: scores
      .map(([label, value]) => ({ label, value, isMarked: first?.categories?.[label] === true }))
      .toSorted((a, b) => b.value - a.value),
  }
}

export const wholeTranscription = ({ text = '' }: Json): Output => ({ ...emptyOutput, text })
