/** Embeddings are kept input by input: what of a list is known is not asked for again. */
import type { Reply } from '../core/answer.ts'
import type { CacheSettings } from '../core/answer-cache.ts'
import type { Call } from '../core/call.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { isObject } from '../lib/json/json-values.ts'
import { TextCounter } from '../lib/tokens/count-tokens.ts'
import { besideInputs, partitionOf } from './cache-key.ts'
import type { Sign } from './cache-key.ts'
import type { KeptAnswer } from './entry.ts'

/** A text, or a text that is split into token ids. */
type Input = string | readonly number[]

/** What a call asks for. */
export interface AskedInputs {
  /** Of the whole list: equal calls under way share by it. That of the input where there is only one. */
  readonly key: string
  /** For each place of the list the key of its input. */
  readonly keys: readonly string[]
  /** Each input once. */
  readonly inputs: ReadonlyMap<string, Input>
}

/** One embedding, as it is kept. */
export interface KeptVector {
  /** As the upstream wrote it: a list of numbers, or base64. */
  readonly json: string
  /** Its part of the tokens that the upstream counted. */
  readonly tokens: number
}

/** undefined = it is kept as a whole, if at all: another dialect, or nothing to embed. */
export function askedInputs(call: Call, settings: CacheSettings, sign: Sign): AskedInputs | undefined {
  const { body, format } = call
  if (!body || format?.dialect !== 'openai-embeddings') return undefined
  const given = body.get('input')
  const list = (typeof given === 'string' || typeof (given as unknown[])[0] === 'number' ? [given] : given) as Input[]
  if (!Array.isArray(list) || list.length === 0) return undefined
  const beside = sign(`inputs\n${partitionOf(call, settings)}\n${besideInputs(body)}`).toString('hex')
  const inputs = new Map<string, Input>()
  const keys = list.map(input => {
    const key = sign(`input\n${beside}\n${JSON.stringify(input)}`).toString('hex')
    inputs.set(key, input)
    return key
  })
  const key = keys.length === 1 ? keys[0]! : sign(`list\n${keys.join('\n')}`).toString('hex')
  return { key, keys, inputs }
}

/** The call asks for these inputs alone from now on: limits and budgets count them alone. */
export function askOnlyFor(call: Call, inputs: readonly Input[]): void {
  const pieces = call.body!.edited([{ set: 'input', json: JSON.stringify(inputs) }])
  call.replaceBody(JsonBody.read(Buffer.concat(pieces)))
}

/** An answer made of kept embeddings alone. */
export function keptReply(call: Call, { keys }: AskedInputs, known: ReadonlyMap<string, KeptVector>): Reply {
  const about = { object: 'list', data: undefined, model: call.model, usage: undefined }
  return { status: 200, contentType: 'application/json', body: written(about, keys, known) }
}

/** The upstream's embeddings, by key, and the other fields of its answer; undefined = it is not what was asked for. */
export function vectorsOf(
  reply: Reply,
  asked: readonly (readonly [string, Input])[],
): { readonly about: Record<string, unknown>; readonly vectors: Map<string, KeptVector> } | undefined {
  const about = parsed(reply.body)
  const data = about?.data
  if (!about || !Array.isArray(data) || data.length !== asked.length) return undefined
  const tokens = shares(
    tokensOfAnswer(about.usage),
    asked.map(([, input]) => weightOf(input)),
  )
  const vectors = new Map<string, KeptVector>()
  for (const [at, one] of data.entries()) {
    const place = isObject(one) && Number.isInteger(one.index) ? (one.index as number) : at
    const key = asked[place]?.[0]
    if (key === undefined || !isObject(one) || one.embedding === undefined) return undefined
    vectors.set(key, { json: JSON.stringify(one.embedding), tokens: Number(tokens[place]) })
  }
  return asked.every(([key]) => vectors.has(key)) ? { about, vectors } : undefined
}

/** The answer to the whole list: kept embeddings and those of the upstream, in the order of the list. */
export function mergedReply(
  reply: Reply,
  about: Record<string, unknown>,
  { keys }: AskedInputs,
  vectors: ReadonlyMap<string, KeptVector>,
): Reply {
  return { ...reply, body: written(about, keys, vectors) }
}

/** A total in parts as large as the weights say; their sum is the total. */
export function shares(total: bigint, weights: readonly number[]): bigint[] {
  const all = weights.reduce((sum, one) => sum + one, 0) || 1
  let given = 0n
  let upTo = 0
  return weights.map(weight => {
    upTo += weight
    const part = (total * BigInt(upTo)) / BigInt(all) - given
    given += part
    return part
  })
}

/** How much of a list's tokens an input is, about. */
export function weightOf(input: Input): number {
  if (typeof input !== 'string') return input.length
  const counter = new TextCounter()
  counter.add(input)
  return Math.max(Math.round(counter.tokens), 1)
}

/** Of the kept answers to inputs, those that are embeddings. */
export function vectorOf(answer: KeptAnswer | undefined): KeptVector | undefined {
  return answer?.content.kind === 'vector' ? answer.content : undefined
}

function written(
  about: Record<string, unknown>,
  keys: readonly string[],
  vectors: ReadonlyMap<string, KeptVector>,
): string {
  const tokens = keys.reduce((sum, key) => sum + vectors.get(key)!.tokens, 0)
  const usage = { ...(isObject(about.usage) && about.usage), prompt_tokens: tokens, total_tokens: tokens }
  const items = keys.map(
    (key, index) => `{"object":"embedding","index":${index},"embedding":${vectors.get(key)!.json}}`,
  )
  const fields = Object.entries(about).map(([name, value]) => {
    const json = name === 'data' ? `[${items.join(',')}]` : JSON.stringify(name === 'usage' ? usage : value)
    return `${JSON.stringify(name)}:${json}`
  })
  return `{${fields.join(',')}}`
}

function parsed(body: Reply['body']): Record<string, unknown> | undefined {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined
  try {
    const read: unknown = JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'))
    return isObject(read) ? read : undefined
  } catch {
    return undefined
  }
}

function tokensOfAnswer(usage: unknown): bigint {
  const tokens = isObject(usage) ? usage.prompt_tokens : 0
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? BigInt(tokens) : 0n
}
