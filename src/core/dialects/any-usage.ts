/** What an answer of a vendor used, found by the answer's own shape: for answers that nothing else here reads. */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { parsedObject } from '../../lib/json/json-values.ts'
import { SseSplitter } from '../../lib/sse.ts'
import { mergeAnthropicUsage, readAnthropicUsage } from '../usage/anthropic-usage.ts'
import { readGeminiUsage } from '../usage/gemini-usage.ts'
import { readOpenaiUsage } from '../usage/openai-usage.ts'
import { readResponsesUsage } from '../usage/responses-usage.ts'
import type { Usage } from '../usage/usage.ts'

/** A larger answer is not read. */
const bytesMax = 8 * 1024 * 1024

/** Reads a body while it passes. */
export class UsageFinder {
  readonly #events: SseSplitter | undefined
  #pieces: Uint8Array[] = []
  #bytes = 0
  #message: Json = {}
  #usage: Usage | undefined
  /** The vendor's name of the model that answered; undefined = not said. */
  model: string | undefined

  /** `contentType` = that of the answer. */
  constructor(contentType: string) {
    this.#events = /^text\/event-stream\b/i.test(contentType) ? new SseSplitter(bytesMax) : undefined
    if (!this.#events && !/\bjson\b/i.test(contentType)) this.#bytes = Infinity
  }

  push(bytes: Uint8Array): void {
    if (this.#bytes === Infinity) return
    if (!this.#events) {
      this.#bytes += bytes.length
      if (this.#bytes > bytesMax) this.#giveUp()
      else this.#pieces.push(bytes)
      return
    }
    try {
      for (const { data } of this.#events.push(bytes)) this.#read(parsedObject(data))
    } catch {
      this.#giveUp()
    }
  }

  /** At the end of the body; undefined = its shape is not known, or it says nothing. */
  usage(): Usage | undefined {
    if (this.#bytes === Infinity) return undefined
    if (!this.#events) this.#read(parsedObject(Buffer.concat(this.#pieces).toString('utf8')))
    return this.#usage
  }

  #giveUp(): void {
    this.#bytes = Infinity
    this.#pieces = []
  }

  #read(value: Json | undefined): void {
    if (!value) return
    // Events of a stream hold the answer, or a part of it, under one of these.
    const whole = isObject(value.message) ? value.message : isObject(value.response) ? value.response : value
    const model = whole.model ?? whole.modelVersion
    if (typeof model === 'string') this.model = model
    this.#usage = this.#usageOf(whole) ?? this.#usage
  }

  #usageOf(whole: Json): Usage | undefined {
    if (isObject(whole.usageMetadata)) return readGeminiUsage(whole)
    const { usage } = whole
    if (!isObject(usage)) return undefined
    if ('prompt_tokens' in usage) return readOpenaiUsage(usage, whole.service_tier)
    if (whole.object === 'response') return readResponsesUsage(name => whole[name])
    this.#message = mergeAnthropicUsage(this.#message, usage)
    return readAnthropicUsage(this.#message)
  }
}
