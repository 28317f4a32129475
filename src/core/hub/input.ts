/**
 * The input of a call in hub types, for any dialect, form or file line: what policies read and change.
 */
import type { ChatRequest, Message, Part, Source, Tool } from './chat.ts'
import type { EmbeddingsRequest } from './embeddings.ts'
import type { ImagesRequest } from './images.ts'
import type { ModerationsRequest } from './moderations.ts'
import type { RerankRequest } from './rerank.ts'
import type { SpeechRequest } from './speech.ts'
import { keyOf } from './input-files.ts'
import type { FileReadings, InlineFile, InputFile } from './input-files.ts'
import { isTextType } from './media-parts.ts'
import { fileOf, inOtherEncodings, isMedia, isPacked } from '../../lib/file-text/index.ts'
import type { FileBytes, Reading } from '../../lib/file-text/reading.ts'
import { ExactNumber, exactText, parseExact, plainKey } from '../../lib/json/exact-json.ts'

/** Decoded once per call, on the first `Call.input()`. */
export type CallInput = DecodedInput & {
  /** What `readFiles` has read of its packed files. */
  readings?: FileReadings
}

type DecodedInput =
  | { readonly kind: 'chat'; readonly request: ChatRequest }
  | { readonly kind: 'embeddings'; readonly request: EmbeddingsRequest }
  | { readonly kind: 'rerank'; readonly request: RerankRequest }
  | { readonly kind: 'moderations'; readonly request: ModerationsRequest }
  | { readonly kind: 'images'; readonly request: ImagesRequest }
  | { readonly kind: 'speech'; readonly request: SpeechRequest }
  /** A multipart form: transcriptions, image edits, files. The fields may be changed, the files can be read. */
  | { readonly kind: 'form'; readonly fields: Record<string, unknown>; readonly files: readonly InputFile[] }
  /** A JSON body about stored objects (batches), or none. */
  | { readonly kind: 'object'; readonly fields: Record<string, unknown> }

/** A change of a call's input, applied to the decoded request. Pure: it runs once for every attempt. */
export type InputEdit = (input: CallInput) => void

/**
 * What a text is: `json` = JSON text (arguments of tool calls), `name` = a name or an address that is read alone,
 * `file` = a piece of a file of a form, or an inline file that is no text; `reading` = a text that such a file holds in
 * another form (UTF-16, packed, PDF). These three are read alone. `unreadable` = no text of the client: it says what
 * of a file cannot be read, as `an encrypted PDF`.
 */
export type InputTextKind = 'text' | 'json' | 'name' | 'file' | 'reading' | 'unreadable'

/** The kinds that are read, and cannot be changed. */
export const fixedTextKinds: ReadonlySet<InputTextKind> = new Set(['name', 'file', 'reading', 'unreadable'])

/** The text in place of `text`; undefined = it stays. */
type ChangeInputText = (text: string, kind: InputTextKind) => string | undefined
interface NextText {
  (text: string, kind?: InputTextKind): string
  readings?: FileReadings | undefined
}

/**
 * Hands every text of the input to `change` and puts its result in the place of the text; undefined = left as it is.
 * Covers prompts, tool definitions and results, arguments of earlier tool calls, names, schemas of the answer, file
 * contents inside the request, documents to be ranked, the client's metadata, the name of its end user, stop sequences,
 * fields that only one dialect knows, and the fields of forms. Files of forms, inline files that are no text,
 * addresses, and names (of tools, of schemas, inside of JSON) are read, not changed. Packed files and PDF are read by
 * `readFiles` before; without it they are unreadable.
 */
export function changeTexts(input: CallInput, change: ChangeInputText): void {
  const next: NextText = (text, kind = 'text') => change(text, kind) ?? text
  next.readings = input.readings
  if ('request' in input) {
    const { request } = input
    changeFields(request.extra.fields, next)
    if ('user' in request && request.user !== undefined) request.user = next(request.user)
  }
  switch (input.kind) {
    case 'chat':
      return changeChat(input.request, next)
    case 'embeddings':
      input.request.inputs = input.request.inputs.map(one => (typeof one === 'string' ? next(one) : one))
      return
    case 'rerank':
      input.request.query = next(input.request.query)
      input.request.documents = input.request.documents.map(one => next(one))
      return
    case 'moderations':
      for (const parts of input.request.inputs)
        for (const part of parts) if (part.type === 'text') part.text = next(part.text)
      return
    case 'images':
      input.request.prompt = next(input.request.prompt)
      return
    case 'speech':
      input.request.input = next(input.request.input)
      if (input.request.instructions !== undefined) input.request.instructions = next(input.request.instructions)
      return
    case 'form':
      changeFields(input.fields, next)
      for (const file of input.files) {
        next(file.filename, 'name')
        for (const piece of file.text()) change(piece, 'file')
        readFile(file.content, next, file)
      }
      return
    case 'object':
      return changeFields(input.fields, next)
  }
}

function changeChat(request: ChatRequest, next: NextText): void {
  for (const messages of [request.messages, ...(request.series ?? [])]) changeMessages(messages, next)
  const { responseFormat, stop, metadata } = request
  if (stop) request.stop = stop.map(one => next(one))
  if (metadata) request.metadata = changedTexts(metadata, next) as Record<string, unknown>
  if (responseFormat?.type === 'json-schema') {
    if (responseFormat.name !== undefined) next(responseFormat.name, 'name')
    responseFormat.schema = changedTexts(responseFormat.schema, next) as Record<string, unknown>
    if (responseFormat.description !== undefined) responseFormat.description = next(responseFormat.description)
  }
  for (const tool of request.tools ?? []) {
    next(tool.name, 'name')
    if (tool.description !== undefined) tool.description = next(tool.description)
    if (tool.parameters) tool.parameters = changedTexts(tool.parameters, next) as Record<string, unknown>
    if (tool.freeText) tool.freeText = changedTexts(tool.freeText, next) as Tool['freeText'] & object
  }
}

function changeMessages(messages: readonly Message[], next: NextText): void {
  for (const message of messages) {
    if (message.name !== undefined) message.name = next(message.name)
    changeParts(message.parts, next)
  }
}

function changeParts(parts: readonly Part[], next: NextText): void {
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        part.text = next(part.text)
        break
      case 'tool-call':
        next(part.name, 'name')
        part.arguments = changedJson(part.arguments, next)
        break
      case 'tool-result':
        changeParts(part.parts, next)
        break
      case 'image':
        readAddress(part.source, next)
        // Data that is no picture is read as a file: it may be text.
        if ('data' in part.source && !isMedia(Buffer.from(part.source.data.slice(0, 100), 'base64')))
          changedFile(part.source, next)
        break
      case 'audio':
        next(part.format, 'name')
        break
      case 'document':
        if (part.name !== undefined) part.name = next(part.name)
        readAddress(part.source, next)
        part.source = changedFile(part.source, next)
    }
  }
}

/** An address as it is written, and what its escapes stand for. */
function readAddress(source: Source, next: NextText): void {
  if (!('url' in source)) return
  next(source.url, 'name')
  if (!source.url.includes('%')) return
  // Bytes that are no UTF-8 become U+FFFD; no address is refused for them.
  const bytes = source.url.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
  next(Buffer.from(bytes, 'latin1').toString('utf8'), 'name')
}

function changedFile(source: Source, next: NextText): Source {
  if (!('data' in source)) return source
  const { data, mediaType } = source
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString('utf8')
  const isText = isTextType(mediaType) && !text.includes('\ufffd') && !text.includes('\0')
  const changed = next(text, isText ? 'text' : 'file')
  readFile(fileOf(bytes), next, source)
  return isText && changed !== text ? { data: Buffer.from(changed, 'utf8').toString('base64'), mediaType } : source
}

function readFile(file: FileBytes, next: NextText, from: InlineFile | InputFile): void {
  const known = isPacked(file) ? (next.readings?.get(keyOf(from)) ?? unread) : inOtherEncodings(file)
  for (const one of known)
    if ('text' in one) next(one.text, 'reading')
    else next(one.unreadable, 'unreadable')
}

const unread: readonly Reading[] = [{ unreadable: 'a packed file that nothing has unpacked' }]

/** JSON text is one text; where it has escapes, so is every text in it. */
function changedJson(json: string, next: NextText): string {
  const changed = next(json, 'json')
  if (!changed.includes('\\')) return changed
  try {
    const before = exactText(parseExact(changed))
    const after = exactText(changedTexts(parseExact(changed), next))
    return after === before ? changed : after
  } catch (error) {
    // What a model wrote need not be JSON.
    if (error instanceof SyntaxError) return changed
    throw error
  }
}

/** `value` with every text in it replaced; the names of fields are read, and stay. */
function changedTexts(value: unknown, next: NextText): unknown {
  if (typeof value === 'string') return next(value)
  if (Array.isArray(value)) return value.map(one => changedTexts(one, next))
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      next(plainKey(name), 'name')
      return [name, changedTexts(one, next)]
    }),
  )
}

function changeFields(fields: Record<string, unknown>, next: NextText): void {
  for (const [name, value] of Object.entries(fields)) fields[name] = changedTexts(value, next)
}
