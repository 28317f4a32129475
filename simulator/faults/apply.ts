/** Faults that change what is said. How it is sent is `deliver.ts`. */
import { isJson, nothingToBill } from '../generation/types.ts'
import type { Answer, Json, ReplyUsage, StreamEvent } from '../generation/types.ts'
import type { Fault } from './fault.ts'
import { openaiFailure } from '../dialects/openai/error.ts'
import type { ErrorWords } from '../dialects/openai/error.ts'
import { hash, randomOf } from '../generation/random.ts'
import { wordsOf } from '../dialects/conventions.ts'
import type { Dialect } from '../dialects/conventions.ts'

/** What a fault may need to know of the request that asked for it. */
interface SpoilContext {
  readonly dialect: Dialect
  readonly requestId: string
  /** Number of the request, which decides over chance. */
  readonly n: number
  readonly seed: number
  /** Path and query of the request. */
  readonly target: string
  /** The simulator's own address. */
  readonly url: string
}

/** An error in the words of the dialect. */
export function errorAnswer(words: ErrorWords, context: { dialect: Dialect; requestId: string }): Answer {
  const { error, errorHeaders } = wordsOf(context.dialect)
  const content = JSON.stringify(error(words, context.requestId))
  return { status: words.status, headers: errorHeaders?.(words) ?? [], content, billable: nothingToBill }
}

const nonsense: Record<string, unknown[]> = {
  negative: [-1],
  huge: [1e300],
  text: ['many'],
  fraction: [0.5],
  null: [null],
  mixed: [-1, 1e300, 'many', 0.5, null],
}

function absurd(usage: Json, kind: string): Json {
  const values = nonsense[kind] ?? nonsense.mixed!
  let at = 0
  const spoil = (value: unknown): unknown => {
    if (typeof value === 'number') return values[at++ % values.length]
    return isJson(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, spoil(one)])) : value
  }
  return spoil(usage) as Json
}

/** The usage as a fault has it reported. */
export function usageUnder(
  fault: Fault | undefined,
  usageOf: (usage: ReplyUsage) => Json,
): (usage: ReplyUsage) => Json | undefined {
  if (fault?.name === 'no-usage') return () => undefined
  if (fault?.name === 'bad-usage') return usage => absurd(usageOf(usage), fault.text('kind'))
  return usageOf
}

function redirect(fault: Fault, context: SpoilContext): Answer {
  const to = fault.text('to') || `${context.url}/redirected${context.target}`
  return { status: fault.number('code'), headers: [['location', to]], content: '', billable: nothingToBill }
}

function page(status: number): Answer {
  const title = status === 502 ? '502 Bad Gateway' : `${status} Error`
  const body = `<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>`
  const content = `<html>\r\n<head><title>${title}</title></head>\r\n${body}\r\n</html>\r\n`
  return { status, headers: [['content-type', 'text/html']], content, billable: nothingToBill }
}

function limited(fault: Fault, context: SpoilContext): Answer {
  const retryAfterS = Number(fault.text('retry-after') || Number.NaN)
  const words = {
    status: 429,
    kind: fault.text('kind'),
    ...(Number.isFinite(retryAfterS) && { retryAfterS }),
  }
  const answer = errorAnswer(words, context)
  const names = ['retry-after', 'retry-after-ms']
  const headers = names.map(name => [name, fault.text(name)] as const).filter(([, value]) => value !== '')
  return { ...answer, headers: [...answer.headers, ...headers] }
}

/** Whether the chance of `flaky` strikes this request. */
function strikes(fault: Fault, context: SpoilContext): boolean {
  return randomOf(hash(`flaky ${context.n}`, context.seed))() < fault.number('p')
}

/** The answer as the fault has it; the same answer when the fault is one of sending. */
export function spoil(answer: Answer, fault: Fault, context: SpoilContext): Answer {
  const isWhole = typeof answer.content === 'string' || answer.content instanceof Uint8Array
  switch (fault.name) {
    case '429':
      return limited(fault, context)
    case 'status':
      return errorAnswer({ status: fault.number('code'), kind: fault.text('kind') }, context)
    case 'html-error':
      return page(fault.number('code'))
    case 'redirect':
      return context.target.startsWith('/redirected/') ? answer : redirect(fault, context)
    case 'flaky':
      return strikes(fault, context) ? errorAnswer({ status: fault.number('code') }, context) : answer
    case 'error-first':
    case 'error-in-stream':
      return isWhole ? errorAnswer({ status: 500 }, context) : answer
    case 'no-finish':
      return isWhole ? withoutFinish(answer, context.dialect) : answer
    default:
      return answer
  }
}

/** Where a dialect says that an answer is done, in words that could not stand in a tool's arguments elsewhere. */
const finishes: Partial<Record<Dialect, RegExp>> = {
  openai: /"(finish_reason|status)":"(?:[a-z_]*)"/g,
  gemini: /"(finishReason)":"[A-Z_]*"/g,
  bedrock: /"(stopReason)":"[a-z_]*"/g,
  ollama: /"(done|done_reason)":(?:true|"[a-z_]*")/g,
}
const finishDefault = /"(finish_reason|stop_reason)":"[A-Za-z_]*"/g

function withoutFinish(answer: Answer, dialect: Dialect): Answer {
  if (typeof answer.content !== 'string') return answer
  const content = answer.content.replaceAll(finishes[dialect] ?? finishDefault, '"$1":null')
  return { ...answer, content }
}

/** Where the text of a delta begins in its event; -1 when it has none. */
export function textStart(event: string): number {
  const found =
    /"(?:content|text|thinking|tool_plan|reasoning_content|arguments|partial_json|delta|input)":"(?!")/.exec(event)
  return found ? found.index + found[0].length : -1
}

/** The event without the last characters of its JSON, but with the line breaks that end it. */
function cutShort(event: StreamEvent): StreamEvent {
  const end = /\n*$/.exec(event.text)![0]
  return { ...event, text: event.text.slice(0, -10 - end.length) + end }
}

function* truncated(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  let held: StreamEvent | undefined
  let isDone = false
  for (const event of events) {
    if (held && event.kind !== 'delta' && !isDone) {
      isDone = true
      yield cutShort(held)
    } else if (held) yield held
    held = event.kind === 'delta' ? event : undefined
    if (!held) yield event
  }
}

/** The events as the fault has them. */
export function* spoilEvents(answer: Answer, fault: Fault | undefined): Generator<StreamEvent> {
  const events = answer.content as Iterable<StreamEvent>
  if (fault?.name === 'truncated-json') return yield* truncated(events)
  const missing = fault?.name === 'no-done' ? 'end' : fault?.name === 'no-finish' ? 'finish' : undefined
  const isBroken = fault?.name === 'error-in-stream' || fault?.name === 'error-first'
  const errorAt = !isBroken ? Infinity : fault.name === 'error-first' ? 0 : fault.number('at')
  let at = 0
  for (const event of events) {
    if (at >= errorAt) return yield (answer.failure ?? openaiFailure)(at)
    at++
    if (event.kind !== missing) yield event
  }
}
