/** One call of the playground: an ordinary call of the person who is signed in. */
import { sendTo } from '../../api/client.ts'
import { apiUrl } from '../../lib/urls.ts'
import { serverSentEvents } from '../../lib/server-sent-events.ts'
import { linesOf } from './operations.ts'
import type { Body, Operation } from './operations.ts'
import { emptyOutput } from './output.ts'
import type { Output } from './output.ts'

/** What has come so far, and when. */
export interface Progress {
  readonly output: Output
  /** The answer as it was sent, cut after `rawMax` characters. */
  readonly raw: string
  /** The call in the log; null = no answer has begun. */
  readonly callId: string | null
  /** Milliseconds until the first piece of a stream. */
  readonly firstMs: number | null
}

/** What is asked, and of whom. */
export interface Question {
  readonly operation: Operation
  readonly body: Body
  readonly file: File | null
  readonly isStream: boolean
  readonly signal: AbortSignal
}

export const nothingYet: Progress = { output: emptyOutput, raw: '', callId: null, firstMs: null }

/** What the tab of the raw answer shows at most: pictures and vectors are long. */
const rawMax = 100_000

const bounded = (text: string): string => (text.length <= rawMax ? text : `${text.slice(0, rawMax)}\n…`)

/** The prefix of the gateway's own headers is a setting of the operator. */
const callIdOf = (headers: Headers): string | null =>
  [...headers].find(([name]) => name.endsWith('-call-id'))?.[1] ?? null

/**
 * Calls `onProgress` after each piece. Rejects with an `ApiError` when the gateway refuses, with an `Error` when the
 * answer breaks off or is no JSON, and when `signal` aborts.
 */
export async function run(question: Question, onProgress: (progress: Progress) => void): Promise<void> {
  const { operation, signal } = question
  const startedMs = performance.now()
  const response = await sendTo(apiUrl(operation.path), { method: 'POST', body: payload(question), signal })
  const begun = { ...nothingYet, callId: callIdOf(response.headers) }
  onProgress(begun)
  if (question.isStream && operation.event && response.body)
    return readStream({ operation, body: response.body, begun, startedMs }, onProgress)
  if (!operation.whole) {
    const sound = await response.blob()
    const raw = `${sound.type || 'application/octet-stream'}, ${sound.size} B`
    return onProgress({ ...begun, raw, output: { ...emptyOutput, sound: URL.createObjectURL(sound) } })
  }
  const json: unknown = await response.json()
  onProgress({
    ...begun,
    raw: bounded(JSON.stringify(json, undefined, 2)),
    output: operation.whole(json, labelsOf(question.body)),
  })
}

function payload({ operation, body, file }: Question): string | FormData {
  if (!operation.isForm) return JSON.stringify(body)
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) form.set(name, String(value))
  if (file) form.set('file', file)
  return form
}

/** The texts that the places of an answer stand for. */
function labelsOf({ input, documents }: Body): string[] {
  const list = documents ?? input
  if (typeof list === 'string') return linesOf(list)
  return Array.isArray(list) ? list.map(one => (typeof one === 'string' ? one : JSON.stringify(one))) : []
}

interface Reading {
  readonly operation: Operation
  readonly body: ReadableStream<Uint8Array>
  readonly begun: Progress
  readonly startedMs: number
}

async function readStream(
  { operation, body, begun, startedMs }: Reading,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  let progress = begun
  for await (const { name, data } of serverSentEvents(body)) {
    if (progress.raw.length < rawMax)
      progress = {
        ...progress,
        raw: bounded(`${progress.raw}${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`),
      }
    const isLast = operation.isLast!(name, data)
    // `[DONE]` alone is no JSON.
    const output = data === '[DONE]' ? progress.output : operation.event!(progress.output, JSON.parse(data))
    if (output !== progress.output && progress.firstMs === null && hasContent(output))
      progress = { ...progress, firstMs: performance.now() - startedMs }
    progress = { ...progress, output }
    onProgress(progress)
    if (isLast) return
  }
  throw new Error('the answer was cut off before its end')
}

const hasContent = ({ text, thinking, tools }: Output): boolean => text !== '' || thinking !== '' || tools.length > 0
