/**
 * Recognizes the chunks of a stream that differ from an earlier one, which was parsed, only in the text that they add.
 * They need not be parsed again. Of a long answer that is nearly every chunk.
 */
import { backslash, colon, quote } from '../../lib/json/json-bytes.ts'

/** An event around its texts. */
interface Parts {
  readonly before: string
  /** Up to the second text, or to the end where there is only one. */
  readonly between: string
  /** Undefined = there is only one text. */
  readonly after: string | undefined
}

const space = 32

/**
 * Texts that may differ are those of one field with content and of `obfuscation`, by which OpenAI hides the lengths of
 * tokens (platform.openai.com, "Streaming events", `include_obfuscation`). They match as long as they have no escapes.
 */
export class ChunkTemplate {
  #event: Parts | undefined
  #shown: Parts | undefined

  /**
   * `event` was parsed, adds the text of `field` and nothing else, and goes to the client as `shown`. An event in which
   * the fields cannot be found beyond doubt is not learned, and the one before it is forgotten.
   */
  learn(event: string, shown: string, field: string): void {
    this.#event = event.includes('\\') ? undefined : partsOf(event, field)
    this.#shown = this.#event && (shown === event ? this.#event : partsOf(shown, field))
  }

  forget(): void {
    this.#event = undefined
  }

  /** Where the text begins in each event that matches. */
  get textStart(): number {
    return this.#event?.before.length ?? 0
  }

  /** Bytes of the text that `event`, read as Latin-1, adds; 0 = it has none, or differs elsewhere. */
  match(event: string): number {
    const parts = this.#event
    if (!parts || !this.#shown || !event.startsWith(parts.before)) return 0
    const from = parts.before.length
    const to = plainEnd(event, from)
    return isRest(event, to, parts) ? to - from : 0
  }

  /** What goes to the client for an event that has matched with so many bytes. */
  shownFor(event: string, bytes: number): string {
    const given = this.#event!
    const shown = this.#shown!
    if (given === shown) return event
    const from = given.before.length
    const to = from + bytes
    const start = shown.before + event.slice(from, to) + shown.between
    if (given.after === undefined) return start
    return start + event.slice(to + given.between.length, event.length - given.after.length) + shown.after!
  }
}

/** Whether the first text, which ends at `at`, is followed by what `parts` say. */
function isRest(event: string, at: number, { between, after }: Parts): boolean {
  if (!event.startsWith(between, at)) return false
  if (after === undefined) return at + between.length === event.length
  const to = plainEnd(event, at + between.length)
  return to + after.length === event.length && event.startsWith(after, to)
}

/** Where the text that begins at `from` ends: at its quote, or at what JSON does not take as it is. */
function plainEnd(event: string, from: number): number {
  let at = from
  for (; at < event.length; at++) {
    const code = event.charCodeAt(at)
    if (code === quote || code === backslash || code < space) break
  }
  return at
}

/** Undefined = `field` does not stand in `event` exactly once, or comes after the obfuscation. */
function partsOf(event: string, field: string): Parts | undefined {
  const from = textStart(event, field)
  if (from < 0) return undefined
  const to = event.indexOf('"', from)
  const before = event.slice(0, from)
  const hidden = textStart(event, 'obfuscation')
  if (hidden < 0) return { before, between: event.slice(to), after: undefined }
  if (hidden < to) return undefined
  return { before, between: event.slice(to, hidden), after: event.slice(event.indexOf('"', hidden)) }
}

/**
 * Where the text of the field begins; -1 = the event does not have the field exactly once, or not with a text. In JSON
 * without a backslash its name in quotes and a colon are nothing else.
 */
function textStart(event: string, field: string): number {
  const name = `"${field}"`
  const at = event.indexOf(name)
  if (at < 0 || event.includes(name, at + 1)) return -1
  let from = at + name.length
  if (event.charCodeAt(from++) !== colon) return -1
  if (event.charCodeAt(from) === space) from++
  return event.charCodeAt(from) === quote ? from + 1 : -1
}
