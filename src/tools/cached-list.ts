/** A list of a server, as it gave it last: kept for as long as it says, asked for again behind the requests. */
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type { Clock } from '../lib/clock.ts'

/** The list of a server, and what it is worth. */
export interface KnownList<Item> {
  readonly items: readonly Item[]
  readonly state: 'listed' | 'stale' | 'failed'
  /** Of a list that is not `listed`. */
  readonly error?: GatewayError
}

/** What a server gives; `ttlMs` undefined = it does not say how long the list holds. */
export interface GivenList<Item> {
  readonly items: readonly Item[]
  readonly ttlMs?: number | undefined
}

/** An expired list is waited for only so long: there is one to go on with. */
const refreshWaitMs = 150
/** One that is "immediately stale" still answers the requests that waited for it. */
const ttlMsMin = 50
/** A day: what a server may ask for at most. */
const ttlMsMax = 86_400_000
const itemsMax = 5000

interface ListParts<Item> {
  readonly server: ToolServerSettings
  readonly clock: Pick<Clock, 'monotonicMs'>
  load(): Promise<GivenList<Item>>
  /** A list has come. */
  loaded?(items: readonly Item[]): void
}

/** Loads once at a time. */
export class CachedList<Item> {
  readonly #parts: ListParts<Item>
  #items: readonly Item[] | undefined
  #untilMs = 0
  #loading: Promise<void> | undefined
  #error: GatewayError | undefined

  constructor(parts: ListParts<Item>) {
    this.#parts = parts
  }

  /** The server says that it has changed. */
  expire(): void {
    this.#untilMs = 0
  }

  /** Waits `waitMs` at most where nothing is known, and moments where there is a list of before. Never rejects. */
  async get(waitMs: number): Promise<KnownList<Item>> {
    const { server, clock } = this.#parts
    if (this.#items && clock.monotonicMs() < this.#untilMs) return { items: this.#items, state: 'listed' }
    this.#loading ??= this.#load()
    await within(this.#loading, this.#items ? Math.min(refreshWaitMs, waitMs) : waitMs)
    if (this.#items && clock.monotonicMs() < this.#untilMs) return { items: this.#items, state: 'listed' }
    const error = this.#error ?? tooSlow(server, waitMs)
    return this.#items ? { items: this.#items, state: 'stale', error } : { items: [], state: 'failed', error }
  }

  async #load(): Promise<void> {
    const { server, clock, loaded } = this.#parts
    try {
      const { items, ttlMs = server.listTtlMs } = await this.#parts.load()
      if (items.length > itemsMax)
        throw new GatewayError('upstream-broken', `the tool server '${server.name}': it lists more than ${itemsMax}`)
      this.#items = items
      loaded?.(items)
      this.#error = undefined
      this.#untilMs = clock.monotonicMs() + Math.min(Math.max(ttlMs, ttlMsMin), ttlMsMax)
    } catch (thrown) {
      this.#error = toGatewayError(thrown)
    } finally {
      this.#loading = undefined
    }
  }
}

const tooSlow = (server: ToolServerSettings, waitMs: number) =>
  new GatewayError(
    'upstream-timeout',
    `the tool server '${server.name}': it has not given its list within ${waitMs / 1000} s`,
  )

function within(promise: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>(resolve => (timer = setTimeout(resolve, ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
