/** Answers in Gemini's words (ai.google.dev/api/generate-content, "GenerateContentResponse"). */
import { brokenAnswer } from '../../core/errors.ts'
import type { ChatEvent, ChatRequest, FinishReason, Source } from '../../core/hub/chat.ts'
import { encodeThoughts } from './thought-signature.ts'
import type { SignedThought } from './thought-signature.ts'
import { showsThoughts } from './decode.ts'
import { usageMetadata } from './usage.ts'
import { objectsOrOne } from './json-names.ts'
import { isObject, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { citedSource } from '../../core/dialects/citations.ts'
import type { CitationEvent } from '../../core/dialects/citations.ts'
import { exactObject } from '../../lib/json/exact-json.ts'

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
}
/** Raw samples, as OpenAI streams them and Gemini speaks. */
const audioType = 'audio/L16;codec=pcm;rate=24000'
const shownCharactersMax = 200

/** A call whose arguments still come, or that waits for one before it. */
interface OpenCall {
  readonly id: string
  readonly name: string
  arguments: string
  hasEnded: boolean
}

type ChoiceEvent = Extract<ChatEvent, { choice: number }>

/** One candidate, fed with events in order. */
export class Candidate {
  readonly index: number
  readonly #showThoughts: boolean
  /** Thinking that waits for its signature. */
  #thought = ''
  /** Signed thoughts that wait for the part that carries them. */
  #signed: SignedThought[] = []
  /** Calls that have not gone out, in the order of their beginnings. */
  readonly #calls = new Map<number, OpenCall>()
  #malformed = ''
  #logprobs: Json[] = []
  readonly #citations: CitationEvent[] = []
  /** What it has said so far, which the places of citations are in. */
  #text = ''
  #finish: FinishReason = 'stop'

  constructor(index: number, showThoughts: boolean) {
    this.index = index
    this.#showThoughts = showThoughts
  }

  /** The parts that this event completes. Throws `upstream-broken` for a call that never began. */
  take(event: ChoiceEvent): Json[] {
    switch (event.type) {
      case 'text':
        this.#text += event.text
        return event.text === '' ? [] : [this.#carry({ text: event.text })]
      case 'refusal':
        return event.text === '' ? [] : [this.#carry({ text: event.text })]
      case 'reasoning':
        return this.#reasoning(event)
      case 'tool-call-start':
        this.#calls.set(event.index, { id: event.id, name: event.name, arguments: '', hasEnded: false })
        return []
      case 'tool-call-arguments': {
        const call = this.#calls.get(event.index)
        if (!call) throw brokenAnswer("the upstream's answer continues a tool call that never began")
        call.arguments += event.fragment
        return []
      }
      case 'tool-call-end':
        return this.#endCall(event.index)
      case 'image':
        return [this.#carry(imagePart(event.source))]
      case 'audio':
        return [
          ...(event.transcript ? [this.#carry({ text: event.transcript })] : []),
          ...(event.data ? [this.#carry({ inlineData: { mimeType: audioType, data: event.data } })] : []),
        ]
      case 'citation':
        this.#citations.push(event)
        return []
      case 'logprobs':
        for (const token of [...(event.content ?? []), ...(event.refusal ?? [])])
          if (isObject(token)) this.#logprobs.push(token)
        return []
      case 'finish':
        this.#finish = event.reason
        for (const call of this.#calls.values()) call.hasEnded = true
        return this.#endedCalls()
    }
  }

  /** The logprobs since they were last taken. */
  takeLogprobs(): Json {
    const tokens = this.#logprobs
    if (tokens.length === 0) return {}
    this.#logprobs = []
    const topCandidates = tokens.map(token => ({ candidates: objectsOrOne(token.top_logprobs).map(logprob) }))
    return { logprobsResult: { chosenCandidates: tokens.map(logprob), topCandidates } }
  }

  /** The thoughts that no part carried, on a part of their own: a client never gets a candidate without any part. */
  lastPart(): Json {
    return this.#carry({ text: '' })
  }

  get hasThoughts(): boolean {
    return this.#signed.length > 0
  }

  /** Why it ended, and the sources of what it says. */
  ending(): Json {
    const grounding = groundingMetadata(this.#citations, this.#text)
    // A call cut by the length limit is what the limit does; any other is the model's failure.
    const isMalformed = this.#malformed !== '' && this.#finish !== 'length'
    return {
      finishReason: isMalformed ? 'MALFORMED_FUNCTION_CALL' : finishReasons[this.#finish],
      ...(this.#malformed !== '' && { finishMessage: this.#malformed }),
      ...(grounding && { groundingMetadata: grounding }),
    }
  }

  #reasoning({ text, signature, redacted }: Extract<ChatEvent, { type: 'reasoning' }>): Json[] {
    if (text) this.#thought += text
    if (signature) {
      this.#signed.push({ text: this.#thought, signature })
      this.#thought = ''
    }
    if (redacted) this.#signed.push({ redacted })
    return text && this.#showThoughts ? [{ text, thought: true }] : []
  }

  #carry(part: Json): Json {
    this.#thought = ''
    if (this.#signed.length === 0) return part
    const thoughtSignature = encodeThoughts(this.#signed)
    this.#signed = []
    return { ...part, thoughtSignature }
  }

  /** A call waits for those that began before it: their order is that of the whole answer. */
  #endCall(index: number): Json[] {
    const call = this.#calls.get(index)
    if (!call) return []
    call.hasEnded = true
    return this.#endedCalls()
  }

  #endedCalls(): Json[] {
    const parts: Json[] = []
    for (const [index, call] of this.#calls) {
      if (!call.hasEnded) break
      this.#calls.delete(index)
      const args = readArguments(call.arguments)
      if (args) parts.push(this.#carry({ functionCall: { id: call.id, name: call.name, args } }))
      else this.#malformed = malformed(call)
    }
    return parts
  }
}

function malformed({ name, arguments: args }: OpenCall): string {
  const written = args.slice(0, shownCharactersMax).toWellFormed()
  return `the call of ${JSON.stringify(name)} has arguments that are not one JSON object: ${written}`
}

/** Gemini's calls carry an object; models that take none write nothing. */
function readArguments(text: string): Json | undefined {
  return text.trim() === '' ? {} : exactObject(text)
}

function imagePart(source: Source): Json {
  if ('data' in source) return { inlineData: { mimeType: source.mediaType, data: source.data } }
  const url = 'url' in source ? source.url : source.fileId
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url)
  return inline
    ? { inlineData: { mimeType: inline[1], data: inline[2] } }
    : { fileData: { mimeType: 'image/*', fileUri: url } }
}

const logprob = (token: Json): Json => ({ token: token.token, logProbability: token.logprob })

/** Counts the bytes of UTF-8 before positions in `text`; it reads the text once, and only for the first position. */
function byteCounter(text: string): (position: number) => number {
  let offsets: Uint32Array | undefined
  return position => {
    offsets ??= byteOffsets(text)
    return offsets[Math.max(0, Math.min(position, text.length))]!
  }
}

/** Before each UTF-16 unit, and before the end. */
function byteOffsets(text: string): Uint32Array {
  const offsets = new Uint32Array(text.length + 1)
  for (let at = 0; at < text.length; at++) offsets[at + 1] = offsets[at]! + bytesOfUnit(text.charCodeAt(at))
  return offsets
}

/** A surrogate pair has four bytes, two of them counted for each half. */
function bytesOfUnit(unit: number): number {
  if (unit < 0x80) return 1
  const isSurrogate = unit >= 0xd8_00 && unit <= 0xdf_ff
  return unit < 0x8_00 || isSurrogate ? 2 : 3
}

/** Sources as those of a search: that is where Gemini's clients look for them. Google counts in bytes of UTF-8. */
function groundingMetadata(citations: readonly CitationEvent[], said: string): Json | undefined {
  if (citations.length === 0) return undefined
  const bytesBefore = byteCounter(said)
  const chunks: Json[] = []
  const supports: Json[] = []
  citations.forEach((event, at) => {
    const { url, title, span } = citedSource(event)
    const document = () => ({ retrievedContext: { title, text: textOf(event.citation.cited_text) } })
    chunks.push(url === undefined ? document() : { web: { uri: url, title } })
    if (!span) return
    const { start, end } = span
    const segment = { startIndex: bytesBefore(start), endIndex: bytesBefore(end), text: said.slice(start, end) }
    supports.push({ segment, groundingChunkIndices: [at] })
  })
  return { groundingChunks: chunks, ...(supports.length > 0 && { groundingSupports: supports }) }
}

/** The upstream's id, else one of our own. */
export const responseId = (id: string): string => id || crypto.randomUUID().replaceAll('-', '')

/** `model` is the public name. Throws the answer's own error; `upstream-broken` when a candidate never ended. */
export function encodeGenerate(events: readonly ChatEvent[], model: string, request: ChatRequest): object {
  const candidates = new Map<number, { candidate: Candidate; parts: Json[]; finished: boolean }>()
  const answer: Json = {}
  let id = ''
  for (const event of events) {
    if (event.type === 'start') id = event.id
    else if (event.type === 'usage') answer.usageMetadata = usageMetadata(event.usage)
    else if (event.type === 'error') throw event.error
    else {
      let open = candidates.get(event.choice)
      if (!open) {
        open = { candidate: new Candidate(event.choice, showsThoughts(request)), parts: [], finished: false }
        candidates.set(event.choice, open)
      }
      for (const part of open.candidate.take(event)) joinPart(open.parts, part)
      if (event.type === 'finish') open.finished = true
    }
  }
  const list = [...candidates.values()].sort((a, b) => a.candidate.index - b.candidate.index)
  const cut = list.find(one => !one.finished)
  if (cut) throw brokenAnswer(`the upstream's answer has no finish reason for candidate ${cut.candidate.index}`)
  const whole = list.map(one => wholeCandidate(one.candidate, one.parts))
  return { candidates: whole, ...answer, modelVersion: model, responseId: responseId(id) }
}

function wholeCandidate(candidate: Candidate, parts: Json[]): Json {
  if (parts.length === 0 || candidate.hasThoughts) parts.push(candidate.lastPart())
  return {
    content: { parts, role: 'model' },
    ...candidate.ending(),
    index: candidate.index,
    ...candidate.takeLogprobs(),
  }
}

/** Pieces of one text are one part. */
function joinPart(parts: Json[], part: Json): void {
  const last = parts.at(-1)
  const joins = last && typeof last.text === 'string' && typeof part.text === 'string' && last.thought === part.thought
  if (joins && part.thoughtSignature === undefined) last.text = (last.text as string) + part.text
  else parts.push(part)
}
