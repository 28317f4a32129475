/** The events of an answer gathered by choice. */
import type { ChatEvent, FinishReason } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Usage } from '../../../core/usage/usage.ts'
import { annotation, imageObject, ownCitation, redactedBlock, thinkingBlock } from '../answer-fields.ts'

/** Sound in OpenAI's names; `expires_at` in seconds since 1970, 0 = unknown. */
interface GatheredAudio {
  id: string
  expires_at: number
  transcript: string
  /** Each piece is base64 of its own. */
  pieces: Buffer[]
}

/** A call; its arguments are JSON text as the model wrote it. */
export interface AnswerCall {
  id: string
  /** Gemini's of the call. */
  signature: string | undefined
  name: string
  arguments: string
}

/** One choice, joined from its deltas. What few answers have is undefined until it comes. */
export interface GatheredChoice {
  index: number
  text: string
  refusal: string
  reasoning: string
  /** Kept only once a block was signed or redacted; the open text waits in `openBlock`. */
  blocks: Record<string, unknown>[] | undefined
  openBlock: string
  signed: boolean
  /** By their index, which the upstream chose. */
  calls: Map<number, AnswerCall> | undefined
  annotations: Record<string, unknown>[] | undefined
  citations: Record<string, unknown>[] | undefined
  images: Record<string, unknown>[] | undefined
  audio: GatheredAudio | undefined
  contentLogprobs: unknown[] | undefined
  refusalLogprobs: unknown[] | undefined
  finish: FinishReason
  hasEnded: boolean
}

/** A whole answer; `createdS` in seconds since 1970. */
interface GatheredAnswer {
  id: string
  createdS: number | undefined
  choices: GatheredChoice[]
  usage: Usage | undefined
}

function newChoice(index: number): GatheredChoice {
  return {
    index,
    text: '',
    refusal: '',
    reasoning: '',
    blocks: undefined,
    openBlock: '',
    signed: false,
    calls: undefined,
    annotations: undefined,
    citations: undefined,
    images: undefined,
    audio: undefined,
    contentLogprobs: undefined,
    refusalLogprobs: undefined,
    finish: 'stop',
    hasEnded: false,
  }
}

/** Sorted by choice. Throws the answer's own error, and `upstream-broken` when a choice never ended. */
export function gather(events: readonly ChatEvent[]): GatheredAnswer {
  const answer: GatheredAnswer = { id: '', createdS: undefined, choices: [], usage: undefined }
  const choices = new Map<number, GatheredChoice>()
  for (const event of events) {
    if (event.type === 'start') {
      answer.id = event.id
      answer.createdS = event.createdS
    } else if (event.type === 'usage') answer.usage = event.usage
    else if (event.type === 'error') throw event.error
    else add(choiceOf(choices, event.choice), event)
  }
  answer.choices = [...choices.values()].sort((a, b) => a.index - b.index)
  for (const choice of answer.choices) {
    if (!choice.hasEnded) throw unfinished(choice)
    closeBlock(choice)
  }
  return answer
}

const unfinished = ({ index }: GatheredChoice): GatewayError =>
  new GatewayError('upstream-broken', `the upstream's answer has no finish reason for choice ${index}`)

/** Adds it where it is new. */
function choiceOf(choices: Map<number, GatheredChoice>, index: number): GatheredChoice {
  let choice = choices.get(index)
  if (!choice) choices.set(index, (choice = newChoice(index)))
  return choice
}

function add(choice: GatheredChoice, event: Exclude<ChatEvent, { type: 'start' | 'usage' | 'error' }>): void {
  switch (event.type) {
    case 'text':
      choice.text += event.text
      return
    case 'refusal':
      choice.refusal += event.text
      return
    case 'reasoning':
      return addReasoning(choice, event)
    case 'tool-call-start':
      choice.calls ??= new Map()
      choice.calls.set(event.index, { id: event.id, name: event.name, signature: event.signature, arguments: '' })
      return
    case 'tool-call-arguments': {
      const call = choice.calls?.get(event.index)
      if (!call)
        throw new GatewayError('upstream-broken', "the upstream's answer continues a tool call that never began")
      call.arguments += event.fragment
      return
    }
    case 'citation': {
      const note = annotation(event)
      if (note) (choice.annotations ??= []).push(note)
      else (choice.citations ??= []).push(ownCitation(event))
      return
    }
    case 'image':
      choice.images ??= []
      choice.images.push(imageObject(event.source))
      return
    case 'audio':
      return addAudio(choice, event)
    case 'logprobs':
      if (event.content) for (const token of event.content) (choice.contentLogprobs ??= []).push(token)
      if (event.refusal) for (const token of event.refusal) (choice.refusalLogprobs ??= []).push(token)
      return
    case 'finish':
      choice.finish = event.reason
      choice.hasEnded = true
  }
}

function addReasoning(choice: GatheredChoice, event: Extract<ChatEvent, { type: 'reasoning' }>): void {
  if (event.text) {
    choice.reasoning += event.text
    choice.openBlock += event.text
  }
  if (event.signature) {
    choice.signed = true
    addBlock(choice, thinkingBlock(choice.openBlock, event.signature))
    choice.openBlock = ''
  }
  if (event.redacted) {
    closeBlock(choice)
    choice.signed = true
    addBlock(choice, redactedBlock(event.redacted))
  }
}

/** What was not signed. */
function closeBlock(choice: GatheredChoice): void {
  if (choice.openBlock === '') return
  addBlock(choice, thinkingBlock(choice.openBlock, ''))
  choice.openBlock = ''
}

function addBlock(choice: GatheredChoice, block: Record<string, unknown>): void {
  choice.blocks ??= []
  choice.blocks.push(block)
}

function addAudio(choice: GatheredChoice, event: Extract<ChatEvent, { type: 'audio' }>): void {
  const audio = (choice.audio ??= { id: '', expires_at: 0, transcript: '', pieces: [] })
  if (event.id !== undefined) audio.id = event.id
  if (event.expiresAtS !== undefined) audio.expires_at = event.expiresAtS
  if (event.transcript !== undefined) audio.transcript += event.transcript
  if (event.data !== undefined) audio.pieces.push(Buffer.from(event.data, 'base64'))
}
