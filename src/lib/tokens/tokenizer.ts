/**
 * Counts and decodes with OpenAI's own vocabularies, on a thread of its own: reading one takes 0.4 s and 0.1 GB, and
 * some texts take seconds. The thread starts with the first request and ends after a while without one.
 */
import type { ByteCounts } from './byte-classes.ts'
import { FairQueue } from '../fair-queue.ts'
import { workerUrl } from '../program-files.ts'

/** A vocabulary, by tiktoken's name. */
export type Encoding = 'o200k_base' | 'cl100k_base'

/** To the thread, which gets the next one only after its reply. */
export type TokenizerRequest =
  | { readonly kind: 'count'; readonly encoding: Encoding; readonly texts: readonly string[] }
  | { readonly kind: 'measure'; readonly encodings: readonly Encoding[]; readonly texts: readonly string[] }
  | {
      readonly kind: 'decode'
      readonly encoding: Encoding
      readonly inputs: readonly (readonly number[])[]
      /** Of all texts together, in UTF-16 units. */
      readonly charactersMax: number
    }

/** The texts of token ids, or why there are none. */
export type Decoding =
  | { readonly kind: 'decoded'; readonly texts: readonly string[] }
  /** `id` is not in the vocabulary: entry `at` of `inputs[input]`. */
  | { readonly kind: 'unknown-id'; readonly input: number; readonly at: number; readonly id: number }
  | { readonly kind: 'too-long'; readonly charactersMax: number }

/** How long texts are together. */
export interface Measure {
  /** By each vocabulary that was asked for, a few more where long runs without white space were counted in parts. */
  readonly tokens: Readonly<Partial<Record<Encoding, number>>>
  readonly bytes: ByteCounts
}

type TokenizerResult =
  | { readonly kind: 'counted'; readonly counts: readonly number[] }
  | ({ readonly kind: 'measured' } & Measure)
  | Decoding

/** From the thread: `loaded`, then the result, in the order of the request. Both for every request. */
export type TokenizerReply = { readonly kind: 'loaded' } | TokenizerResult

/**
 * Names of models by vocabulary, as OpenAI publishes them (github.com/openai/tiktoken, tiktoken/model.py). The first
 * match counts; other vendors' vocabularies are not public, or not within reach.
 */
const families: readonly { readonly pattern: RegExp; readonly encoding: Encoding }[] = [
  {
    pattern: /^(gpt-4o|gpt-4\.[15]|gpt-([5-9]|oss)|chatgpt-|chat-latest|o\d(-|$)|codex-mini|computer-use-preview)/,
    encoding: 'o200k_base',
  },
  { pattern: /^(gpt-4|gpt-3\.5|gpt-35)(-|$)/, encoding: 'cl100k_base' },
  { pattern: /^(text-embedding-(3-(small|large)|ada-002)|davinci-002|babbage-002)$/, encoding: 'cl100k_base' },
]

/** By model name, also with an organisation (`openai/gpt-5`) or fine-tuned (`ft:gpt-4o:...`); undefined = unknown. */
export function encodingOf(model: string): Encoding | undefined {
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^ft:/, '')
    .split(':')[0]!
  return families.find(({ pattern }) => pattern.test(name))?.encoding
}

/** Each has a default; characters are UTF-16 units. */
interface TokenizerOptions {
  /** How long the thread waits for more before it ends. */
  readonly idleMs?: number
  /** For one request, once the vocabulary is there: some texts take time by the square of their length. */
  readonly countMs?: number
  readonly loadMs?: number
  /** Texts of one request together, also those decoded. */
  readonly charactersMax?: number
  /** Requests that wait for the thread, shared fairly by their owners. */
  readonly waitingMax?: number
}

interface QueuedRequest {
  readonly request: TokenizerRequest
  /** The one who asked waits no longer: there is no need to begin. */
  isLate?: boolean
  answer(done: TokenizerResult | undefined): void
}

const defaults: Required<TokenizerOptions> = {
  idleMs: 60_000,
  countMs: 2000,
  loadMs: 30_000,
  charactersMax: 4 * 1024 * 1024,
  waitingMax: 32,
}

/**
 * Requests are worked off one after the other, of each owner in turn. Costs nothing before the first; idle, it keeps
 * no process alive.
 */
export class Tokenizer {
  readonly #limits: Required<TokenizerOptions>
  readonly #waiting: FairQueue<QueuedRequest>
  #worker: Worker | undefined
  #current: QueuedRequest | undefined
  /** Ends the thread: it idles, or works for too long. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  constructor(options: TokenizerOptions = {}) {
    this.#limits = { ...defaults, ...options }
    this.#waiting = new FairQueue(this.#limits.waitingMax)
  }

  /** Holds memory at the moment. */
  get loaded(): boolean {
    return this.#worker !== undefined
  }

  /**
   * Tokens of each text; undefined = they are too long, take too long, or too many wait. `owner` = the id of the key
   * that asks.
   */
  async count(encoding: Encoding, texts: readonly string[], owner: string): Promise<readonly number[] | undefined> {
    const characters = texts.reduce((sum, text) => sum + text.length, 0)
    if (characters > this.#limits.charactersMax) return undefined
    const done = await this.#ask({ kind: 'count', encoding, texts }, owner)
    return done?.kind === 'counted' ? done.counts : undefined
  }

  /**
   * The text of each list of ids; bytes that are no UTF-8 become U+FFFD. undefined = it takes too long, or too many
   * wait. `owner` as of `count`.
   */
  async decode(
    encoding: Encoding,
    inputs: readonly (readonly number[])[],
    owner: string,
  ): Promise<Decoding | undefined> {
    const { charactersMax } = this.#limits
    const done = await this.#ask({ kind: 'decode', encoding, inputs, charactersMax }, owner)
    return done?.kind === 'counted' || done?.kind === 'measured' ? undefined : done
  }

  /**
   * undefined = they are too long, take longer than `waitMs` with the wait for the thread, or too many wait. `owner` as
   * of `count`.
   */
  async measure(
    encodings: readonly Encoding[],
    texts: readonly string[],
    { owner, waitMs }: { readonly owner: string; readonly waitMs: number },
  ): Promise<Measure | undefined> {
    const characters = texts.reduce((sum, text) => sum + text.length, 0)
    if (characters > this.#limits.charactersMax) return undefined
    const done = await this.#ask({ kind: 'measure', encodings, texts }, owner, waitMs)
    return done?.kind === 'measured' ? done : undefined
  }

  #ask(request: TokenizerRequest, owner: string, waitMs?: number): Promise<TokenizerResult | undefined> {
    if (this.#stopped) return Promise.resolve(undefined)
    return new Promise(resolve => {
      const queued: QueuedRequest = { request, answer: resolve }
      if (waitMs !== undefined) {
        const timer = setTimeout(() => {
          queued.isLate = true
          resolve(undefined)
        }, waitMs)
        queued.answer = done => {
          clearTimeout(timer)
          resolve(done)
        }
      }
      if (!this.#waiting.add(owner, queued)) return queued.answer(undefined)
      if (!this.#current) this.#next()
    })
  }

  /** Nothing is counted or decoded any more. */
  stop(): void {
    this.#stopped = true
    for (let one = this.#waiting.take(); one; one = this.#waiting.take()) one.answer(undefined)
    this.#end()
  }

  #next(): void {
    do this.#current = this.#waiting.take()
    while (this.#current?.isLate)
    if (!this.#current) return this.#endAfter(this.#limits.idleMs)
    this.#worker ??= this.#start()
    this.#endAfter(this.#limits.loadMs)
    this.#worker.postMessage(this.#current.request)
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('tokenizer-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<TokenizerReply>) => {
      if (worker !== this.#worker) return
      if (data.kind === 'loaded') this.#endAfter(this.#limits.countMs)
      else this.#answer(data)
    }
    worker.addEventListener('close', () => {
      if (worker === this.#worker) this.#end()
    })
    worker.onerror = () => {
      if (worker === this.#worker) this.#end()
    }
    // The DOM's type of Worker, which the checker takes, does not know Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    return worker
  }

  #answer(done: TokenizerResult | undefined): void {
    const answered = this.#current
    this.#current = undefined
    answered?.answer(done)
    this.#next()
  }

  #endAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = this.#worker && setTimeout(() => this.#end(), ms)
    // An idle thread does not keep the process alive.
    if (!this.#current) this.#timer?.unref()
  }

  /** Ends the thread; the request under way gets no result. */
  #end(): void {
    clearTimeout(this.#timer)
    const worker = this.#worker
    this.#worker = undefined
    worker?.terminate()
    if (this.#current) this.#answer(undefined)
  }
}
