/**
 * A model of vendors' prompt caches. OpenAI, Gemini and hosts like them keep each prompt by blocks of 128 tokens for
 * five minutes after its last use; Claude and Bedrock keep what the request marks, for five minutes or an hour, and
 * find it up to twenty blocks before a mark. A cache belongs to an account and a model, and holds 1,024 tokens or more.
 * Sources: the vendors' pages on prompt caching, 2026-11.
 */
import { ApiError } from '../dialects/response.ts'
import { isJsonObject } from '../lib/json.ts'
import type { JsonObject } from '../lib/json.ts'
import { countTokens } from './tokens.ts'
import type { TokenUsage } from './types.ts'

const tokensMin = 1024
const blockTokens = 128
const charactersPerBlock = blockTokens * 4
const marksMax = 4
const lookBackBlocks = 20
const minuteMs = 60_000
const lifeMs = { '5m': 5 * minuteMs, '1h': 60 * minuteMs } as const

type Life = keyof typeof lifeMs

/** A part of the prompt, in the order in which it is cached; `mark` = the request asks to keep it up to here. */
interface Segment {
  readonly text: string
  readonly mark?: Life
}

interface Kept {
  untilMs: number
  readonly life: Life
}

/** The tokens of a prompt by what the cache did with them. */
export type CachedUsage = Pick<TokenUsage, 'cachedTokens' | 'cacheWriteTokens' | 'cacheWriteOneHourTokens'>

/** Whose cache it is, and what is asked. */
export interface CachedPrompt {
  /** The key that the request came with. */
  readonly account: string
  readonly model: string
  readonly body: JsonObject
  /** As billed, without the cache. */
  readonly inputTokens: number
  /** Only what is marked is kept. */
  readonly isMarked: boolean
}

/** The caches of one simulator. */
export class PromptCaches {
  readonly #nowMs: () => number
  readonly #kept = new Map<string, Kept>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  clear(): void {
    this.#kept.clear()
  }

  /** Looks the prompt up and keeps it. Throws ApiError where the vendor would refuse its marks. */
  use({ account, model, body, inputTokens, isMarked }: CachedPrompt): CachedUsage {
    const segments = segmentsOf(body)
    const scope = `${account}\n${model}\n`
    const found = isMarked ? this.#useMarks(scope, segments) : this.#useBlocks(scope, segments)
    // What dialects count as input leaves out parts of the prompt: the cache has the same share of it.
    const all = segments.reduce((sum, { text }) => sum + countTokens(text), 0)
    const share = (tokens: number) => Math.floor((Math.min(tokens, all) / Math.max(all, 1)) * inputTokens)
    return {
      cachedTokens: share(found.read),
      cacheWriteTokens: share(found.written),
      cacheWriteOneHourTokens: share(found.writtenOneHour),
    }
  }

  #useBlocks(scope: string, segments: readonly Segment[]) {
    const text = segments.map(one => one.text).join('')
    let prefix = 0n
    let read = 0
    let isFound = true
    for (let at = 0; at + charactersPerBlock <= text.length; at += charactersPerBlock) {
      prefix = chained(text.slice(at, at + charactersPerBlock), prefix)
      const key = scope + prefix
      isFound &&= this.#isKept(key)
      if (isFound) read += blockTokens
      this.#keep(key, '5m')
    }
    return { read: read < tokensMin ? 0 : read, written: 0, writtenOneHour: 0 }
  }

  #useMarks(scope: string, segments: readonly Segment[]) {
    const marks = segments.flatMap(({ mark }, at) => (mark === undefined ? [] : [{ at, mark }]))
    if (marks.length > marksMax)
      throw new ApiError(`A maximum of ${marksMax} blocks with cache_control may be provided. Found ${marks.length}.`)
    let prefix = 0n
    let tokens = 0
    const ends = segments.map(({ text }) => {
      prefix = chained(text, prefix)
      tokens += countTokens(text)
      return { key: scope + prefix, tokens }
    })
    let read = 0
    for (const { at } of marks)
      for (let back = at; back >= Math.max(0, at - lookBackBlocks); back--)
        if (ends[back]!.tokens > read && this.#isKept(ends[back]!.key)) read = ends[back]!.tokens
    let written = 0
    let writtenOneHour = 0
    let from = read
    for (const { at, mark } of marks) {
      const { key, tokens: upTo } = ends[at]!
      if (upTo < tokensMin) continue
      if (upTo > from) {
        written += upTo - from
        if (mark === '1h') writtenOneHour += upTo - from
        from = upTo
      }
      this.#keep(key, mark)
    }
    return { read, written, writtenOneHour }
  }

  #isKept(key: string): boolean {
    const kept = this.#kept.get(key)
    if (!kept || kept.untilMs <= this.#nowMs()) return false
    kept.untilMs = this.#nowMs() + lifeMs[kept.life]
    return true
  }

  #keep(key: string, life: Life): void {
    const longer = this.#isKept(key) && this.#kept.get(key)!.life === '1h' ? '1h' : life
    this.#kept.set(key, { untilMs: this.#nowMs() + lifeMs[longer], life: longer })
  }
}

const chained = (text: string, before: bigint): bigint => Bun.hash.wyhash(text, before)

/** Tools, then system, then messages, each in the parts that a mark may stand in. */
function segmentsOf(body: JsonObject): Segment[] {
  const toolConfig = isJsonObject(body.toolConfig) ? body.toolConfig.tools : undefined
  return [
    ...blocksOf(body.tools ?? toolConfig),
    ...blocksOf(body.system ?? body.instructions ?? body.systemInstruction),
    ...messagesOf(body.messages ?? body.input ?? body.contents),
  ]
}

function messagesOf(value: unknown): Segment[] {
  if (!Array.isArray(value)) return blocksOf(value)
  return value.flatMap((message: unknown) => {
    if (!isJsonObject(message)) return []
    const { content, parts, ...head } = message
    return [{ text: JSON.stringify(head) }, ...blocksOf(content ?? parts)]
  })
}

function blocksOf(value: unknown): Segment[] {
  if (value == null) return []
  if (!Array.isArray(value)) return [{ text: typeof value === 'string' ? value : JSON.stringify(value) }]
  const segments: Segment[] = []
  for (const block of value as unknown[]) {
    if (isJsonObject(block) && isJsonObject(block.cachePoint)) {
      const last = segments.pop()
      if (last) segments.push({ ...last, mark: lifeOf(block.cachePoint) })
    } else if (isJsonObject(block) && isJsonObject(block.cache_control)) {
      const { cache_control: mark, ...rest } = block
      segments.push({ text: JSON.stringify(rest), mark: lifeOf(mark as JsonObject) })
    } else segments.push({ text: JSON.stringify(block) })
  }
  return segments
}

const lifeOf = ({ ttl }: JsonObject): Life => (ttl === '1h' ? '1h' : '5m')
