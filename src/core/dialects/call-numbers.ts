/** To which tool call of an answer in OpenAI's dialect a piece of it belongs, and under which id clients get it. */
import type { Json } from '../../lib/json/json-values.ts'
import { textOf } from '../../lib/json/json-values.ts'
import { readCallId } from './call-signature.ts'

/** OpenAI's Responses, Bedrock and clients that keep ids in columns take no more; a signed id is one of Gemini's. */
const idLengthMax = 64
/** What headers, logs and Anthropic's clients take as well. */
const plainId = /^[\x21-\x7e]+$/

/** A call of a choice. */
export interface NumberedCall {
  /** From 0, in the order of their beginnings. */
  readonly number: number
  /** As clients get it: the upstream's own where they can read it, else one that was made here. */
  readonly id: string
}

interface KnownCall extends NumberedCall {
  /** By which the upstream names it again; where it has named none, the id that was made here. */
  readonly upstreamId: string
}

interface ReadCall {
  readonly call: NumberedCall
  readonly begins: boolean
  /** The upstream does not number its calls: those before are over when another begins. */
  readonly endsOthers: boolean
}

/**
 * Numbers the tool calls of one choice, also for hosts that leave out `index` or `id`, or reuse an index. Clients find
 * the result of a call by its id: one that is missing, empty, no text, given twice, longer than 64 characters or not of
 * printable ASCII is replaced.
 */
export class CallNumbers {
  /** By the upstream's index: the last call with it. */
  readonly #byIndex = new Map<number, KnownCall>()
  readonly #ids = new Set<string>()
  #count = 0

  get seen(): boolean {
    return this.#count > 0
  }

  /** The call that this entry of `tool_calls` begins or carries on. */
  read(entry: Json, called: Json): ReadCall {
    const id = textOf(entry.id)
    const name = textOf(called.name)
    const hasIndex = typeof entry.index === 'number'
    const index = hasIndex ? (entry.index as number) : id || name ? this.#count : Math.max(this.#count - 1, 0)
    const known = this.#byIndex.get(index)
    const isAnother = known !== undefined && id !== '' && id !== known.upstreamId && name !== ''
    if (known && !isAnother) return { call: known, begins: false, endsOthers: false }
    const shown = this.#isReadable(id) ? id : `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
    this.#ids.add(shown)
    const call: KnownCall = { number: this.#count++, id: shown, upstreamId: id || shown }
    this.#byIndex.set(index, call)
    return { call, begins: true, endsOthers: !hasIndex || isAnother }
  }

  #isReadable(id: string): boolean {
    if (this.#ids.has(id) || !plainId.test(id)) return false
    return id.length <= idLengthMax || readCallId(id).signature !== undefined
  }
}
