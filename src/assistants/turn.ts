/** One answer of the model within a run: takes the deltas of a chat, makes the events and objects of a thread. */
import type { Services } from '../core/endpoint.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import { newObject, nowS } from './objects.ts'
import type { Json } from '../lib/json/json-values.ts'
import type { Emit } from '../formats/openai/event-stream.ts'
import { bareMessage } from './message-object.ts'
import { endedStep } from './run-object.ts'
import type { Ending } from './run-object.ts'

interface ToolCall {
  readonly id: string
  readonly name: string
  arguments: string
}

/** `requires_action` = the run waits for the outputs of its tools. */
export type TurnEnd = Ending | { readonly status: 'requires_action' }

/** Reasons for an incomplete message. `content_filter` is a failure of the run, not an ending of its own. */
const messageReasons: Partial<Record<TurnEnd['status'], string>> = {
  incomplete: 'max_tokens',
  failed: 'run_failed',
  cancelled: 'run_cancelled',
  expired: 'run_expired',
}

/** The objects of a turn, to be stored in one transaction with its run. */
export interface TurnObjects {
  readonly put: AssistantObject[]
  /** To be sent once the objects are stored. */
  readonly events: (readonly [event: string, data: object])[]
}

/**
 * Emits its events as deltas come in, and stores nothing. `end` may be called again when its objects could not be
 * stored.
 */
export class Turn {
  /** OpenAI's finish reason; empty = the answer has not ended. */
  finish = ''
  usage: Json | null = null
  readonly #services: Services
  readonly #run: AssistantObject
  readonly #emit: Emit
  readonly #content: Json[] = []
  readonly #calls = new Map<unknown, ToolCall>()
  readonly #thinkingBlocks: unknown[] = []
  #reasoning = ''
  #message: AssistantObject | undefined
  #messageStep: AssistantObject | undefined
  #toolStep: AssistantObject | undefined

  constructor(services: Services, run: AssistantObject, emit: Emit) {
    this.#services = services
    this.#run = run
    this.#emit = emit
  }

  get calls(): readonly ToolCall[] {
    return [...this.#calls.values()]
  }

  /** The call as `required_action` and steps show it. */
  get requiredAction(): Json {
    const tool_calls = this.calls.map(call => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    }))
    return { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls } }
  }

  /** A `delta` of a chunk, or the `message` of a whole answer. */
  push(delta: Json): void {
    if (typeof delta.content === 'string' && delta.content !== '') this.#addText('text', delta.content)
    if (typeof delta.refusal === 'string' && delta.refusal !== '') this.#addText('refusal', delta.refusal)
    if (Array.isArray(delta.images)) for (const image of delta.images as Json[]) this.#addImage(image)
    if (Array.isArray(delta.tool_calls))
      for (const [at, call] of (delta.tool_calls as Json[]).entries()) this.#addCall(call, call.index ?? at)
    if (Array.isArray(delta.thinking_blocks)) this.#thinkingBlocks.push(...(delta.thinking_blocks as unknown[]))
    if (typeof delta.reasoning_content === 'string') this.#reasoning += delta.reasoning_content
  }

  #addText(type: 'text' | 'refusal', piece: string): void {
    this.#openMessage()
    let index = this.#content.findIndex(part => part.type === type)
    if (index < 0) {
      index = this.#content.length
      this.#content.push(type === 'text' ? { type, text: { value: '', annotations: [] } } : { type, refusal: '' })
    }
    const part = this.#content[index]!
    if (type === 'text') (part.text as Json).value += piece
    else part.refusal += piece
    this.#emitContent({ index, type, [type]: type === 'text' ? { value: piece } : piece })
  }

  #addImage(image: Json): void {
    const { url } = (image.image_url ?? {}) as Json
    if (typeof url !== 'string') return
    this.#openMessage()
    const part = { type: 'image_url', image_url: { url } }
    this.#emitContent({ index: this.#content.push(part) - 1, ...part })
  }

  #emitContent(content: Json): void {
    this.#emit('thread.message.delta', {
      id: this.#message!.id,
      object: 'thread.message.delta',
      delta: { content: [content] },
    })
  }

  #openMessage(): void {
    if (this.#message) return
    const thread = { id: this.#run.parentId!, keyId: this.#run.keyId }
    this.#message = bareMessage(this.#services, thread, { role: 'assistant', run: this.#run })
    this.#messageStep = this.#openStep({ type: 'message_creation', message_creation: { message_id: this.#message.id } })
    this.#emit('thread.message.created', this.#message.body)
    this.#emit('thread.message.in_progress', this.#message.body)
  }

  #addCall(piece: Json, key: unknown): void {
    const called = (piece.function ?? {}) as Json
    const added = typeof called.arguments === 'string' ? called.arguments : ''
    this.#toolStep ??= this.#openStep({ type: 'tool_calls', tool_calls: [] })
    const known = this.#calls.get(key)
    if (known) {
      known.arguments += added
      const index = this.calls.indexOf(known)
      return this.#emitCall({ index, type: 'function', function: { arguments: added } })
    }
    const call: ToolCall = { id: this.#callId(piece.id), name: String(called.name ?? ''), arguments: added }
    this.#calls.set(key, call)
    const index = this.#calls.size - 1
    this.#emitCall({
      index,
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: added, output: null },
    })
  }

  /** Outputs are submitted by these ids, so they are made unique where the model's are not. */
  #callId(id: unknown): string {
    const usable = typeof id === 'string' && id !== '' && !this.calls.some(call => call.id === id)
    return usable ? id : `call_${crypto.randomUUID().replaceAll('-', '')}`
  }

  #emitCall(call: Json): void {
    const step_details = { type: 'tool_calls', tool_calls: [call] }
    this.#emit('thread.run.step.delta', {
      id: this.#toolStep!.id,
      object: 'thread.run.step.delta',
      delta: { step_details },
    })
  }

  #openStep(step_details: Json): AssistantObject {
    const { id: run_id, keyId, parentId: thread_id, body } = this.#run
    const step = newObject(
      this.#services,
      { kind: 'step', keyId, parentId: run_id },
      {
        assistant_id: body.assistant_id,
        thread_id,
        run_id,
        type: step_details.type,
        status: 'in_progress',
        step_details,
        last_error: null,
        expired_at: null,
        cancelled_at: null,
        failed_at: null,
        completed_at: null,
        metadata: {},
        usage: null,
      },
    )
    this.#emit('thread.run.step.created', step.body)
    this.#emit('thread.run.step.in_progress', step.body)
    return step
  }

  /** All objects of the turn in their final state. */
  end(end: TurnEnd): TurnObjects {
    const result: TurnObjects = { put: [], events: [] }
    if (end.status === 'completed') this.#openEmptyMessage()
    const atS = nowS(this.#services)
    if (this.#message && this.#messageStep)
      this.#endMessage(result, { message: this.#message, step: this.#messageStep }, end, atS)
    if (this.#toolStep) this.#endTools(result, this.#toolStep, end, atS)
    return result
  }

  /** A completed run always has a message, also when the model's answer is empty. */
  #openEmptyMessage(): void {
    this.#openMessage()
    if (this.#content.length === 0) this.#content.push({ type: 'text', text: { value: '', annotations: [] } })
  }

  #endMessage(
    result: TurnObjects,
    open: { message: AssistantObject; step: AssistantObject },
    end: TurnEnd,
    atS: number,
  ): void {
    const reason = this.finish === 'content_filter' ? this.finish : messageReasons[end.status]
    const state = reason
      ? { status: 'incomplete', incomplete_at: atS, incomplete_details: { reason } }
      : { status: 'completed', completed_at: atS }
    const message = { ...open.message, body: { ...open.message.body, ...state, content: this.#content } }
    // An answer that stopped at its maximum length counts as written.
    const written = end.status === 'requires_action' || end.status === 'incomplete'
    const step = endedStep(
      this.#withUsage(open.step, { isCounted: !this.#toolStep }),
      written ? { status: 'completed' } : end,
      atS,
    )
    result.put.push(message, step)
    result.events.push(
      [`thread.message.${state.status}`, message.body],
      [`thread.run.step.${String(step.body.status)}`, step.body],
    )
  }

  #endTools(result: TurnObjects, open: AssistantObject, end: TurnEnd, atS: number): void {
    const tool_calls = this.calls.map(call => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments, output: null },
    }))
    const body = { ...open.body, step_details: { type: 'tool_calls', tool_calls } }
    const step = this.#withUsage({ ...open, body, hidden: { message: this.#chatMessage() } }, { isCounted: true })
    if (end.status === 'requires_action') return void result.put.push(step)
    const ended = endedStep(step, end, atS)
    result.put.push(ended)
    result.events.push([`thread.run.step.${String(ended.body.status)}`, ended.body])
  }

  /** A turn with text and calls has two steps; the usage is counted on one of them. */
  #withUsage(step: AssistantObject, { isCounted }: { readonly isCounted: boolean }): AssistantObject {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    return { ...step, body: { ...step.body, usage: this.usage && (isCounted ? this.usage : none) } }
  }

  /**
   * The assistant message to send back to the model with the outputs. Some vendors require its thinking blocks.
   */
  #chatMessage(): Json {
    const text = this.#content.map(part => (part.type === 'text' ? (part.text as Json).value : '')).join('')
    return {
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: this.calls.map(call => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      })),
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(this.#thinkingBlocks.length > 0 && { thinking_blocks: this.#thinkingBlocks }),
    }
  }
}
