/**
 * The body of a request, read without being rewritten: one pass over the bytes finds the top-level
 * fields, refuses bombs, and later lets single fields be replaced while all other bytes stay as sent.
 */
import { exactValueIn } from './exact-json.ts'
import type { ExactNames } from './exact-json.ts'
import { FieldSpans } from './field-spans.ts'
import type { FieldSpan } from './field-spans.ts'
import { jsonFaultAt, utf8FaultAt } from './json-fault.ts'
import { longStringBytes, shortened } from './json-strings.ts'
import type { LongStrings } from './json-strings.ts'
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-bytes.ts'

const shortStringBytes = 48

/** Why a body was refused, with the offset in bytes where it is known; the message is fit for the client. */
export class JsonBodyError extends Error {
  override readonly name = 'JsonBodyError'
  readonly reason: string
  readonly offset: number | undefined

  constructor(reason: string, offset: number | undefined) {
    super(offset === undefined ? reason : `${reason} (at byte ${offset})`)
    this.reason = reason
    this.offset = offset
  }
}

/** What a body may have; one that has more is refused. */
interface JsonLimits {
  /** Nested objects and arrays. */
  readonly depth: number
  /** Top-level fields: the largest known request has about 50. */
  readonly fields: number
  /** Braces, brackets, commas and colons together: what parsing costs memory for. */
  readonly tokens: number
}

/**
 * Above any real request, far below what stalls the process. Embeddings of token ids come nearest: 300,000 in at most
 * 2,048 lists (OpenAI's limits, API reference, 2026-11).
 */
const defaultJsonLimits: JsonLimits = { depth: 64, fields: 1000, tokens: 320_000 }

/** Above this size a body is never parsed or written anew as a whole by the forward lane: only its shape is. */
const parseWholeBytesMax = 256 * 1024

/** What `mentions` searches of each long string. */
const beginningBytes = 64

/** A name that stands twice in one object. */
export interface RepeatedName {
  readonly name: string
  /** Bytes, to its second place. */
  readonly offset: number
}

/** A change to the top level of the body. `json` is ready JSON text. */
export type Edit = { readonly set: string; readonly json: string } | { readonly remove: string }

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** Keeps a reference to the bytes it was read from and never changes them; they must not change while it is used. */
export class JsonBody {
  readonly bytes: Uint8Array
  /** Bytes. */
  readonly size: number
  /** Strings of more than 4096 bytes, in their order. */
  readonly longStrings: LongStrings
  readonly #spans: FieldSpans
  /** Offset of the closing brace. */
  readonly #end: number
  /** Where `bytes` begin in what was sent. */
  readonly #start: number
  #whole: Record<string, unknown> | undefined
  #shape: Record<string, unknown> | undefined
  /** null = it was looked for, and there is none. */
  #repeated: RepeatedName | null | undefined

  private constructor(bytes: Uint8Array, { spans, end, longStrings }: Outline, start: number) {
    this.bytes = bytes
    this.size = bytes.length
    this.#spans = spans
    this.#end = end
    this.longStrings = longStrings
    this.#start = start
  }

  /** Reads an object's outline. Throws JsonBodyError when the bytes are not one JSON object within the limits. */
  static read(sent: Uint8Array, limits: JsonLimits = defaultJsonLimits): JsonBody {
    const start = markLength(sent)
    const bytes = start === 0 ? sent : sent.subarray(start)
    const found = start === 0 ? outline(bytes, limits) : placed(start, () => outline(bytes, limits))
    const body = new JsonBody(bytes, found, start)
    // Every syntax error is found now. A small body is parsed for that, which costs a microsecond.
    if (bytes.length <= parseWholeBytesMax) body.parse()
    else body.#shape = body.#readShape()
    return body
  }

  /**
   * The whole object to look at, where strings of more than 4096 bytes may be cut there: enough for every check of
   * types and known values. Of a large body it is not kept for a second look.
   */
  shape(): Record<string, unknown> {
    if (this.#whole) return this.#whole
    const shape = this.#shape ?? this.#readShape()
    this.#shape = undefined
    return shape
  }

  /** Throws as `parse`, in as much time as the long strings need to be searched for what JSON forbids. */
  #readShape(): Record<string, unknown> {
    const text = shortened(asBuffer(this.bytes), this.longStrings)
    if (text !== undefined)
      try {
        return JSON.parse(text) as Record<string, unknown>
      } catch {
        // The whole is parsed, for the place of the error.
      }
    return this.parse()
  }

  has(field: string): boolean {
    return this.#spans.has(field)
  }

  /** Of the top-level fields, in their order. */
  names(): readonly string[] {
    return this.#spans.names
  }

  /** Bytes of a field's value; 0 when it is absent. */
  sizeOf(field: string): number {
    const span = this.#spans.get(field)
    return span ? span.valueEnd - span.valueStart : 0
  }

  /** The first bytes of a field's value, each as a character, to find its kind without parsing it; '' = absent. */
  beginningOf(field: string, bytes: number): string {
    const span = this.#spans.get(field)
    return span
      ? asBuffer(this.bytes).toString('latin1', span.valueStart, Math.min(span.valueStart + bytes, span.valueEnd))
      : ''
  }

  /** A field's value; undefined when it is absent. In a large body only this field is parsed. */
  get(field: string): unknown {
    if (this.#whole) return Object.hasOwn(this.#whole, field) ? this.#whole[field] : undefined
    const span = this.#spans.get(field)
    return span && parseText(this.bytes.subarray(span.valueStart, span.valueEnd), this.#start + span.valueStart)
  }

  /** The whole object. Own keys only: `__proto__` arrives as a plain key. */
  parse(): Record<string, unknown> {
    this.#whole ??= parseText(this.bytes, this.#start) as Record<string, unknown>
    return this.#whole
  }

  /**
   * Whether `isFound` says so of a part of the body. Parts are all but what lies behind the first 64 bytes of strings
   * of more than 4096, unless `isSearched` says so of the 16 characters (Latin-1) that one begins with: texts and
   * images are most of a large body, and a search through them is what it costs.
   */
  mentions(isFound: (part: Buffer) => boolean, isSearched: (beginning: string) => boolean): boolean {
    const bytes = asBuffer(this.bytes)
    const strings = this.longStrings
    let from = 0
    for (let next = 0; next < strings.length; next += 2) {
      const start = strings[next]!
      if (isSearched(bytes.toString('latin1', start + 1, start + 17))) continue
      if (isFound(bytes.subarray(from, start + beginningBytes))) return true
      from = strings[next + 1]!
    }
    return isFound(from === 0 ? bytes : bytes.subarray(from))
  }

  /**
   * A field's value where digits or the order of keys inside of one of the `names` would get lost in `get`
   * (`parseExact`); undefined = `get` keeps all of them. The body has passed `parse`.
   */
  exact(field: string, names: ExactNames): unknown {
    const span = this.#spans.get(field)
    if (!span) return undefined
    const place = { bytes: asBuffer(this.bytes), from: span.valueStart, to: span.valueEnd }
    return exactValueIn({ ...place, longStrings: this.longStrings }, names)
  }

  /** The value's bytes, a view of those of the body; undefined = the field is absent. */
  rawBytes(field: string): Uint8Array | undefined {
    const span = this.#spans.get(field)
    return span && this.bytes.subarray(span.valueStart, span.valueEnd)
  }

  /** The value's bytes as they were sent. */
  rawText(field: string): string | undefined {
    const span = this.#spans.get(field)
    return span && decoded(this.bytes.subarray(span.valueStart, span.valueEnd), this.#start + span.valueStart)
  }

  /**
   * A name that an object below the top level has twice; undefined = none has. Parsers differ in which of the two
   * values counts (RFC 8259, 4), so that what is read here need not be what an upstream reads in the same bytes.
   */
  repeatedName(): RepeatedName | undefined {
    if (this.#repeated === undefined) this.#repeated = findRepeatedName(asBuffer(this.bytes), this.#start) ?? null
    return this.#repeated ?? undefined
  }

  /**
   * The body with some top-level fields replaced, added or removed, as pieces to be sent one after
   * another. Untouched bytes are views of the original: a large body is never copied.
   */
  edited(edits: readonly Edit[]): Uint8Array[] {
    if (edits.length === 0) return [this.bytes]
    const cuts: { from: number; to: number; text: string }[] = []
    let added = ''
    const removed = new Set<string>()
    for (const edit of edits) if ('remove' in edit && this.#spans.has(edit.remove)) removed.add(edit.remove)
    const survivors = this.#spans.names.length - removed.size
    for (const edit of edits) {
      if (!('set' in edit)) continue
      const span = this.#spans.get(edit.set)
      if (span) cuts.push({ from: span.valueStart, to: span.valueEnd, text: edit.json })
      else added += `${survivors > 0 || added ? ',' : ''}${JSON.stringify(edit.set)}:${edit.json}`
    }
    for (const name of removed) cuts.push({ ...this.#removal(name, removed), text: '' })
    if (added) cuts.push({ from: this.#end, to: this.#end, text: added })
    return pieces(this.bytes, cuts)
  }

  /** From the key to the next surviving key; the last survivor's comma goes with what follows it. */
  #removal(name: string, removed: ReadonlySet<string>): { from: number; to: number } {
    const order = this.#spans.entries()
    const at = order.findIndex(([key]) => key === name)
    const span = order[at]![1]
    const next = order[at + 1]
    if (next) {
      const hasSurvivorAfter = order.slice(at + 1).some(([key]) => !removed.has(key))
      if (hasSurvivorAfter) return { from: span.keyStart, to: next[1].keyStart }
    }
    // Nothing survives after it: also take the comma before, if something survives there.
    let before = at - 1
    while (before >= 0 && removed.has(order[before]![0])) before--
    const firstOfRun = order[before + 1]![0] === name
    const from = firstOfRun && before >= 0 ? order[before]![1].valueEnd : span.keyStart
    return { from, to: next ? next[1].keyStart : span.valueEnd }
  }
}

const encoder = new TextEncoder()

function pieces(bytes: Uint8Array, cuts: { from: number; to: number; text: string }[]): Uint8Array[] {
  cuts.sort((a, b) => a.from - b.from || a.to - b.to)
  const out: Uint8Array[] = []
  let at = 0
  for (const cut of cuts) {
    if (cut.from > at) out.push(bytes.subarray(at, cut.from))
    if (cut.text) out.push(encoder.encode(cut.text))
    at = Math.max(at, cut.to)
  }
  if (at < bytes.length) out.push(bytes.subarray(at))
  return out
}

/** `from` = where the bytes begin in what was sent. */
function parseText(bytes: Uint8Array, from: number): unknown {
  const text = decoded(bytes, from)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new JsonBodyError(
      `the body is not valid JSON: ${(cause as Error).message}`,
      shifted(jsonFaultAt(bytes), from),
    )
  }
}

function decoded(bytes: Uint8Array, from: number): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new JsonBodyError('the body is not valid UTF-8', shifted(utf8FaultAt(bytes), from))
  }
}

const shifted = (at: number | undefined, from: number): number | undefined => (at === undefined ? undefined : from + at)

/** Offsets count what was sent, a byte order mark too. */
function placed<T>(start: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof JsonBodyError ? new JsonBodyError(error.reason, shifted(error.offset, start)) : error
  }
}

/** 1 for the six bytes that give JSON its structure. */
const isStructural = new Uint8Array(256)
for (const byte of [comma, colon, openBrace, closeBrace, openBracket, closeBracket]) isStructural[byte] = 1

interface Outline {
  readonly spans: FieldSpans
  /** Offset of the closing brace. */
  readonly end: number
  readonly longStrings: LongStrings
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** One pass: structure only. Strings are jumped over with the platform's own search. */
function outline(bytes: Uint8Array, limits: JsonLimits): Outline {
  const buffer = asBuffer(bytes)
  const longStrings: number[] = []
  const spans = new FieldSpans()
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== openBrace) throw new JsonBodyError('the body must be a JSON object', at)
  let depth = 0
  let tokens = 0
  let key = ''
  let keyStart = -1
  let expectKey = true
  let valueStart = -1
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) {
      const end = stringEnd(buffer, at)
      if (end - at > longStringBytes) longStrings.push(at, end)
      if (depth === 1 && expectKey && valueStart < 0) {
        keyStart = at
        key = keyText(buffer, at + 1, end)
      }
      at = end
      continue
    }
    if (isStructural[byte] === 0) continue
    if (++tokens > limits.tokens) throw new JsonBodyError(`the body has more than ${limits.tokens} JSON elements`, at)
    if (byte === openBrace || byte === openBracket) {
      if (++depth > limits.depth) throw new JsonBodyError(`the body is nested deeper than ${limits.depth}`, at)
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 1) {
        if (valueStart >= 0) addField(spans, key, { keyStart, valueStart, valueEnd: trimEnd(bytes, at) }, limits)
        const rest = skipSpace(bytes, at + 1)
        if (byte !== closeBrace || rest < bytes.length) throw new JsonBodyError('the body is not one JSON object', rest)
        return { spans, end: at, longStrings }
      }
      depth--
    } else if (depth === 1) {
      if (byte === colon && valueStart < 0) {
        valueStart = skipSpace(bytes, at + 1)
        expectKey = false
      } else if (byte === comma) {
        if (valueStart >= 0) addField(spans, key, { keyStart, valueStart, valueEnd: trimEnd(bytes, at) }, limits)
        valueStart = -1
        expectKey = true
      }
    }
  }
  throw new JsonBodyError('the body ends in the middle of its JSON', bytes.length)
}

/** `bytes` have passed `outline`; `from` = where they begin in what was sent. */
function findRepeatedName(bytes: Buffer, from: number): RepeatedName | undefined {
  /** Of each object around the place; undefined = it is a list. */
  const names: (Set<string> | undefined)[] = []
  let isName = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) {
      const end = stringEnd(bytes, at)
      if (isName) {
        const known = names.at(-1)!
        const name = keyText(bytes, at + 1, end)
        if (known.has(name)) return { name, offset: from + at }
        known.add(name)
        isName = false
      }
      at = end
    } else if (byte === openBrace) {
      names.push(new Set())
      isName = true
    } else if (byte === openBracket) {
      names.push(undefined)
      isName = false
    } else if (byte === closeBrace || byte === closeBracket) {
      names.pop()
      isName = false
    } else if (byte === comma) isName = names.at(-1) !== undefined
  }
  return undefined
}

function addField(spans: FieldSpans, name: string, span: FieldSpan, limits: JsonLimits): void {
  if (!spans.add(name, span)) throw new JsonBodyError(`the field ${JSON.stringify(name)} is given twice`, span.keyStart)
  if (spans.names.length > limits.fields)
    throw new JsonBodyError(`the body has more than ${limits.fields} top-level fields`, span.keyStart)
}

/** Keys of nearly every request, by their length: no string has to be made for them. */
const usualKeys: string[][] = []
for (const key of [
  'model',
  'messages',
  'stream',
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'top_p',
  'tools',
  'tool_choice',
  'stream_options',
  'response_format',
  'stop',
  'user',
  'seed',
  'n',
  'input',
  'encoding_format',
  'system',
  'metadata',
  'instructions',
  'contents',
])
  (usualKeys[key.length] ??= []).push(key)

function usualKey(buffer: Buffer, start: number, end: number): string | undefined {
  const candidates = usualKeys[end - start]
  if (!candidates) return undefined
  next: for (const key of candidates) {
    for (let at = 0; at < key.length; at++) if (buffer[start + at] !== key.charCodeAt(at)) continue next
    return key
  }
  return undefined
}

/** A key between its quotes. Nearly all are plain ASCII, which needs no parser. */
function keyText(buffer: Buffer, start: number, end: number): string {
  const usual = usualKey(buffer, start, end)
  if (usual !== undefined) return usual
  for (let at = start; at < end; at++) {
    const byte = buffer[at]!
    if (byte === backslash || byte > 126) return parseText(buffer.subarray(start - 1, end + 1), start - 1) as string
  }
  return buffer.toString('latin1', start, end)
}

/** Some Windows programs begin UTF-8 with a byte order mark; JSON has none, and strict upstreams refuse it. */
function markLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

function skipSpace(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9)) at++
  return at
}

function trimEnd(bytes: Uint8Array, end: number): number {
  while (end > 0 && (bytes[end - 1] === 32 || bytes[end - 1] === 10 || bytes[end - 1] === 13 || bytes[end - 1] === 9))
    end--
  return end
}

/** Offset of the quote that closes the string opened at `start`. */
function stringEnd(buffer: Buffer, start: number): number {
  let end = start
  // Most strings are short: a call into the platform's search costs more than looking at a few bytes.
  const near = Math.min(start + shortStringBytes, buffer.length)
  for (let at = start + 1; at < near; at++) {
    const byte = buffer[at]
    if (byte === quote) return at
    if (byte === backslash) at++
    end = at
  }
  if (end >= near) end = near - 1
  for (;;) {
    end = buffer.indexOf(quote, end + 1)
    if (end < 0) throw new JsonBodyError('a string of the body is not closed', start)
    let slashes = 0
    while (buffer[end - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
}
