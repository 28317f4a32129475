/** Answers of `generateContent` as events. Each frame of a stream is such an answer, so one reader serves both. */
import { createHash } from 'node:crypto'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { frameworkError, namedError } from '../../core/dialects/classify.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { endingOf, geminiFinishReason, geminiFinishReasons, withCalls } from '../../core/dialects/finish-reasons.ts'
import { GeminiUsage } from '../../core/usage/gemini-usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, listOf, objectOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { errorLast } from '../common/fault.ts'
import { citationsOf } from './citations.ts'
import { placeSignature } from './signature.ts'
import type { SignedKind } from './signature.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** Bounds the numbers of candidates; far above what the API generates. */
const candidatesMax = 4096

/** The candidate's number. The first one (0) has none on the wire. Throws `upstream-broken` for an invalid one. */
function candidateIndex({ index }: Json): number {
  if (typeof index !== 'number') return 0
  if (Number.isInteger(index) && index >= 0 && index < candidatesMax) return index
  throw new GatewayError(
    'upstream-broken',
    "the upstream's answer does not follow its protocol: a candidate whose number cannot be",
  )
}

/** State of one choice over a stream. */
interface Choice {
  readonly index: number
  calls: number
  /** All of its text so far, to which the positions of citations refer. */
  text: string
  finished: boolean
  readonly cited: Set<string>
}

class AnswerReader {
  readonly #reports = new GeminiUsage()
  readonly #choices = new Map<number, Choice>()
  #id = ''
  #started = false

  /** The events of one answer or one frame of a stream. Throws `upstream-broken` on another shape. */
  read(body: unknown): ChatEvent[] {
    const error = namedError(body)
    if (error) return [{ type: 'error', error }]
    if (!isObject(body)) throw brokenProtocol('no object')
    const failure = body.candidates === undefined ? frameworkError(body) : undefined
    if (failure) return [{ type: 'error', error: failure }]
    const candidates = objectsOf(body.candidates)
    const refusal = candidates.length === 0 ? promptRefusal(body.promptFeedback) : undefined
    const events: ChatEvent[] = refusal ? [{ type: 'error', error: refusal }] : this.#start(body)
    for (const candidate of candidates) events.push(...this.#candidate(candidate))
    this.#reports.take(body)
    if (isObject(body.usageMetadata)) {
      const usage = this.#reports.usage()
      if (usage) events.push({ type: 'usage', usage })
    }
    return errorLast(events)
  }

  #start(body: Json): ChatEvent[] {
    if (this.#started) return []
    this.#started = true
    this.#id = textOf(body.responseId)
    const createdMs = Date.parse(textOf(body.createTime))
    const createdS = Number.isNaN(createdMs) ? {} : { createdS: Math.floor(createdMs / 1000) }
    return [{ type: 'start', id: this.#id, model: textOf(body.modelVersion), ...createdS }]
  }

  #candidate(candidate: Json): ChatEvent[] {
    const choice = this.#choice(candidateIndex(candidate))
    const parts = listOf(objectOf(candidate.content).parts)
    if (parts.length > 0) choice.finished = false
    const events = parts.filter(isObject).flatMap(part => this.#part(part, choice))
    events.push(...logprobs(candidate.logprobsResult, choice.index), ...newCitations(candidate, choice))
    const word = geminiFinishReason(candidate)
    if (word === '' || choice.finished) return events
    choice.finished = true
    const ending = endingOf(geminiFinishReasons, word, textOf(candidate.finishMessage))
    if (ending instanceof GatewayError) return [...events, { type: 'error', error: ending }]
    return [...events, { type: 'finish', choice: choice.index, reason: withCalls(ending, choice.calls > 0) }]
  }

  #choice(index: number): Choice {
    let choice = this.#choices.get(index)
    if (!choice) this.#choices.set(index, (choice = { index, calls: 0, text: '', finished: false, cited: new Set() }))
    return choice
  }

  #part(part: Json, choice: Choice): ChatEvent[] {
    const signature = textOf(part.thoughtSignature)
    const sign = (kind: SignedKind, index = 0): ChatEvent[] =>
      signature === ''
        ? []
        : [{ type: 'reasoning', choice: choice.index, signature: placeSignature({ kind, index, signature }) }]
    if (isObject(part.functionCall)) {
      const index = choice.calls++
      return [...sign('call', index), ...this.#call(part.functionCall, { choice: choice.index, index, signature })]
    }
    // Images inside thoughts are drafts and are left out.
    if (part.thought === true) {
      const text = textOf(part.text)
      return [...(text ? [{ type: 'reasoning', choice: choice.index, text } as const] : []), ...sign('note')]
    }
    if (isObject(part.inlineData) || isObject(part.fileData)) return media(part, choice.index)
    const text = textOf(part.text) || code(part)
    choice.text += text
    return [...(text ? [{ type: 'text', choice: choice.index, text } as const] : []), ...sign('text')]
  }

  #call(call: Json, { choice, index, signature }: { choice: number; index: number; signature: string }): ChatEvent[] {
    const name = textOf(call.name)
    const args = exactText(objectOf(call.args))
    return [
      {
        type: 'tool-call-start',
        choice,
        index,
        id: textOf(call.id) || callId([this.#id, choice, index, name, args]),
        name,
        ...(signature !== '' && { signature }),
      },
      { type: 'tool-call-arguments', choice, index, fragment: args },
      { type: 'tool-call-end', choice, index },
    ]
  }
}

/** An id for a call without one (older APIs), derived from the answer, so that it is deterministic. */
function callId(parts: readonly unknown[]): string {
  return `call_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24)}`
}

function promptRefusal(feedback: unknown): GatewayError | undefined {
  const { blockReason, blockReasonMessage } = objectOf(feedback)
  if (typeof blockReason !== 'string') return undefined
  const why = textOf(blockReasonMessage)
  return new GatewayError(
    'content-policy',
    `the upstream blocked the prompt (${blockReason})${why ? `: ${why}` : ''}`,
    { param: 'messages' },
  )
}

/** Images, audio and files of an answer. */
function media(part: Json, choice: number): ChatEvent[] {
  if (isObject(part.fileData)) return [{ type: 'image', choice, source: { url: textOf(part.fileData.fileUri) } }]
  const { mimeType, data } = objectOf(part.inlineData)
  if (typeof data !== 'string' || data === '') return []
  if (textOf(mimeType).startsWith('audio/')) return [{ type: 'audio', choice, data }]
  return [{ type: 'image', choice, source: { data, mediaType: textOf(mimeType) || 'image/png' } }]
}

/** Code that the model executed, and its output, as fenced text. */
function code(part: Json): string {
  if (isObject(part.executableCode)) {
    const { language, code: source } = part.executableCode
    return fenced(textOf(language).toLowerCase(), textOf(source))
  }
  return isObject(part.codeExecutionResult) ? fenced('', textOf(part.codeExecutionResult.output)) : ''
}

const fenced = (language: string, text: string): string => `\n\`\`\`${language}\n${text.replace(/\n$/, '')}\n\`\`\`\n`

/** `logprobsResult` as OpenAI's token objects. */
function logprobs(result: unknown, choice: number): ChatEvent[] {
  const { chosenCandidates, topCandidates } = objectOf(result)
  const top = listOf(topCandidates)
  const content = objectsOf(chosenCandidates).map((chosen, at) => ({
    ...token(chosen),
    top_logprobs: objectsOf(objectOf(top[at]).candidates).map(token),
  }))
  return content.length > 0 ? [{ type: 'logprobs', choice, content }] : []
}

function token(candidate: Json) {
  const text = textOf(candidate.token)
  return {
    token: text,
    logprob: typeof candidate.logProbability === 'number' ? candidate.logProbability : -9999,
    bytes: [...Buffer.from(text)],
  }
}

/** The citations not reported before: each frame of a stream repeats the earlier ones. */
function newCitations(candidate: Json, choice: Choice): ChatEvent[] {
  if (!candidate.groundingMetadata && !candidate.citationMetadata) return []
  return citationsOf(candidate, choice.text).flatMap((citation): ChatEvent[] => {
    const key = JSON.stringify(citation)
    if (choice.cited.has(key)) return []
    choice.cited.add(key)
    return [{ type: 'citation', choice: choice.index, citation }]
  })
}

/** A whole answer. Throws `upstream-broken` on another shape. */
export function generateResult(body: unknown): ChatEvent[] {
  if (isObject(body) && !Array.isArray(body.candidates) && !isObject(body.promptFeedback) && !isObject(body.error))
    throw brokenProtocol('no candidates')
  return new AnswerReader().read(body)
}

/** A fresh reader of a stream. Throws on what is not JSON. */
export function generateReader(): (frame: Frame) => readonly ChatEvent[] {
  const reader = new AnswerReader()
  // Some hosts end the stream with `[DONE]`, which is not part of the dialect.
  return ({ data }) => (data.startsWith('[DONE]') ? [] : reader.read(parseExact(data, argumentNames.generate)))
}
