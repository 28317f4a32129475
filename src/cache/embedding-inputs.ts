/** Embeddings are kept input by input: what of a list is known is not requested again. */
import type { Reply } from '../core/answer.ts'
import type { CacheSettings } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { parsedObject } from '../lib/json/json-values.ts'
import { TextCounter } from '../lib/tokens/count-tokens.ts'
import { besideInputs, partitionOf } from './cache-key.ts'
import { formOf } from './embedding-forms.ts'
import type { Form, Input } from './embedding-forms.ts'
import type { CachedAnswer } from './entry.ts'
import type { Signer } from '../lib/signer.ts'

/** What a call asks for. */
export interface RequestedInputs {
  readonly form: Form
  /** Of the whole list: equal calls under way share by it. That of the input where there is only one. */
  readonly key: string
  /** For each place of the list the key of its input. */
  readonly keys: readonly string[]
  /** Each input once. */
  readonly inputs: ReadonlyMap<string, Input>
}

/** One embedding, as it is kept. */
export interface CachedVector {
  /** As the upstream wrote it: a list of numbers, or base64. */
  readonly json: string
  /** Its part of the tokens that the upstream counted. */
  readonly tokens: number
}

/** undefined = it is kept as a whole, if at all: another dialect, or nothing to embed. */
export function requestedInputs(call: Call, settings: CacheSettings, sign: Signer): RequestedInputs | undefined {
  const { body } = call
  const form = formOf(call)
  const list = body && form?.inputsOf(body)
  if (!body || !form || !list || list.length === 0) return undefined
  const changed = changedInputs(call)
  const beside = sign(`inputs\n${partitionOf(call, settings)}\n${besideInputs(body, form)}`).toString('hex')
  const inputs = new Map<string, Input>()
  const keys = list.map((input, at) => {
    const key = sign(`input\n${beside}\n${JSON.stringify([input, ...changed(at)])}`).toString('hex')
    inputs.set(key, input)
    return key
  })
  const key = keys.length === 1 ? keys[0]! : sign(`list\n${keys.join('\n')}`).toString('hex')
  return { form, key, keys, inputs }
}

/** What policies have made of an input and of the settings; empty = nothing. */
function changedInputs(call: Call): (at: number) => readonly unknown[] {
  const input = call.edits.length > 0 ? call.input() : undefined
  if (input?.kind !== 'embeddings') return () => []
  const { inputs, ...settings } = input.request
  return at => [inputs[at], settings]
}

/** The call asks for these inputs alone from now on: limits and budgets count them alone. */
export function requestOnly(call: Call, { form }: RequestedInputs, inputs: readonly Input[]): void {
  const pieces = call.body!.edited([{ set: form.listField, json: JSON.stringify(inputs) }])
  call.replaceBody(JsonBody.read(Buffer.concat(pieces)))
}

/** An answer made of kept embeddings alone. */
export function cachedReply(call: Call, inputs: RequestedInputs, known: ReadonlyMap<string, CachedVector>): Reply {
  return { status: 200, contentType: 'application/json', body: written(inputs.form.about(call.model), inputs, known) }
}

/** The upstream's embeddings, by key, and the other fields of its answer; undefined = it is not what was requested. */
export function vectorsOf(
  reply: Reply,
  { form }: RequestedInputs,
  requested: readonly (readonly [string, Input])[],
): { readonly about: Record<string, unknown>; readonly vectors: Map<string, CachedVector> } | undefined {
  const about = objectOfBody(reply.body)
  const data = about && form.vectorsOf(about)
  if (!about || !data || data.length !== requested.length) return undefined
  const tokens = shares(
    tokensOf(form.tokensOf(about)),
    requested.map(([, input]) => weightOf(input)),
  )
  const vectors = new Map<string, CachedVector>()
  for (const [at, vector] of data.entries())
    if (vector !== undefined)
      vectors.set(requested[at]![0], { json: JSON.stringify(vector), tokens: Number(tokens[at]) })
  return requested.every(([key]) => vectors.has(key)) ? { about, vectors } : undefined
}

/** The answer to the whole list: kept embeddings and those of the upstream, in the order of the list. */
export function mergedReply(
  reply: Reply,
  about: Record<string, unknown>,
  inputs: RequestedInputs,
  vectors: ReadonlyMap<string, CachedVector>,
): Reply {
  return { ...reply, body: written(about, inputs, vectors) }
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
  if (Array.isArray(input)) return input.length
  const counter = new TextCounter()
  counter.add(typeof input === 'string' ? input : JSON.stringify(input))
  return Math.max(Math.round(counter.tokens), 1)
}

/** Of the kept answers to inputs, those that are embeddings. */
export function vectorOf(answer: CachedAnswer | undefined): CachedVector | undefined {
  return answer?.content.kind === 'vector' ? answer.content : undefined
}

function written(
  about: Record<string, unknown>,
  { form, keys }: RequestedInputs,
  vectors: ReadonlyMap<string, CachedVector>,
): string {
  const tokens = keys.reduce((sum, key) => sum + vectors.get(key)!.tokens, 0)
  const texts = form.written(
    about,
    keys.map(key => vectors.get(key)!.json),
    tokens,
  )
  return `{${[...texts].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

function objectOfBody(body: Reply['body']): Record<string, unknown> | undefined {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined
  return parsedObject(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'))
}

function tokensOf(count: unknown): bigint {
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n
}
