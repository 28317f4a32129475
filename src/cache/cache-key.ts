/** The key of a call: calls with the same one are answered alike, however the client writes them. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CacheScope, CacheSettings } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import { ownerOf, storingIdOf } from '../core/caller.ts'
import type { Dialect } from '../core/provider.ts'
import type { BodyPiece } from '../core/transport.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Form } from './embedding-forms.ts'
import type { Signer } from '../lib/signer.ts'
import { exactText } from '../lib/json/exact-json.ts'

/**
 * Top-level fields of bodies that do not shape the answer, and why. All others are part of the key, also those that
 * the gateway does not know.
 */
export const fieldsBesideTheKey: ReadonlyMap<string, string> = new Map([
  ['model', 'its deployments are in the key'],
  ['stream', 'an answer is given whole or streamed, also where the first call asked for the other'],
  ['stream_options', 'the same; usage is reported to those who ask for it'],
  ['cache', 'steers the cache itself; its namespace is in the key'],
  ['caching', 'steers the cache itself'],
  ['proxy_call_id', 'the name of the call'],
  ['proxy_logging_obj', 'never used'],
  ['logger_fn', 'never used'],
  ['api_base', 'never used'],
  ['api_version', 'never used'],
  ['api_key', 'never used'],
  ['api_type', 'never used'],
  ['custom_llm_provider', 'never used'],
  ['num_retries', 'how often is tried, not what is asked'],
  ['timeout', 'how long is waited, not what is asked'],
  ['fallbacks', 'the models that the client names are in the key, beside the body'],
  ['context_window_fallback_dict', 'the same'],
  ['drop_params', 'what is dropped follows from the other fields and the deployment'],
  ['guardrails', 'the guardrails in effect are in the key'],
  ['tags', 'labels of the call for its row in the ledger'],
])

/** Fields of plain conversations, which mean the same in every dialect: such calls share answers across dialects. */
const plainFields: Readonly<Partial<Record<Dialect, ReadonlySet<string>>>> = {
  'openai-chat': new Set([
    ...['messages', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop', 'seed'],
    ...['presence_penalty', 'frequency_penalty', 'n', 'user'],
  ]),
  'openai-responses': new Set(['input', 'instructions', 'max_output_tokens', 'temperature', 'top_p', 'store', 'user']),
  'anthropic-messages': new Set([
    ...['messages', 'system', 'max_tokens', 'temperature', 'top_p', 'top_k', 'stop_sequences'],
  ]),
  'gemini-generate': new Set(['contents', 'systemInstruction', 'system_instruction', 'generationConfig']),
}
/** Names and types inside of such fields; a body with any other is not plain. */
const plainNames: ReadonlySet<string> = new Set([
  ...['role', 'content', 'parts', 'text', 'type'],
  ...['temperature', 'topP', 'topK', 'maxOutputTokens', 'stopSequences', 'seed', 'candidateCount'],
])
const plainTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text', 'message'])

/** Names a stored object, perhaps with escapes: such an answer is for the key alone that owns the object. */
const namesObject = /file_?id|file_?uri|container|vector_?store|\\u00[4-7]/i

/** Files are hashed in pieces of so many bytes, with other work between them. */
const hashedAtOnce = 1024 * 1024

/**
 * 64 hexadecimal digits. A promise only for forms, whose files are read. Not before the candidates of the call are set.
 */
export function cacheKey(call: Call, settings: CacheSettings, sign: Signer): string | Promise<string> {
  const question = call.upload ? formQuestion(call) : bodyQuestion(call)
  const beside = `${partitionOf(call, settings)}\n${givenAs(call)}\n${changedInput(call)}`
  const keyOf = (text: string) => sign(`answer\n${beside}\n${text}`).toString('hex')
  return typeof question === 'string' ? keyOf(question) : question.then(keyOf)
}

/** Answers that are no chats are kept as bytes, which are those of a stream, or not. */
const givenAs = ({ format, stream }: Call): string => (format && 'writer' in format ? '' : `stream: ${stream}`)

/** What policies have made of the question, perhaps another one for each caller; empty = nothing. */
function changedInput(call: Call): string {
  if (call.edits.length === 0) return ''
  const input = call.input()
  return exactText('request' in input ? input.request : input.fields)
}

/** Everything beside the body: whose answer it is, the deployments that may give it, what guards it. */
export function partitionOf(call: Call, { scope }: Pick<CacheSettings, 'scope'>): string {
  const group = call.candidates.map(({ id, target }) => `${id}=${target.model}`).sort()
  const { namespace } = call.overrides.cache ?? { namespace: '' }
  const owner = call.body && namesObject.test(latinOf(call)) ? (ownerOf(call.caller) ?? '*') : ''
  const guards = call.guardrails ?? []
  const beside = [betasOf(call), ...fallbacksOf(call)]
  return JSON.stringify([tenantOf(call, scope), namespace, call.operation, group, guards, owner, ...beside])
}

/** Models that the client names: equal calls under way may get their answer, and each key has its own models. */
const fallbacksOf = ({ overrides: { fallbacks = [], contextFallbacks = new Map() } }: Call): readonly unknown[] => [
  fallbacks,
  [...contextFallbacks],
]

/** Headers of the client that go to the upstream and shape its answer: `anthropic-beta`. Versions shape its form. */
function betasOf({ forwardedHeaders = {} }: Call): readonly (readonly [string, string])[] {
  return Object.entries(forwardedHeaders)
    .filter(([name]) => !name.endsWith('-version'))
    .sort()
}

const latinOf = ({ body }: Call): string => Buffer.from(body!.bytes).toString('latin1')

/** Whose calls share answers. A key without an object of the scope (a team, a user) shares with no other key. */
function tenantOf({ caller }: Call, scope: CacheScope): string {
  const { key, team, user, organization } = caller
  const own = `key:${storingIdOf(caller)}`
  switch (scope) {
    case 'all':
      return 'all'
    case 'key':
      return own
    case 'user':
      return (user?.id ?? key.userId) === null ? own : `user:${user?.id ?? key.userId}`
    case 'organization': {
      const id = organization?.id ?? key.organizationId
      return id === null ? own : `organization:${id}`
    }
    case 'team':
      return (team?.id ?? key.teamId) === null ? own : `team:${team?.id ?? key.teamId}`
  }
}

function bodyQuestion(call: Call): string {
  return isPlain(call) ? plainQuestion(call) : ownQuestion(call)
}

/** Only texts and the usual numbers, and no policy has changed anything. */
export function isPlain(call: Call): boolean {
  const { format, body, edits, operation } = call
  const fields = operation === 'chat' && format && edits.length === 0 ? plainFields[format.dialect] : undefined
  if (!fields || !body || body.repeatedName()) return false
  for (const name of body.names()) {
    if (isBeside(call, name) || body.rawText(name) === 'null') continue
    if (!fields.has(name) || !isPlainValue(body.get(name))) return false
  }
  return true
}

function isPlainValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlainValue)
  if (!isObject(value)) return true
  return Object.entries(value).every(
    ([name, one]) => plainNames.has(name) && (name !== 'type' || plainTypes.has(one)) && isPlainValue(one),
  )
}

/** Whether a field cannot shape the answer: as ever, or as no candidate is sent it. */
function isBeside({ body, format, candidates, overrides }: Call, name: string): boolean {
  // A dialect's own field of that name goes to its vendor.
  if (name === 'fallbacks') return overrides.fallbacks !== undefined
  if (name !== 'metadata') return fieldsBesideTheKey.has(name)
  if (candidates.length === 0) return false
  return candidates.every(({ target }) => {
    const { provider } = target
    const rule = provider.rules?.(target, format!.dialect).fields.get(name)
    const verdict = provider.speaks[format!.dialect] && rule?.(body!.get(name), other => body!.get(other))
    return verdict === 'drop' || verdict === 'omit'
  })
}

function plainQuestion(call: Call): string {
  const input = call.input()
  if (input.kind !== 'chat') return ownQuestion(call)
  const { messages, maxOutputTokens, temperature, topP, topK, stop, seed, choices = 1, user, ...rest } = input.request
  const { frequencyPenalty, presencePenalty } = rest
  const numbers = { maxOutputTokens, temperature, topP, topK, seed, choices, frequencyPenalty, presencePenalty }
  return JSON.stringify({ messages, ...numbers, stop, user })
}

/** The fields as the client wrote them. */
function ownQuestion(call: Call): string {
  const { format, body } = call
  const lines = [format!.dialect as string]
  for (const name of [...body!.names()].sort()) {
    const value = isBeside(call, name) ? 'null' : body!.rawText(name)
    if (value !== 'null') lines.push(`${JSON.stringify(name)}:${value}`)
  }
  return lines.join('\n')
}

/** Of a call for embeddings, all but its inputs. */
export function besideInputs(body: NonNullable<Call['body']>, { isInput }: Pick<Form, 'isInput'>): string {
  const names = [...body.names()].filter(name => !isInput(name) && !fieldsBesideTheKey.has(name)).sort()
  const lines = names.map(name => `${JSON.stringify(name)}:${body.rawText(name)}`)
  return lines.filter(line => !line.endsWith(':null') && line !== '"encoding_format":"float"').join('\n')
}

async function formQuestion(call: Call): Promise<string> {
  const hash = createHash('sha256')
  for (const part of call.upload!.parts) {
    if (fieldsBesideTheKey.has(part.name)) continue
    hash.update(`${JSON.stringify([part.name, part.filename ?? null, part.contentType ?? null])}${part.bytes}\n`)
    for (const piece of part.content) for (const bytes of bytesOf(piece)) await hashBytes(hash, bytes)
  }
  return `${call.format!.dialect}\n${hash.digest('hex')}`
}

async function hashBytes(hash: ReturnType<typeof createHash>, bytes: Uint8Array): Promise<void> {
  hash.update(bytes)
  if (bytes.length === hashedAtOnce) await nextTurn()
}

function* bytesOf(piece: BodyPiece): Generator<Uint8Array> {
  for (let at = 0; at < piece.length; ) {
    const length = Math.min(hashedAtOnce, piece.length - at)
    if (piece instanceof Uint8Array) yield piece.subarray(at, at + length)
    else {
      const into = new Uint8Array(length)
      const read = piece.file.read(into, piece.offset + at)
      if (read === 0) return
      yield into.subarray(0, read)
    }
    at += length
  }
}
