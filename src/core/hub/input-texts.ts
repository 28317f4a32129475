/** All texts of a request, in any dialect, for a bound of its tokens: nothing that a model may read is left out. */
import type { Call } from '../call.ts'
import { ExactNumber, plainKey } from '../../lib/json/exact-json.ts'
import type { ChatRequest, Part } from './chat.ts'
import type { CallInput } from './input.ts'

/** The texts for a tokenizer, and a bound of the tokens beside them. */
export interface InputTexts {
  readonly texts: readonly string[]
  readonly otherTokens: number
}

/**
 * Templates put a beginning and an instruction in front (gpt-oss, `chat_template.jinja`: 70 tokens; Mistral's default
 * instruction, `SYSTEM_PROMPT.txt`: 450).
 */
const templateTokens = 512
/** Around an object (a message, a part, a call, a tool, a schema) and between its entries, also where JSON is read. */
const tokensPerObject = 8
const tokensPerEntry = 3
const tokensPerItem = 1

/**
 * Of what the client sent, or of the hub request where policies have changed it. Pictures are left out, which count by
 * themselves; texts in documents are decoded. undefined = the input is not read as JSON, or has no texts.
 */
export function inputTexts(call: Call, input: CallInput | undefined): InputTexts | undefined {
  const { body, edits } = call
  if (!body || (input !== undefined && !readable.has(input.kind))) return undefined
  const collected = new Collected(input?.kind === 'chat' ? filesOf(input.request) : new Map())
  collected.isIds = input?.kind === 'embeddings'
  if (edits.length > 0 && input?.kind === 'chat') collected.add(input.request)
  else collected.add(body.parse())
  return { texts: collected.texts, otherTokens: collected.tokens + templateTokens }
}

const readable: ReadonlySet<CallInput['kind']> = new Set(['chat', 'embeddings', 'moderations', 'images', 'speech'])

/** Base64 of the body that is not read as a text, with the text that it is read as; '' = as none. */
type Files = Map<string, string>

function filesOf({ messages, series = [] }: ChatRequest): Files {
  const files: Files = new Map()
  for (const list of [messages, ...series]) for (const { parts } of list) addFiles(files, parts)
  return files
}

function addFiles(files: Files, parts: readonly Part[]): void {
  for (const part of parts)
    if (part.type === 'tool-result') addFiles(files, part.parts)
    else if ((part.type === 'image' || part.type === 'document') && 'data' in part.source) {
      const { data, mediaType } = part.source
      if (part.type === 'image') files.set(data, '')
      else if (mediaType.startsWith('text/')) files.set(data, Buffer.from(data, 'base64').toString('utf8'))
    }
}

/** `data:image/png;base64,` and the like are shorter. */
const dataPrefixMax = 256

class Collected {
  readonly texts: string[] = []
  tokens = 0
  /** Numbers are ids of tokens. */
  isIds = false
  readonly #files: readonly (readonly [base64: string, text: string])[]

  constructor(files: Files) {
    this.#files = [...files]
  }

  /** Bodies are never nested deeper than 64: see `JsonLimits`. */
  add(value: unknown): void {
    if (typeof value === 'string') this.#addString(value)
    else if (Array.isArray(value)) {
      this.tokens += tokensPerObject
      for (const item of value) this.#addItem(item)
    } else if (value instanceof ExactNumber) this.tokens += value.toString().length
    else if (typeof value === 'object' && value !== null) {
      this.tokens += tokensPerObject
      for (const [name, entry] of Object.entries(value)) {
        this.tokens += tokensPerEntry
        this.texts.push(plainKey(name))
        this.add(entry)
      }
    } else this.tokens += String(value).length
  }

  #addItem(item: unknown): void {
    if (this.isIds && typeof item === 'number') this.tokens++
    else {
      this.tokens += tokensPerItem
      this.add(item)
    }
  }

  #addString(text: string): void {
    const file = text.length < fileCharactersMin ? undefined : this.#files.find(([base64]) => isFile(text, base64))
    const read = file ? file[1] : text
    if (read !== '') this.texts.push(read)
  }
}

/** Shorter ones cost little, and may be texts. */
const fileCharactersMin = 64

/** The string is this file, by itself or behind a prefix. */
const isFile = (text: string, base64: string): boolean =>
  base64.length >= fileCharactersMin && text.length - base64.length <= dataPrefixMax && text.endsWith(base64)
