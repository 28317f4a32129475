/** One answer of a conversation: asked of the model as an ordinary call, followed by those who look, and stored. */
import type { originOf } from '../assistants/model-call.ts'
import { askModel } from '../assistants/model-call.ts'
import type { AnswerReceiver, ModelAnswer } from '../assistants/model-call.ts'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type {
  AnswerDelta,
  AnswerError,
  AnswerFollower,
  ConversationMessage,
  LiveAnswer,
  MessageContent,
} from '../core/objects/conversations.ts'
import type { Services } from '../core/endpoint.ts'
import { toGatewayError } from '../core/errors.ts'
import type { HeldRun } from '../core/objects/assistants.ts'
import { untilStored } from '../core/objects/until-stored.ts'
import type { Json } from '../lib/json/json-values.ts'
import { textOf } from '../lib/json/json-values.ts'
import { withSources, withToolCalls } from './answer-parts.ts'

/** Canonical path of the calls in the ledger. */
const route = '/chat/conversations/{conversation_id}/messages'
const progressMs = 1000
const none: readonly never[] = []
const answerMsMax = 3_600_000

interface AnswerWork {
  readonly services: Services
  readonly caller: Caller
  readonly origin: ReturnType<typeof originOf>
  /** Of the call, as `promptOf` makes it, with its model. */
  readonly body: Json
  /** Running, as it is stored. */
  readonly message: ConversationMessage
  /** Frees the memory of the prompt. Called once, at the end. */
  release(): void
}

/** One of the slots for runs of this process, taken before the answer is stored: what is stored can be worked on. */
export interface AnswerReservation {
  start(work: AnswerWork): void
  release(): void
}

/** Throws as `DetachedRuns.start` when this process works on as many runs as it may. */
export function reserveAnswer(
  services: Services,
  { id, keyId }: Pick<ConversationMessage, 'id' | 'keyId'>,
): AnswerReservation {
  const decided = Promise.withResolvers<AnswerWork | undefined>()
  services.detached.start({ id, keyId }, async signal => {
    const held = services.answerWatch.hold(id)
    try {
      const work = await decided.promise
      if (work) await new RunningAnswer(work).run(held, signal).finally(() => work.release())
    } finally {
      held.release()
    }
  })
  return { start: work => decided.resolve(work), release: () => decided.resolve(undefined) }
}

class RunningAnswer implements LiveAnswer, AnswerReceiver {
  finish = ''
  usage: Json | null = null
  readonly #work: AnswerWork
  readonly #followers = new Set<AnswerFollower>()
  readonly #startedMs: number
  #message: ConversationMessage
  #firstMs: number | null = null
  #call: Call | undefined
  #isChanged = false

  constructor(work: AnswerWork) {
    this.#work = work
    this.#message = work.message
    this.#startedMs = work.services.clock.monotonicMs()
  }

  snapshot(): ConversationMessage {
    return this.#message
  }

  follow(follower: AnswerFollower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  push(delta: Json): void {
    const text = textOf(delta.content) + textOf(delta.refusal)
    const thinking = textOf(delta.reasoning_content)
    const { content } = this.#message
    const { tool_calls = none, sources = none } = content
    const calls = withToolCalls(tool_calls, delta)
    const pages = withSources(sources, delta)
    const extras = { ...(calls !== tool_calls && { tool_calls: calls }), ...(pages !== sources && { sources: pages }) }
    if (text === '' && thinking === '' && calls === tool_calls && pages === sources) return
    this.#firstMs ??= this.#tookMs()
    this.#show({ text: content.text + text, thinking: (content.thinking ?? '') + thinking, ...extras })
    const piece: AnswerDelta = { ...(text !== '' && { text }), ...(thinking !== '' && { thinking }), ...extras }
    for (const follower of this.#followers) follower.piece(piece)
  }

  async run(held: HeldRun, signal: AbortSignal): Promise<void> {
    const { services, message } = this.#work
    services.liveAnswers.set(message.id, this)
    held.renew({
      expiresAtMs: message.createdAtMs + answerMsMax,
      ended: () => services.detached.cancel(message.id),
    })
    let isSaving = false
    const timer = setInterval(() => {
      if (isSaving || !this.#isChanged) return
      isSaving = true
      this.#isChanged = false
      // While the database is away the answer goes on.
      void services.conversations
        .saveProgress(this.#message)
        .catch(() => {})
        .finally(() => (isSaving = false))
    }, progressMs)
    try {
      await this.#ask(signal)
    } finally {
      clearInterval(timer)
      await this.#end()
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { services, caller, origin, body, message } = this.#work
    try {
      const watch = (call: Call) => {
        this.#call = call
        this.#show({ call_id: call.id })
      }
      const { conversationId: sessionId } = message
      const request = { services, caller, origin, body, signal, route, watch, isPrivate: true, sessionId } as const
      const answer = await askModel(request, this)
      const error = signal.aborted
        ? { code: 'interrupted', message: 'the answer was ended before it was complete' }
        : this.#errorOf(answer)
      this.#show({ dropped_params: answer.dropped, error })
    } catch (thrown) {
      const { code, message: why } = toGatewayError(thrown)
      this.#show({ error: { code: code ?? 'server_error', message: why } })
    }
  }

  #errorOf({ failure, code, retryAfterS }: ModelAnswer): AnswerError | null {
    if (!failure) return null
    const retryAtMs = this.#work.services.clock.epochMs() + (retryAfterS ?? 0) * 1000
    return {
      code: code ?? failure.code,
      message: failure.message,
      ...(retryAfterS !== undefined && { retry_at: new Date(retryAtMs).toISOString() }),
    }
  }

  async #end(): Promise<void> {
    const { services } = this.#work
    this.#show(this.#facts())
    const status = this.#message.content.error ? 'failed' : 'completed'
    const last = { ...this.#message, status, updatedAtMs: services.clock.epochMs() } as const
    this.#message = last
    const isStored = await this.#store().catch(() => false)
    for (const follower of this.#followers) follower.ended(this.#message)
    // It is kept and shown here until the database takes it. After that it counts as interrupted.
    if (!isStored) await untilStored(services.clock, () => this.#store()).catch(() => false)
    services.liveAnswers.delete(last.id)
  }

  async #store(): Promise<true> {
    this.#message = (await this.#work.services.conversations.finish(this.#message)) ?? this.#message
    return true
  }

  /** What is known once the call is settled. */
  #facts(): Partial<MessageContent> {
    const call = this.#call
    const cost = call?.settlement?.costNanoUsd
    const count = (name: string) => (typeof this.usage?.[name] === 'number' ? (this.usage[name] as number) : null)
    return {
      finish_reason: this.finish || null,
      input_tokens: count('prompt_tokens'),
      output_tokens: count('completion_tokens'),
      cost: cost == null ? null : Number(cost) / 1e9,
      duration_ms: this.#tookMs(),
      first_token_ms: this.#firstMs,
      cached: Boolean(call?.cacheHit),
      guardrails: (call?.guardrailOutcomes ?? []).map(({ name, verdict, found }) => ({
        name,
        verdict,
        found: Object.fromEntries(found),
      })),
      call_id: call?.id ?? null,
    }
  }

  #show(content: Partial<MessageContent>): void {
    this.#message = { ...this.#message, content: { ...this.#message.content, ...content } }
    this.#isChanged = true
  }

  #tookMs(): number {
    return Math.round(this.#work.services.clock.monotonicMs() - this.#startedMs)
  }
}
