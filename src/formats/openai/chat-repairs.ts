/**
 * What strict clients cannot read of OpenAI's chunks and whole answers, on the forward lane: found in what was parsed
 * anyway, and put right there alone. The translate lane puts the same right by writing the answer anew.
 */
import { CallNumbers } from '../../core/dialects/call-numbers.ts'
import { choiceEnding, choiceIndex, finishReasonOf } from '../../core/dialects/openai-chunk.ts'
import { withCalls } from '../../core/dialects/finish-reasons.ts'
import { GatewayError } from '../../core/errors.ts'
import { exactText } from '../../lib/json/exact-json.ts'
import { isObject, listOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { answerId } from '../common/answer-id.ts'
import { finishReason } from './answer-fields.ts'
import { contentCharacters } from './chunk-content.ts'
import { put } from './mends.ts'
import type { Mend } from './mends.ts'

/** Of a chunk: beside its choices and its usage. */
const headNames: ReadonlySet<string> = new Set(
  'id object created model choices usage system_fingerprint service_tier obfuscation provider'.split(' '),
)
/** Of a choice: what says nothing where its delta is empty. */
const choiceNames: ReadonlySet<string> = new Set(['index', 'delta', 'text', 'finish_reason'])
const plainId = /^[\x21-\x7e]+$/

const hasOnly = (value: Json, names: ReadonlySet<string>): boolean =>
  Object.entries(value).every(([name, one]) => names.has(name) || one === null)

/** What is known of a choice of a stream. */
interface ChoiceSoFar {
  readonly calls: CallNumbers
  /** It calls by `function_call`. */
  legacy: boolean
  finished: boolean
}

/** Looks at each chunk of a stream once, in their order. */
export class ChunkRepairs {
  /** The client demands one function: OpenAI itself ends such a call with `stop`. */
  readonly #forced: boolean
  readonly #choices = new Map<number, ChoiceSoFar>()
  #id = ''

  constructor(forced = false) {
    this.#forced = forced
  }

  /** The id of the answer, by the first chunk that has one. */
  idOf(chunk: Json): string {
    if (this.#id === '') this.#id = plainId.test(textOf(chunk.id)) ? textOf(chunk.id) : answerId('chatcmpl-', '')
    return this.#id
  }

  /**
   * The chunk says nothing: it has no choice, or only such as have finished before, and no other content. Clients that
   * look into the first choice of each chunk break at the former.
   */
  isEmpty(chunk: Json): boolean {
    const { choices, usage } = chunk
    if (!Array.isArray(choices) || isObject(usage)) return false
    const saysNothing = choices.every(choice => {
      if (!isObject(choice) || !this.#choices.get(choiceIndex(choice, 0) ?? 0)?.finished) return false
      return finishReasonOf(choice) === '' && contentCharacters(choice) < 0 && hasOnly(choice, choiceNames)
    })
    return saysNothing && hasOnly(chunk, headNames)
  }

  /** Its choices can be read, and none reports a failure. */
  mends(chunk: Json): readonly Mend[] {
    const mends: Mend[] = []
    // As Azure writes its reports of filters.
    if (chunk.id === '') mends.push(put(['id'], this.idOf(chunk)))
    else if (this.#id === '') this.idOf(chunk)
    if (chunk.object === '') mends.push(put(['object'], 'chat.completion.chunk'))
    const { choices } = chunk
    if (choices == null && isObject(chunk.usage)) mends.push(put(['choices'], []))
    for (const [at, choice] of listOf(choices).entries()) if (isObject(choice)) this.#choice(choice, at, mends)
    return mends
  }

  #choice(choice: Json, at: number, mends: Mend[]): void {
    const index = choiceIndex(choice, 0)!
    let known = this.#choices.get(index)
    if (!known) this.#choices.set(index, (known = { calls: new CallNumbers(), legacy: false, finished: false }))
    const path = ['choices', at] as const
    if (choice.index !== index) mends.push(put([...path, 'index'], index))
    const { delta } = choice
    if (isObject(delta)) {
      if (isObject(delta.function_call)) known.legacy = true
      for (const [place, call] of listOf(delta.tool_calls).entries())
        if (isObject(call)) callMends(call, known.calls, { path: [...path, 'delta', 'tool_calls', place], mends })
    } else if (choice.text === undefined) mends.push(put([...path, 'delta'], {}))
    const word = shownReason(choice, this.#forced ? { seen: false } : known.calls, known.legacy)
    if (word !== choice.finish_reason) mends.push(put([...path, 'finish_reason'], word))
    if (typeof word === 'string') known.finished = true
  }
}

/** OpenAI's word; null where a choice goes on, for which some hosts write `""` or `"null"`; undefined = absent. */
function shownReason(choice: Json, { seen }: { seen: boolean }, legacy: boolean): unknown {
  const { finish_reason: reason } = choice
  if (typeof reason !== 'string') return reason
  if (finishReasonOf(choice) === '') return null
  const ending = choiceEnding(choice)
  if (ending instanceof GatewayError) return reason
  return finishReason(withCalls(ending, seen || legacy), legacy || reason === 'function_call')
}

interface PlaceOfCall {
  readonly path: readonly ['choices', ...(string | number)[]]
  readonly mends: Mend[]
  /** Calls of whole answers have no index. */
  readonly isWhole?: true
}

function callMends(entry: Json, calls: CallNumbers, { path, mends, isWhole }: PlaceOfCall): void {
  const called = isObject(entry.function) ? entry.function : {}
  const { call, begins } = calls.read(entry, called)
  if (!isWhole && entry.index !== call.number) mends.push(put([...path, 'index'], call.number))
  if (begins) {
    if (entry.id !== call.id) mends.push(put([...path, 'id'], call.id))
    if (textOf(entry.type) === '' && isObject(entry.function)) mends.push(put([...path, 'type'], 'function'))
  } else if (typeof entry.id === 'string' && entry.id !== call.id) {
    // Clients put the text in the place of the id, or behind it.
    mends.push(put([...path, 'id'], entry.id === '' ? undefined : call.id))
  }
  const { arguments: written } = called
  if (written != null && typeof written !== 'string')
    mends.push({ path: [...path, 'function', 'arguments'], value: exactText })
}

/** Of a whole chat completion that is finished; `forced` as of streams. */
export function chatMends(answer: Json, forced: boolean): Mend[] {
  const mends: Mend[] = []
  for (const [at, choice] of listOf(answer.choices).entries()) {
    if (!isObject(choice) || !isObject(choice.message)) continue
    const path = ['choices', at] as const
    const { message } = choice
    const calls = new CallNumbers()
    if (typeof choice.index !== 'number') mends.push(put([...path, 'index'], at))
    if (textOf(message.role) === '') mends.push(put([...path, 'message', 'role'], 'assistant'))
    for (const [place, call] of listOf(message.tool_calls).entries())
      if (isObject(call))
        callMends(call, calls, { path: [...path, 'message', 'tool_calls', place], mends, isWhole: true })
    const word = shownReason(choice, forced ? { seen: false } : calls, isObject(message.function_call))
    if (word !== choice.finish_reason) mends.push(put([...path, 'finish_reason'], word))
  }
  return mends
}
