/** Decodes `contents` into hub types. Takes only what passed the inspection (`inspect-contents.ts`). */
import type { Message, Part } from '../../core/hub/chat.ts'
import { mediaPart } from '../../core/hub/media-parts.ts'
import { unprocessable } from '../../core/errors.ts'
import { shown } from '../common/field-checks.ts'
import type { Path } from '../common/field-checks.ts'
import { untranslatable } from '../common/untranslatable.ts'
import { decodeThoughts } from './thought-signature.ts'
import { partKinds } from './inspect-contents.ts'
import { camel, entryPath, objectsOrOne } from './json-names.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { textOf } from '../../lib/json/json-values.ts'
import { exactText } from '../../lib/json/exact-json.ts'

interface DecodedContents {
  readonly messages: Message[]
  /** Fields of parts that the hub has no word for, by their names. */
  readonly dropped: ReadonlySet<string>
}

/** The messages in order. Throws `unprocessable` for parts and results that no other vendor has. */
export function decodeContents(value: unknown): DecodedContents {
  const conversation = new Conversation()
  objectsOrOne(value).forEach((content, at) => conversation.add(content, entryPath(['contents'], value, at)))
  return conversation
}

/** The texts of a system instruction. Throws `unprocessable` for anything but text. */
export function decodeSystem(value: Json): Message | undefined {
  const texts = objectsOrOne(value.parts).map((part, at): Part => {
    if (typeof part.text !== 'string')
      throw untranslatable(
        entryPath(['systemInstruction', 'parts'], value.parts, at),
        'a system instruction can only hold text here',
      )
    return { type: 'text', text: part.text }
  })
  return texts.length > 0 ? { role: 'system', parts: texts } : undefined
}

interface Call {
  readonly id: string
  answered: boolean
}

/** Calls that wait for their results; each look-up is one step, however long the conversation is. */
class Calls {
  readonly #byId = new Map<string, Call>()
  /** In order; `next` = the first that may still wait. */
  readonly #byName = new Map<string, { calls: Call[]; next: number }>()
  #count = 0

  /** The call's id: its own, else one that stands for its place. */
  add(id: string, name: string): string {
    const call: Call = { id: id || `call_${this.#count}`, answered: false }
    this.#count++
    this.#byId.set(call.id, call)
    const queue = this.#byName.get(name)
    if (queue) queue.calls.push(call)
    else this.#byName.set(name, { calls: [call], next: 0 })
    return call.id
  }

  /** The id of the call that this result answers: by id, else by name and order. Undefined = none waits. */
  answer(id: string, name: string): string | undefined {
    const named = id === '' ? undefined : this.#byId.get(id)
    const call = named && !named.answered ? named : this.#nextOf(name)
    if (!call) return undefined
    call.answered = true
    return call.id
  }

  #nextOf(name: string): Call | undefined {
    const queue = this.#byName.get(name)
    if (!queue) return undefined
    while (queue.calls[queue.next]?.answered) queue.next++
    return queue.calls[queue.next]
  }
}

/** About a part: they say how to read it, and other vendors have no word for them. */
const annotations = ['videoMetadata', 'mediaResolution', 'partMetadata', 'mediaProcessing', 'speechMetadata']

class Conversation implements DecodedContents {
  readonly messages: Message[] = []
  readonly dropped = new Set<string>()
  readonly #calls = new Calls()
  /** Signed thoughts that already stand in the turn: clients may copy a signature. */
  #opened = new Set<string>()

  add(content: Json, path: Path): void {
    const parts = objectsOrOne(content.parts).map((part, at) => ({
      part: camel(part),
      path: entryPath([...path, 'parts'], content.parts, at),
    }))
    for (const { part } of parts) this.#note(part)
    if (content.role === 'model') {
      const turn = this.#modelTurn()
      for (const one of parts) this.#addModelPart(turn, one.part, one.path)
      if (turn.length === 0) this.messages.pop()
      return
    }
    // Results first: they belong to the turn before.
    const rest: Part[] = []
    for (const { part, path: at } of parts) {
      if (part.functionResponse == null) rest.push(...plainPart(part, at))
      else this.messages.push(this.#result(camel(part.functionResponse as Json), at))
    }
    if (rest.length > 0) this.messages.push({ role: 'user', parts: rest })
  }

  #note(part: Json): void {
    for (const name of annotations) if (part[name] != null) this.dropped.add(`contents.parts.${name}`)
  }

  /** Clients that record streams send a turn as many contents: they are one message. */
  #modelTurn(): Part[] {
    const last = this.messages.at(-1)
    if (last?.role === 'assistant') return last.parts
    const parts: Part[] = []
    this.messages.push({ role: 'assistant', parts })
    this.#opened = new Set()
    return parts
  }

  #addModelPart(turn: Part[], part: Json, path: Path): void {
    const signature = textOf(part.thoughtSignature)
    this.#decodeThoughts(turn, signature)
    if (part.functionCall != null) turn.push(this.#call(camel(part.functionCall as Json), signature))
    else if (part.functionResponse != null)
      throw untranslatable(
        [...path, 'functionResponse'],
        "a function's response belongs into a content of the role user",
      )
    else if (typeof part.text === 'string' && part.thought === true)
      joinText(turn, { type: 'reasoning', text: part.text })
    else
      for (const plain of plainPart(part, path)) {
        if (plain.type === 'text') joinText(turn, plain)
        else turn.push(plain)
      }
  }

  /** Gemini's own signatures of texts and thoughts mean nothing to others, who get the conversation without them. */
  #decodeThoughts(turn: Part[], signature: string): void {
    if (signature === '' || this.#opened.has(signature)) return
    this.#opened.add(signature)
    const thoughts = decodeThoughts(signature)
    if (!thoughts) return
    // The same thoughts in plain text came just before.
    while (isPlainThought(turn.at(-1))) turn.pop()
    for (const thought of thoughts) turn.push({ type: 'reasoning', text: '', ...thought })
  }

  #call(call: Json, signature: string): Part {
    const isGeminis = signature !== '' && decodeThoughts(signature) === undefined
    const name = call.name as string
    const id = this.#calls.add(textOf(call.id), name)
    return { type: 'tool-call', id, name, arguments: exactText(call.args ?? {}), ...(isGeminis && { signature }) }
  }

  #result(response: Json, path: Path): Message {
    const name = response.name as string
    const id = textOf(response.id)
    const callId = this.#calls.answer(id, name)
    if (callId === undefined) {
      const msg =
        `no earlier functionCall of ${shown(id || name)} waits for this response; ` +
        "send the model's turn with that call too"
      throw unprocessable([{ loc: ['body', ...path, 'functionResponse'], msg, type: 'invalid' }])
    }
    for (const lost of ['willContinue', 'scheduling'])
      if (response[lost] != null) this.dropped.add(`contents.parts.functionResponse.${lost}`)
    const mediaPath = [...path, 'functionResponse', 'parts']
    const media = objectsOrOne(response.parts).flatMap((part, at) => plainPart(camel(part), [...mediaPath, at]))
    const { text, isError } = resultText((response.response ?? {}) as Json, name)
    const part: Part = { type: 'tool-result', callId, name, parts: [{ type: 'text', text }, ...media] }
    if (isError) part.isError = true
    return { role: 'tool', parts: [part] }
  }
}

function isPlainThought(part: Part | undefined): boolean {
  return part?.type === 'reasoning' && part.signature === undefined && part.redacted === undefined
}

/** Neighbours of one kind are one text that came in pieces. */
function joinText(turn: Part[], part: Extract<Part, { type: 'text' | 'reasoning' }>): void {
  const last = turn.at(-1)
  if (part.type === 'text' && last?.type === 'text') last.text += part.text
  else if (part.type === 'reasoning' && last?.type === 'reasoning' && isPlainThought(last)) last.text += part.text
  else if (part.text !== '') turn.push(part)
}

/**
 * Google writes a plain text as `{output: text}` or `{error: text}`; its older examples and Vercel's AI SDK as
 * `{name, content}` or `{name, error}`, with the function's own name. Everything else stays JSON.
 */
function resultText(response: Json, functionName: string): { text: string; isError: boolean } {
  const { name: repeated, content, error, ...more } = response
  const text = content ?? error
  if (
    repeated === functionName &&
    typeof text === 'string' &&
    Object.keys(more).length === 0 &&
    (content == null || error == null)
  )
    return { text, isError: content == null }
  const [[name, value] = [], ...others] = Object.entries(response)
  const isPlain = others.length === 0 && typeof value === 'string' && (name === 'output' || name === 'error')
  // A text that is an object in JSON could not be distinguished from the object.
  if (isPlain && !value.trimStart().startsWith('{')) return { text: value, isError: name === 'error' }
  return { text: exactText(response), isError: others.length === 0 && name === 'error' }
}

/** Everything but calls, results and thoughts; empty texts say nothing. */
function plainPart(part: Json, path: Path): Part[] {
  const kind = partKinds.find(one => part[one] != null)
  const value = kind === undefined ? undefined : part[kind]
  switch (kind) {
    case 'text':
      return value === '' ? [] : [{ type: 'text', text: value as string }]
    case 'inlineData':
      return [inlinePart(camel(value as Json), [...path, kind])]
    case 'fileData':
      return [filePart(camel(value as Json), [...path, kind, 'fileUri'])]
    case 'executableCode': {
      const { language, code } = value as Json
      return [{ type: 'text', text: fenced(textOf(language).toLowerCase(), textOf(code)) }]
    }
    case 'codeExecutionResult':
      return [{ type: 'text', text: fenced('', textOf((value as Json).output)) }]
    case 'functionCall':
      throw untranslatable([...path, kind], 'a function call belongs into a content of the role model')
  }
  // A part that is nothing but a signature.
  if (Object.keys(part).every(name => name === 'thoughtSignature' || name === 'thought')) return []
  throw untranslatable(path, `parts with ${Object.keys(part).map(shown).join(', ')} cannot be translated`)
}

const fenced = (language: string, text: string): string => `\n\`\`\`${language}\n${text.replace(/\n$/, '')}\n\`\`\`\n`

function inlinePart(blob: Json, path: Path): Part {
  const mediaType = (blob.mimeType as string).toLowerCase()
  // Google takes both alphabets of base64; its Python client writes the one of URLs.
  const data = (blob.data as string).replaceAll('-', '+').replaceAll('_', '/')
  const name = typeof blob.displayName === 'string' ? { name: blob.displayName } : {}
  return mediaPart({ data, mediaType }, { path: [...path, 'data'], ...name })
}

function filePart(file: Json, path: Path): Part {
  const mediaType = textOf(file.mimeType).toLowerCase()
  const source = { url: file.fileUri as string, field: path.join('.'), ...(mediaType !== '' && { mediaType }) }
  return mediaType.startsWith('image/') ? { type: 'image', source } : document(source, file.displayName)
}

function document(source: Extract<Part, { type: 'document' }>['source'], name: unknown): Part {
  return typeof name === 'string' ? { type: 'document', source, name } : { type: 'document', source }
}
