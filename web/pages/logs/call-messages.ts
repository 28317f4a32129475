/** What was said in a stored call, as messages, in any dialect. */
import type { CallBodies, SpendLog } from '../../api/schema.d.ts'
import { operationOf, operationOfRoute } from '../playground/operations.ts'
import type { Body, OperationName } from '../playground/operations.ts'
import type { Output } from '../playground/output.ts'

/** A piece of a message. */
export type Piece =
  | { readonly kind: 'text' | 'thinking'; readonly text: string }
  /** A tool that is to be called; `input` is JSON. */
  | { readonly kind: 'tool'; readonly name: string; readonly input: string }
  | { readonly kind: 'result'; readonly text: string }
  /** `data:` ones are shown, others are links. */
  | { readonly kind: 'image'; readonly address: string }

/** What one side said at once. */
export interface Message {
  /** `user`, `assistant`, `system`, `tool`: as it was sent. */
  readonly role: string
  readonly pieces: readonly Piece[]
}

/** One side of a stored call. */
export type Side = NonNullable<CallBodies['request'] | CallBodies['response']>

/** JSON of clients and models, of which only what is shown is named. */
// biome-ignore lint/suspicious/noExplicitAny: foreign JSON is decoded here
type Json = any

/** The JSON of a side; undefined = it is none, or only its beginning was stored. */
export function jsonOf(side: Pick<Side, 'text' | 'cut'> | null): Json | undefined {
  if (!side || side.cut) return undefined
  try {
    return JSON.parse(side.text)
  } catch {
    return undefined
  }
}

/** The kind of call that the stored request is; undefined = the playground has none of its kind. */
function operationOfBodies(call: Pick<SpendLog, 'route'>, { request }: CallBodies): OperationName | undefined {
  const known = operationOfRoute(call.route)
  if (request?.changed_by_policies) return known && operationOf(known).modes.includes('chat') ? 'chat' : undefined
  // Their bodies are in words that no kind of the playground has.
  return /generateContent/i.test(call.route) ? undefined : known
}

/** The request as the playground sends it; undefined = it cannot: cut, a form, or in words of another dialect. */
export function replayOf(
  call: Pick<SpendLog, 'route'>,
  bodies: CallBodies,
): { readonly name: OperationName; readonly body: Body } | undefined {
  const name = operationOfBodies(call, bodies)
  const body = jsonOf(bodies.request)
  if (!name || operationOf(name).isForm || typeof body !== 'object' || body === null) return undefined
  return { name, body: body as Body }
}

/** Everything that was said, in order. */
export function messagesOf(call: Pick<SpendLog, 'route'>, bodies: CallBodies): Message[] {
  const request = jsonOf(bodies.request)
  const answer = jsonOf(bodies.response)
  const prompt = request === undefined ? [] : askedIn(request)
  return [...prompt, ...(answer === undefined ? [] : answeredIn(call, answer))].filter(one => one.pieces.length > 0)
}

const text = (value: unknown): Piece[] =>
  typeof value === 'string' && value !== '' ? [{ kind: 'text', text: value }] : []

function askedIn(request: Json): Message[] {
  const system = request.system ?? request.instructions ?? request.systemInstruction
  const first: Message[] = system == null ? [] : [{ role: 'system', pieces: piecesOf(system) }]
  const list = request.messages ?? request.contents ?? (Array.isArray(request.input) ? request.input : undefined)
  if (Array.isArray(list) && list.some(one => typeof one === 'object')) return [...first, ...list.map(messageOf)]
  const said = request.prompt ?? request.input ?? request.query ?? request.content
  const documents = Array.isArray(request.documents) ? request.documents : []
  const pieces = [said, ...documents].flat().flatMap(one => (typeof one === 'string' ? text(one) : piecesOf(one)))
  return [...first, { role: 'user', pieces }]
}

/** A message of chats, Messages and Gemini, or an item of Responses. */
function messageOf(one: Json): Message {
  const role = one.role ?? (one.type?.endsWith('_output') ? 'tool' : one.type ? 'assistant' : 'user')
  const calls = (one.tool_calls ?? []) as Json[]
  const tools = calls.map(
    ({ function: called }): Piece => ({
      kind: 'tool',
      name: called?.name ?? '',
      input: called?.arguments ?? '',
    }),
  )
  const thinking = typeof one.reasoning_content === 'string' ? one.reasoning_content : ''
  const isItem = typeof one.type === 'string' && one.content === undefined
  const pieces = isItem ? pieceOf(one) : piecesOf(one.content ?? one.parts)
  const before: Piece[] = thinking === '' ? [] : [{ kind: 'thinking', text: thinking }]
  const isResult = role === 'tool' || role === 'function'
  return { role, pieces: [...before, ...(isResult ? pieces.map(asResult) : pieces), ...tools] }
}

const asResult = (piece: Piece): Piece => (piece.kind === 'text' ? { kind: 'result', text: piece.text } : piece)

function piecesOf(content: Json): Piece[] {
  if (typeof content === 'string') return text(content)
  if (Array.isArray(content)) return content.flatMap(part => (typeof part === 'string' ? text(part) : pieceOf(part)))
  return content == null ? [] : content.parts ? piecesOf(content.parts) : pieceOf(content)
}

/** A part of a message in any dialect; one that has no picture here is shown as its JSON. */
function pieceOf(part: Json): Piece[] {
  if (typeof part !== 'object' || part === null) return []
  const { type = '' } = part as { type?: string }
  if (type === 'tool_use' || type === 'function_call' || part.functionCall) {
    const { name = '', input, arguments: given, args } = part.functionCall ?? part
    return [{ kind: 'tool', name, input: typeof given === 'string' ? given : JSON.stringify(input ?? args ?? {}) }]
  }
  if (type === 'tool_result' || type === 'function_call_output' || part.functionResponse) {
    const result = part.content ?? part.output ?? part.functionResponse?.response
    const said = piecesOf(result).map(one => (one.kind === 'text' ? one.text : JSON.stringify(one)))
    return [{ kind: 'result', text: said.join('\n') }]
  }
  const thought = part.thinking ?? (part.thought === true || type === 'reasoning' ? part.text : undefined)
  if (typeof thought === 'string') return [{ kind: 'thinking', text: thought }]
  const address = imageOf(part)
  if (address !== undefined) return [{ kind: 'image', address }]
  if (typeof part.text === 'string') return text(part.text)
  return text(JSON.stringify(part))
}

/** The address of a picture: of chats, of Responses, of Messages, of Gemini. */
function imageOf(part: Json): string | undefined {
  const { image_url: url, source, inlineData: inline } = part
  if (typeof url === 'string') return url
  if (typeof url?.url === 'string') return url.url
  if (part.type === 'image' && source?.type === 'url') return source.url
  if (part.type === 'image' && source?.data) return `data:${source.media_type};base64,${source.data}`
  return inline?.mimeType?.startsWith('image/') ? `data:${inline.mimeType};base64,${inline.data}` : undefined
}

function answeredIn({ route }: Pick<SpendLog, 'route'>, answer: Json): Message[] {
  const role = 'assistant'
  if (answer.error) return [{ role: 'error', pieces: text(answer.error.message ?? JSON.stringify(answer.error)) }]
  if (Array.isArray(answer.candidates))
    return answer.candidates.map((one: Json) => ({ role, pieces: piecesOf(one.content) }))
  const name = operationOfRoute(route)
  const output = name && operationOf(name).whole?.(answer, [])
  if (output) return [{ role, pieces: outputPieces(output) }]
  // Text completions.
  return ((answer.choices ?? []) as Json[]).map(one => ({ role, pieces: text(one.text) }))
}

function outputPieces({ thinking, text: said, tools, images }: Output): Piece[] {
  return [
    ...(thinking === '' ? [] : [{ kind: 'thinking' as const, text: thinking }]),
    ...text(said),
    ...tools.map(tool => ({ kind: 'tool' as const, ...tool })),
    ...images.map(address => ({ kind: 'image' as const, address })),
  ]
}
