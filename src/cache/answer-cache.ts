/** Keeps answers and gives them again; equal calls at the same time share one upstream call. */
import type { Reply } from '../core/answer.ts'
import type { CacheCounts, CacheHit, CacheSettings, SharedAnswers } from '../core/cache/cache-settings.ts'
import type { AnswerCache } from '../core/cache/answer-cache.ts'
import type { Call, Settlement } from '../core/call.ts'
import type { Clock } from '../lib/clock.ts'
import type { AnswerDialects } from '../core/dialects/answer-reader.ts'
import { cacheKey, partitionOf } from './cache-key.ts'
import { controlsOf } from './controls.ts'
import { EmbeddingAnswers } from './embedding-answers.ts'
import { requestedInputs } from './embedding-inputs.ts'
import { decodeAnswer, encodeAnswer, cacheableEvents, replyOf, sizeOf } from './entry.ts'
import type { CachedAnswer, CachedContent } from './entry.ts'
import { Flight } from './flight.ts'
import { Leader } from './leader.ts'
import { PromptIndex, unitVector } from './prompt-index.ts'
import { MemoryAnswers } from './memory-answers.ts'
import { SharedPrompts } from './shared-prompts.ts'
import { markHit, pollMs, ttlOf, lacksVerdict } from './cache-call.ts'
import type { LeaderOptions, Meaning, CacheCall } from './cache-call.ts'
import type { Signer } from '../lib/signer.ts'

/** Of the nearest prompts, how many may have lost their answers before the call goes on without. */
const nearestTries = 3
/** A third of the time after which the right of a dead process ends (`store/answers/redis-answers.ts`). */
const renewMs = 3000

/** What the cache works with. */
export interface AnswerCacheParts {
  readonly clock: Clock
  readonly sign: Signer
  readonly dialects: AnswerDialects
  /** The embedding of a prompt, asked of a model of this gateway by the caller's own key; undefined = there is none. */
  embed(call: Call, model: string, text: string): Promise<Float32Array | undefined>
  /** undefined = answers are kept in this process. */
  shared(settings: CacheSettings): SharedAnswers | undefined
}

/** The cache of answers of a running gateway; one object for all calls. */
export class RunningAnswerCache implements AnswerCache {
  readonly #parts: AnswerCacheParts
  readonly memory: MemoryAnswers
  readonly prompts = new PromptIndex()
  readonly #sharedPrompts: SharedPrompts
  readonly #flights = new Map<string, Flight>()
  readonly #embeddings: EmbeddingAnswers
  readonly #hits = new Map<CacheHit, number>()
  #misses = 0
  #savedNanoUsd = 0n

  constructor(parts: AnswerCacheParts) {
    this.#parts = parts
    this.memory = new MemoryAnswers(parts.clock)
    this.#sharedPrompts = new SharedPrompts(this.prompts, parts.sign)
    this.#embeddings = new EmbeddingAnswers({
      memory: this.memory,
      flights: this.#flights,
      epochMs: () => parts.clock.epochMs(),
      shared: settings => parts.shared(settings),
      follow: (cacheCall, flight) => this.#follow(cacheCall, flight),
      lead: (cacheCall, flight, leaderOptions) => this.#lead(cacheCall, flight, leaderOptions),
      drop: (key, flight) => this.#drop(key, flight),
    })
  }

  admit(call: Call, settings: CacheSettings): undefined | Reply | Promise<undefined | Reply> {
    const controls = controlsOf(call)
    if (!(controls.use ?? settings.isDefaultOn) || !settings.operations.has(call.operation)) return undefined
    const { format } = call
    const dialect = format && 'writer' in format ? this.#parts.dialects[format.dialect] : undefined
    if (!format || ('writer' in format && !dialect) || isLeftAlone(call)) return undefined
    const inputs = call.operation === 'embeddings' ? requestedInputs(call, settings, this.#parts.sign) : undefined
    if (inputs) return this.#embeddings.take({ call, settings, controls, dialect, key: inputs.key }, inputs)
    const key = cacheKey(call, settings, this.#parts.sign)
    const cacheCall = { call, settings, controls, dialect }
    return typeof key === 'string'
      ? this.#take({ ...cacheCall, key })
      : key.then(made => this.#take({ ...cacheCall, key: made }))
  }

  settled(settlement: Settlement): void {
    const { watch, cacheHit, savedNanoUsd } = settlement.call
    if (cacheHit !== '') {
      this.#hits.set(cacheHit, (this.#hits.get(cacheHit) ?? 0) + 1)
      this.#savedNanoUsd += savedNanoUsd ?? 0n
    }
    if (watch instanceof Leader) watch.settled(settlement)
  }

  counts(): CacheCounts {
    const followers = [...this.#flights.values()].reduce((sum, { followerCount }) => sum + followerCount, 0)
    const { answers, bytes } = this.memory.totals
    const { misses, savedNanoUsd } = { misses: this.#misses, savedNanoUsd: this.#savedNanoUsd }
    return { hits: this.#hits, misses, savedNanoUsd, answers, bytes, followers }
  }

  /** These keys, and those of the embeddings that were requested in one list under one of them. */
  async withInputs(keys: readonly string[], shared: SharedAnswers | undefined): Promise<readonly string[]> {
    const texts = (await shared?.readMany(keys)) ?? []
    return keys.flatMap((key, at) => {
      const text = texts[at]
      const kept = text === undefined ? this.memory.get(key) : decodeAnswer(text)
      return kept?.content.kind === 'keys' ? [key, ...kept.content.keys] : [key]
    })
  }

  /** Forgets the prompts of this process. */
  clearPrompts(): void {
    this.prompts.clear()
    this.#sharedPrompts.clear()
  }

  // ---- inside

  #take(cacheCall: CacheCall): undefined | Reply | Promise<undefined | Reply> {
    const { call, key, settings, controls } = cacheCall
    call.responseHeaders[`${call.models.settings.headerPrefix}-cache-key`] = key
    const shared = this.#parts.shared(settings)
    if (controls.noCache) return this.#lead(cacheCall, new Flight(settings.answerBytesMax), { shared, owner: '' })
    const kept = shared ? undefined : this.#hit(cacheCall, this.memory.get(key))
    if (kept) return kept
    const flight = this.#flights.get(key)
    if (flight && !flight.isClosed) return this.#follow(cacheCall, flight)
    if (controls.noStore) return shared && this.#read(cacheCall, shared)
    const own = new Flight(settings.answerBytesMax)
    this.#flights.set(key, own)
    if (shared) return this.#ask(cacheCall, own, shared)
    if (!settings.semantic) return this.#lead(cacheCall, own, { shared, owner: '' })
    return this.#byMeaning(cacheCall, own, shared).then(
      alike => alike ?? (call.client.left ? this.#drop(key, own) : this.#lead(cacheCall, own, { shared, owner: '' })),
    )
  }

  /** Its own settings may allow less than that of the leader: an answer that is being made is never too old. */
  #follow({ call }: CacheCall, flight: Flight): Promise<Reply | undefined> {
    return flight.follow(call).then(reply => {
      if (reply) markHit(call, 0)
      return reply
    })
  }

  async #read(cacheCall: CacheCall, shared: SharedAnswers): Promise<Reply | undefined> {
    const found = await shared.ask(cacheCall.key, '')
    return found?.state === 'found' ? this.#hit(cacheCall, decodeAnswer(found.text)) : undefined
  }

  /** Until there is an answer, the right to make it, or no store. Other calls of this process follow meanwhile. */
  async #ask(cacheCall: CacheCall, flight: Flight, shared: SharedAnswers): Promise<Reply | undefined> {
    const { call, key } = cacheCall
    for (;;) {
      const found = await shared.ask(key, call.id)
      if (found?.state === 'made-elsewhere') {
        if (call.client.left && !flight.followed) return this.#drop(key, flight)
        await Bun.sleep(pollMs)
        continue
      }
      const answer = found?.state === 'found' ? decodeAnswer(found.text) : undefined
      const hit = this.#hit(cacheCall, answer)
      if (answer && hit) {
        this.#land(key, flight)
        flight.complete(answer.content, { costNanoUsd: answer.costNanoUsd })
        return hit
      }
      if (call.client.left) {
        void shared.release(key, call.id)
        return this.#drop(key, flight)
      }
      const owner = found?.state === 'leads' ? call.id : ''
      const alike = await this.#byMeaning(cacheCall, flight, shared)
      if (alike) {
        if (owner !== '') void shared.release(key, owner)
        return alike
      }
      return this.#lead(cacheCall, flight, { shared, owner })
    }
  }

  /** The answer to a prompt that means the same. Those who follow this call get it too. */
  async #byMeaning(
    cacheCall: CacheCall,
    flight: Flight,
    shared: SharedAnswers | undefined,
  ): Promise<Reply | undefined> {
    const { call, settings, key } = cacheCall
    const { semantic } = settings
    if (!semantic) return undefined
    // Its list of words is loaded where it is used.
    const { comparedPrompt } = await import('./compared-prompt.ts')
    const compared = comparedPrompt(call, semantic)
    if (!compared) return undefined
    const vector = await this.#parts.embed(call, semantic.model, compared.text)
    const unit = vector && unitVector(vector)
    if (!unit) return undefined
    const partition = `${partitionOf(call, settings)}\n${semantic.model}\n${compared.rest}`
    cacheCall.meaning = { partition, vector: unit, facts: compared.facts }
    if (shared) await this.#sharedPrompts.follow(shared, partition, semantic.promptsMax)
    const near = await this.#nearest(cacheCall.meaning, semantic.similarityMin, shared)
    if (!near || call.client.left) return undefined
    const { answer } = near
    const hit = this.#hit(cacheCall, answer)
    if (!hit) return undefined
    call.cacheHit = 'semantic'
    call.responseHeaders[`${call.models.settings.headerPrefix}-semantic-similarity`] = near.similarity.toFixed(4)
    this.#land(key, flight)
    flight.complete(answer.content, { costNanoUsd: answer.costNanoUsd })
    return hit
  }

  /** The nearest prompt whose answer is still there. */
  async #nearest(
    { partition, vector, facts }: Meaning,
    similarityMin: number,
    shared: SharedAnswers | undefined,
  ): Promise<{ readonly similarity: number; readonly answer: CachedAnswer } | undefined> {
    for (let tries = 0; tries < nearestTries; tries++) {
      const near = this.prompts.nearest(partition, vector, facts, similarityMin)
      if (!near) return undefined
      const found = await shared?.ask(near.key, '')
      if (shared && !found) return undefined
      const text = found?.state === 'found' ? found.text : undefined
      const answer = text === undefined ? this.memory.get(near.key) : decodeAnswer(text)
      if (answer) return { similarity: near.similarity, answer }
      this.prompts.forget(partition, near.key)
    }
    return undefined
  }

  #drop(key: string, flight: Flight): undefined {
    this.#land(key, flight)
    flight.fail()
  }

  #land(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
  }

  /** undefined = there is none that this call takes. */
  #hit({ call, controls }: CacheCall, answer: CachedAnswer | undefined): Reply | undefined {
    if (!answer) return undefined
    const ageMs = Math.max(this.#parts.clock.epochMs() - answer.storedAtMs, 0)
    if (controls.ageMaxMs !== undefined && ageMs >= controls.ageMaxMs) return undefined
    const reply = tried(() => replyOf(call, answer.content))
    if (!reply) return undefined
    call.cacheHit = 'exact'
    call.savedNanoUsd = answer.costNanoUsd
    markHit(call, ageMs)
    return reply
  }

  /** The call is sent; its answer goes to those who follow, and is kept. */
  #lead(cacheCall: CacheCall, flight: Flight, { shared, owner, reshape, keep }: LeaderOptions): undefined {
    const { call, key, settings, dialect } = cacheCall
    this.#misses++
    const renewing = owner === '' ? undefined : setInterval(() => shared?.renew(key, owner), renewMs)
    call.watch = new Leader({
      call,
      flight,
      dialect,
      bytesMax: settings.answerBytesMax,
      ...(reshape && { reshape }),
      done: (content, settlement) => {
        clearInterval(renewing)
        this.#land(key, flight)
        const costNanoUsd = settlement?.costNanoUsd ?? null
        if (keep) {
          const kept = content && settlement && keep(settlement)
          if (owner !== '') void Promise.resolve(kept).then(() => shared?.release(key, owner))
          if (content) flight.complete(content, { costNanoUsd })
          else flight.fail()
          return
        }
        const answer = content && settlement && this.#kept(cacheCall, content, settlement)
        if (answer && cacheCall.meaning && settings.semantic) this.#remember(cacheCall, cacheCall.meaning, shared)
        if (answer && !shared) this.memory.set(key, answer, settings.memoryBytesMax)
        if (shared && (answer || owner !== ''))
          void (answer
            ? shared.keep(key, owner, { text: encodeAnswer(answer), ttlMs: ttlOf(cacheCall) })
            : shared.release(key, owner))
        if (content) flight.complete(content, { costNanoUsd })
        else flight.fail()
      },
    })
  }

  /** For this process at once, for the others in the shared list. */
  #remember(cacheCall: CacheCall, { partition, facts, vector }: Meaning, shared: SharedAnswers | undefined): void {
    const { promptsMax } = cacheCall.settings.semantic!
    const prompt = { key: cacheCall.key, facts, vector }
    this.prompts.add(partition, prompt, promptsMax)
    if (shared) void this.#sharedPrompts.add(shared, partition, prompt, { promptsMax, ttlMs: ttlOf(cacheCall) })
  }

  /** undefined = is not to be kept. */
  #kept(cacheCall: CacheCall, content: CachedContent, { call, costNanoUsd }: Settlement): CachedAnswer | undefined {
    const { settings, controls } = cacheCall
    if (controls.noStore || call.progress.fallbacks > 0 || lacksVerdict(call)) return undefined
    const events = content.kind === 'chat' ? cacheableEvents(content.events) : undefined
    if (content.kind === 'chat' && !events) return undefined
    const whole: CachedContent = events ? { kind: 'chat', events } : content
    const bytes = sizeOf(whole)
    if (bytes > settings.answerBytesMax) return undefined
    const storedAtMs = this.#parts.clock.epochMs()
    return { content: whole, storedAtMs, endMs: storedAtMs + ttlOf(cacheCall), costNanoUsd, bytes }
  }
}

/** What cannot be given from the cache is asked of an upstream, which may refuse it as well. */
function tried<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

/**
 * Answers that depend on more than the question: those that run in the background, and text completions that repeat
 * their prompt or score it in columns that the hub does not have.
 */
export function isLeftAlone({ operation, body }: Call): boolean {
  if (!body) return true
  if (operation === 'completions')
    return body.get('echo') === true || (body.has('logprobs') && body.get('logprobs') !== null)
  return body.get('background') === true
}
