/** Calls for embeddings, answered input by input: from kept embeddings, and by asking for the others alone. */
import type { Reply } from '../core/answer.ts'
import type { CacheSettings, SharedAnswers } from '../core/cache/cache-settings.ts'
import type { Settlement } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { requestOnly, cachedReply, mergedReply, shares, vectorOf, vectorsOf, weightOf } from './embedding-inputs.ts'
import type { RequestedInputs, CachedVector } from './embedding-inputs.ts'
import { decodeAnswer, encodeAnswer, sizeOf } from './entry.ts'
import type { CachedAnswer, CachedContent } from './entry.ts'
import { Flight } from './flight.ts'
import type { MemoryAnswers } from './memory-answers.ts'
import { markHit, pollMs, ttlOf, lacksVerdict } from './cache-call.ts'
import type { LeaderOptions, CacheCall } from './cache-call.ts'

/** What it needs of the cache. */
export interface EmbeddingHost {
  readonly memory: MemoryAnswers
  /** By key: calls whose answers are being made. */
  readonly flights: Map<string, Flight>
  epochMs(): number
  shared(settings: CacheSettings): SharedAnswers | undefined
  follow(cacheCall: CacheCall, flight: Flight): Promise<Reply | undefined>
  lead(cacheCall: CacheCall, flight: Flight, leaderOptions: LeaderOptions): undefined
  drop(key: string, flight: Flight): undefined
}

/** Answers embeddings from the cache input by input; one object for all calls. */
export class EmbeddingAnswers {
  readonly #host: EmbeddingHost

  constructor(host: EmbeddingHost) {
    this.#host = host
  }

  take(cacheCall: CacheCall, inputs: RequestedInputs): undefined | Reply | Promise<undefined | Reply> {
    const { call, key, settings, controls } = cacheCall
    call.responseHeaders[`${call.models.settings.headerPrefix}-cache-key`] = key
    const shared = this.#host.shared(settings)
    const none = new Map<string, CachedAnswer>()
    const leaderOptions = { shared, owner: '', inputs }
    if (controls.noCache) return this.#leadInputs(cacheCall, new Flight(settings.answerBytesMax), none, leaderOptions)
    if (shared) return this.#askInputs(cacheCall, shared, inputs)
    const known = this.#fresh(
      cacheCall,
      [...inputs.inputs.keys()].map(one => [one, this.#host.memory.get(one)]),
    )
    const hit = this.#inputsHit(cacheCall, inputs, known)
    if (hit) return hit
    const flight = this.#host.flights.get(key)
    if (flight && !flight.isClosed) return this.#host.follow(cacheCall, flight)
    return this.#leadInputs(cacheCall, this.#begin(cacheCall), known, leaderOptions)
  }

  /** Until all inputs are known, or there is the right to ask for the others, or no store. */
  async #askInputs(cacheCall: CacheCall, shared: SharedAnswers, inputs: RequestedInputs): Promise<Reply | undefined> {
    const { call, key } = cacheCall
    const before = this.#host.flights.get(key)
    if (before && !before.isClosed) return this.#host.follow(cacheCall, before)
    const flight = this.#begin(cacheCall)
    const keys = [...inputs.inputs.keys()]
    for (let owner = ''; ; ) {
      const texts = (await shared.readMany(keys)) ?? []
      const known = this.#fresh(
        cacheCall,
        keys.map((one, at) => [one, texts[at] ? decodeAnswer(texts[at]) : undefined]),
      )
      const hit = this.#inputsHit(cacheCall, inputs, known)
      if (hit || call.client.left) {
        if (owner !== '') void shared.release(key, owner)
        // Calls that follow this one find the kept embeddings, or ask the upstream themselves.
        this.#host.drop(key, flight)
        return hit
      }
      if (owner !== '' || cacheCall.controls.noStore)
        return this.#leadInputs(cacheCall, flight, known, { shared, owner, inputs })
      const found = await shared.ask(key, call.id)
      if (!found) return this.#leadInputs(cacheCall, flight, known, { shared, owner: '', inputs })
      // Whether the one before has kept its answer in the meantime is seen by reading again.
      if (found.state === 'leads') owner = call.id
      else if (found.state === 'made-elsewhere') await Bun.sleep(pollMs)
      else return this.#leadInputs(cacheCall, flight, known, { shared, owner: '', inputs })
    }
  }

  #begin({ key, settings, controls }: CacheCall): Flight {
    const flight = new Flight(settings.answerBytesMax)
    if (!controls.noStore) this.#host.flights.set(key, flight)
    return flight
  }

  /** Those that are embeddings, and not older than the call allows. */
  #fresh(
    { controls }: CacheCall,
    found: readonly (readonly [string, CachedAnswer | undefined])[],
  ): ReadonlyMap<string, CachedAnswer> {
    const nowMs = this.#host.epochMs()
    const oldestMs = controls.ageMaxMs === undefined ? -1 : nowMs - controls.ageMaxMs
    const known = new Map<string, CachedAnswer>()
    for (const [key, answer] of found)
      if (answer && vectorOf(answer) && answer.storedAtMs > oldestMs && answer.endMs > nowMs) known.set(key, answer)
    return known
  }

  #inputsHit(
    cacheCall: CacheCall,
    inputs: RequestedInputs,
    known: ReadonlyMap<string, CachedAnswer>,
  ): Reply | undefined {
    if (known.size < inputs.inputs.size) return undefined
    const { call } = cacheCall
    call.cacheHit = 'exact'
    call.savedNanoUsd = costOf(known.values())
    const storedAtMs = Math.min(...[...known.values()].map(one => one.storedAtMs))
    markHit(call, Math.max(this.#host.epochMs() - storedAtMs, 0))
    return cachedReply(call, inputs, vectorsIn(known))
  }

  /** Asks for the inputs that are not known; the client gets the whole list. */
  #leadInputs(
    cacheCall: CacheCall,
    flight: Flight,
    known: ReadonlyMap<string, CachedAnswer>,
    leaderOptions: InputsLeaderOptions,
  ): undefined {
    const { call } = cacheCall
    const { inputs } = leaderOptions
    // A fallback is another model: its embeddings do not belong beside kept ones.
    const hasFallbacks = [call.fallbacksInOrder, call.contextWindowFallbacks, call.contentPolicyFallbacks].some(
      ({ length }) => length > 0,
    )
    const missing = hasFallbacks
      ? inputs.keys.map(key => [key, inputs.inputs.get(key)!] as const)
      : [...inputs.inputs].filter(([key]) => !known.has(key))
    const isPart = missing.length < inputs.keys.length
    if (isPart) {
      requestOnly(
        call,
        inputs,
        missing.map(([, input]) => input),
      )
      call.savedNanoUsd = costOf(known.values())
      call.responseHeaders[`${call.models.settings.headerPrefix}-cached-inputs`] = String(known.size)
    }
    let made: ReadonlyMap<string, CachedVector> = new Map()
    return this.#host.lead(cacheCall, flight, {
      ...leaderOptions,
      reshape: reply => {
        const read = vectorsOf(reply, inputs, missing)
        if (read) made = read.vectors
        if (!isPart) return reply
        if (read) return mergedReply(reply, read.about, inputs, new Map([...vectorsIn(known), ...made]))
        throw new GatewayError('upstream-broken', 'the upstream did not answer with one embedding for each input')
      },
      keep: settlement => this.#keepInputs(cacheCall, leaderOptions, made, settlement),
    })
  }

  #keepInputs(
    cacheCall: CacheCall,
    { shared, inputs }: InputsLeaderOptions,
    made: ReadonlyMap<string, CachedVector>,
    { call, costNanoUsd }: Settlement,
  ): Promise<void> | undefined {
    const { settings, controls } = cacheCall
    if (controls.noStore || call.progress.fallbacks > 0 || lacksVerdict(call) || made.size === 0) return undefined
    const weights = [...made.keys()].map(key => weightOf(inputs.inputs.get(key)!))
    const costs = costNanoUsd === null ? undefined : shares(costNanoUsd, weights)
    const entries = [...made].map(([key, vector], at) => ({
      key,
      answer: this.#entry(cacheCall, { kind: 'vector', ...vector }, costs?.[at] ?? null),
    }))
    if (inputs.keys.length > 1)
      entries.push({
        key: inputs.key,
        answer: this.#entry(cacheCall, { kind: 'keys', keys: [...inputs.inputs.keys()] }, 0n),
      })
    if (shared) {
      const texts = entries.map(({ key, answer }) => ({ key, text: encodeAnswer(answer) }))
      return shared.keepMany(texts, ttlOf(cacheCall))
    }
    for (const { key, answer } of entries) this.#host.memory.set(key, answer, settings.memoryBytesMax)
    return undefined
  }

  #entry(cacheCall: CacheCall, content: CachedContent, costNanoUsd: bigint | null): CachedAnswer {
    const storedAtMs = this.#host.epochMs()
    return { content, storedAtMs, endMs: storedAtMs + ttlOf(cacheCall), costNanoUsd, bytes: sizeOf(content) }
  }
}

interface InputsLeaderOptions extends Pick<LeaderOptions, 'shared' | 'owner'> {
  readonly inputs: RequestedInputs
}

const vectorsIn = (known: ReadonlyMap<string, CachedAnswer>): Map<string, CachedVector> =>
  new Map([...known].map(([key, answer]) => [key, vectorOf(answer)!]))

/** null = not known of one of them. */
function costOf(answers: Iterable<CachedAnswer>): bigint | null {
  let sum = 0n
  for (const { costNanoUsd } of answers) {
    if (costNanoUsd === null) return null
    sum += costNanoUsd
  }
  return sum
}
