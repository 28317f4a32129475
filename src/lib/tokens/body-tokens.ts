/** An estimate of the input tokens of a request body in any dialect, for answers without a usage. */
import { fileTokens, imageTokens, TextCounter } from './count-tokens.ts'
import type { JsonBody } from '../json/json-body.ts'
import { backslash, quote } from '../json/json-bytes.ts'

/** Larger bodies are not parsed for an estimate: one pass over their bytes distinguishes files from texts. */
const parseBytesMax = 256 * 1024
const bytesPerToken = 4
/** A call that broke off is not worth more time than this. */
const measuredCharactersMax = 8 * 1024

/** What a model reads, by the names that the dialects have for it. */
const textFields = [
  'messages',
  'prompt',
  'suffix',
  'input',
  'instructions',
  'system',
  'contents',
  'systemInstruction',
  'system_instruction',
  'content',
  'requests',
  'generateContentRequest',
  'generate_content_request',
  'query',
  'documents',
]
/** Definitions: names and braces of their JSON are read too. */
const jsonFields = ['tools', 'functions']
/** Words of the protocol, and ciphers that only their vendor reads. */
const unreadKeys: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'tool_call_id',
  'tool_use_id',
  'call_id',
  'cache_control',
  'media_type',
  'mimeType',
  'mime_type',
  'format',
  'detail',
  'filename',
  'signature',
  'thoughtSignature',
  'thought_signature',
  'model',
  'taskType',
  'task_type',
])
/** Where a string is the address of a file, and not a text about one. */
const addressKeys: ReadonlySet<string> = new Set(['url', 'image_url', 'file_url', 'fileUri', 'file_uri', 'file_id'])

/**
 * For calls that end without a report of the upstream. Files count by their own measure, those named by an address as
 * large pictures. A body of more than 256 KiB is not parsed, only looked through.
 */
export function bodyTokens(body: JsonBody): number {
  if (body.size > parseBytesMax) return scannedTokens(body)
  const reading = new Reading()
  for (const field of textFields) reading.add(body.get(field))
  for (const field of jsonFields) if (body.get(field)) reading.addText(JSON.stringify(body.get(field)))
  return reading.tokens
}

class Reading {
  readonly #texts = new TextCounter(measuredCharactersMax)
  #others = 0

  get tokens(): number {
    return this.#texts.tokens + this.#others
  }

  addText(text: string): void {
    this.#texts.add(text)
  }

  /** Bodies are never nested deeper than 64: see `JsonLimits`. */
  add(value: unknown, key = ''): void {
    if (typeof value === 'string') this.#addString(value, key)
    // Token ids, as `prompt` and `input` may hold them.
    else if (typeof value === 'number') this.#others += 1
    else if (Array.isArray(value)) for (const item of value) this.add(item, key)
    else if (typeof value === 'object' && value !== null)
      for (const [name, item] of Object.entries(value))
        if (!unreadKeys.has(name) && typeof item !== 'boolean') this.add(item, name)
  }

  #addString(text: string, key: string): void {
    if (text.startsWith('data:text/'))
      return this.#texts.add(Buffer.from(text.slice(text.indexOf(',') + 1), 'base64').toString('utf8'))
    const offset = base64Offset(text.slice(0, fileCharactersMin), text.length)
    if (offset >= 0) this.#others += fileTokens(text.slice(offset))
    else if (addressKeys.has(key)) this.#others += imageTokens(undefined)
    else this.#texts.add(text)
  }
}

/** Longer runs without a space are data, not words. */
const fileCharactersMin = 256
const base64Head = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Where in a string of `length` the base64 of a file begins, by the first 256 characters; -1 = it is a text. */
function base64Offset(start: string, length: number): number {
  if (start.startsWith('data:')) return start.indexOf(',') + 1
  return length >= fileCharactersMin && base64Head.test(start) ? 0 : -1
}

/** Base64 in the bytes of a body; not copied as a whole. */
class Base64Bytes {
  readonly length: number
  readonly #buffer: Buffer
  readonly #start: number

  constructor(buffer: Buffer, start: number, end: number) {
    this.#buffer = buffer
    this.#start = start
    this.length = end - start
  }

  slice(from = 0, to = this.length): string {
    return this.#buffer.toString('latin1', this.#start + from, this.#start + Math.min(to, this.length))
  }
}

/** Strings of a body that was checked before: those without a space are files, all else is text. */
function scannedTokens({ bytes, longStrings }: JsonBody): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let fileBytes = 0
  let tokens = 0
  let long = 0
  for (let start = buffer.indexOf(quote); start >= 0; ) {
    const isLong = longStrings[long] === start
    const end = isLong ? longStrings[long + 1]! : stringEnd(buffer, start)
    if (isLong) long += 2
    if (end < 0) break
    if (end - start > fileCharactersMin) {
      const text = new Base64Bytes(buffer, start + 1, end)
      const offset = base64Offset(text.slice(0, fileCharactersMin), text.length)
      if (offset >= 0) {
        fileBytes += end - start
        tokens += fileTokens(new Base64Bytes(buffer, start + 1 + offset, end))
      }
    }
    start = buffer.indexOf(quote, end + 1)
  }
  return tokens + Math.ceil((buffer.length - fileBytes) / bytesPerToken)
}

/** Offset of the quote that closes the string opened at `start`; -1 = none does. */
function stringEnd(buffer: Buffer, start: number): number {
  let end = buffer.indexOf(quote, start + 1)
  while (end > 0) {
    let slashes = 0
    while (buffer[end - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return end
    end = buffer.indexOf(quote, end + 1)
  }
  return -1
}
