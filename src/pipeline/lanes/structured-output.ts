/**
 * Answers that must fit a schema which the model's host does not enforce: collected, validated, and requested again
 * with a description of the problem. The router sees one exchange, however many requests were sent.
 */
import type { Call } from '../../core/call.ts'
import type { ChatEvent, ChatRequest, Message } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StrictSchema } from '../../core/format.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { checkReferences, correctionPrompt, validateJson, schemaMismatch } from '../../emulation/index.ts'
import type { OutputSchema } from '../../emulation/index.ts'
import type { PlannedAttempt } from './attempt-parts.ts'
import type { LateAnswer } from './filtered-format.ts'
import { SuccessiveStreams } from './successive-streams.ts'
import type { TranslatedStream } from './translate.ts'
import { recordUsage } from '../settlement/usage.ts'
import { noteWholeAnswer } from '../settlement/usage-estimate.ts'

/** Number of repeated requests: a model that fails three times does not understand the schema. */
const retriesMax = 2

/** A translated call whose answer must be JSON that fits `outputSchema`. */
export interface JsonQuestion extends TranslatedStream {
  readonly target: Target
  readonly outputSchema: OutputSchema
}

/** The conversation until an answer fits. */
export class JsonDialogue {
  readonly question: JsonQuestion
  #request: ChatRequest
  #retries = retriesMax
  /** The usage of all answers together: each is billed. */
  usage: Usage | undefined
  /** The answer that fits; empty until there is one. */
  events: readonly ChatEvent[] = []

  constructor(question: JsonQuestion) {
    this.question = question
    this.#request = question.request
  }

  /** The request for the next answer. */
  call(): TranslatedCall {
    return this.question.adapter.request(this.#request, this.question.target)
  }

  /** true = `events` is the answer; false = ask again. Throws `schema-mismatch` after the last try. */
  accepts(events: readonly ChatEvent[]): boolean {
    for (const event of events) if (event.type === 'usage') this.usage = addUsage(this.usage, event.usage)
    const mended = new Map<number, string>()
    for (const [choice, text] of finishedTexts(events)) {
      const validation = validateJson(text, this.question.outputSchema)
      if ('problem' in validation) {
        this.#askAgain(text, validation.problem)
        return false
      }
      mended.set(choice, validation.json)
    }
    this.events = withTexts(events, mended, this.usage)
    return true
  }

  #askAgain(text: string, problem: string): void {
    if (this.#retries-- === 0) {
      throw new GatewayError(
        'schema-mismatch',
        `the model '${this.question.publicModel}' was asked ${retriesMax + 1} times and its answer still does not ` +
          'fit ' +
          `response_format: ${problem}`,
        { param: 'response_format', cause: text.slice(0, 2000) },
      )
    }
    const message = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })
    const { messages } = this.question.request
    // Only the last answer is sent back: earlier ones would mislead the model.
    const turn = [message('assistant', text.trim() || '(empty)'), message('user', correctionPrompt(problem))]
    this.#request = { ...this.#request, messages: [...messages, ...turn] }
  }
}

/**
 * The texts that must be JSON, by choice. Answers that were cut by length, refused, or consist of tool calls are not
 * checked: their finish reason shows it, as with a host that enforces schemas.
 */
function finishedTexts(events: readonly ChatEvent[]): Map<number, string> {
  const texts = new Map<number, string>()
  const finished = new Set<number>()
  const refused = new Set<number>()
  for (const event of events) {
    if (event.type === 'text') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.text)
    else if (event.type === 'refusal') refused.add(event.choice)
    else if (event.type === 'finish' && event.reason === 'stop') finished.add(event.choice)
  }
  return new Map([...finished].filter(choice => !refused.has(choice)).map(choice => [choice, texts.get(choice) ?? '']))
}

/** The events with each text joined before its choice's end, and one report of the whole usage. */
function withTexts(
  events: readonly ChatEvent[],
  texts: ReadonlyMap<number, string>,
  usage: Usage | undefined,
): ChatEvent[] {
  const result: ChatEvent[] = []
  for (const event of events) {
    if (event.type === 'usage' || (event.type === 'text' && texts.has(event.choice))) continue
    const text = event.type === 'finish' ? texts.get(event.choice) : undefined
    if (text !== undefined && event.type === 'finish') result.push({ type: 'text', choice: event.choice, text })
    result.push(event)
  }
  if (usage) result.push({ type: 'usage', usage })
  return result
}

/** Collects streams and returns the one that fits. Heartbeats keep the client's connection alive meanwhile. */
export class CheckedRelay extends SuccessiveStreams {
  readonly #dialogue: JsonDialogue
  #events: ChatEvent[] = []

  constructor(dialogue: JsonDialogue, onNext: () => void = () => {}) {
    super(dialogue.question, onNext)
    this.#dialogue = dialogue
  }

  override get complete(): boolean {
    return this.terminated
  }

  protected override take(event: ChatEvent): void {
    this.#events.push(event)
  }

  protected override next(): TranslatedCall | undefined {
    const isAccepted = this.#dialogue.accepts(this.#events)
    this.#events = []
    return isAccepted ? undefined : this.#dialogue.call()
  }

  protected override finish(): void {
    this.out = this.#dialogue.events.map(event => this.writer.write(event)).join('') + this.writer.end()
  }
}

type ReadAnswer = PlannedAttempt['answer']

/**
 * For a host that was sent the schema: `read`, with the answer validated. Nothing is requested again. undefined = this
 * call has no strict schema.
 */
export function validatedAnswer(call: Call, strict: StrictSchema, read: ReadAnswer): ReadAnswer | undefined {
  const schema = strict.schema(call.body!)
  if (!schema) return undefined
  checkReferences(schema, [strict.field])
  return (bytes, head) => {
    const answer = read(bytes, head)
    const text = typeof answer.body === 'string' ? answer.body : new TextDecoder().decode(answer.body)
    for (const one of strict.texts(JSON.parse(text))) {
      const problem = schemaMismatch(one, schema)
      if (problem === undefined) continue
      // An answer that does not fit is billed, too.
      recordUsage(call, answer.usage)
      noteWholeAnswer(call, answer.body, answer.usage)
      throw new GatewayError(
        'schema-mismatch',
        `the answer of the model '${call.model}' does not fit ${strict.field}: ${problem}`,
        {
          param: strict.field,
          cause: one.slice(0, 2000),
        },
      )
    }
    return answer
  }
}

/** The body comes late: it is that which is validated. */
export function validatedLate(call: Call, strict: StrictSchema, late: LateAnswer): LateAnswer {
  let body = ''
  const check = validatedAnswer(call, strict, () => ({ body, usage: call.attempt!.usage }))
  if (!check) return late
  return {
    holds: () => late.holds(),
    async text() {
      body = await late.text()
      return check(new Uint8Array(), { header: () => undefined }).body as string
    },
  }
}
