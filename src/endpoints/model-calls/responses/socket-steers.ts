/**
 * `response.steer`: input for a response under way. It is given to a response that follows by itself, or, where the
 * client owes results of tools, to the one that brings these.
 */
import { itemsOf } from '../../../formats/openai/responses/decode.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { Edit } from '../../../lib/json/json-body.ts'
import type { CreateMessage, SteerMessage } from './socket-events.ts'

interface Steer {
  readonly id: string
  readonly input: unknown
  readonly items: readonly Json[]
}

/** A response of this socket, from its first event to its last. */
interface Running {
  readonly id: string
  readonly message: CreateMessage
  readonly steers: Steer[]
}

interface SteerParts {
  /** `json` = an event. */
  send(json: string, lane: string): void
  /** As the next response of its lane. */
  create(message: CreateMessage): void
}

const steersMax = 16
/** Ids of ended responses that are known, so that a late steer is told so. */
const endedMax = 100
/** Items that the client answers, and the type of the answer. */
const owed: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  local_shell_call: 'local_shell_call_output',
  shell_call: 'shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
  computer_call: 'computer_call_output',
  mcp_approval_request: 'mcp_approval_response',
}

/** The steering of one socket. */
export class SocketSteers {
  readonly #parts: SteerParts
  readonly #running = new Map<string, Running>()
  readonly #pending = new Map<string, Steer[]>()
  #ended: string[] = []

  constructor(parts: SteerParts) {
    this.#parts = parts
  }

  take({ previousId, input }: SteerMessage): void {
    const running = this.#running.get(previousId)
    const lane = running?.message.lane ?? ''
    const items = steerItems(input)
    const why = !running
      ? this.#ended.includes(previousId)
        ? (['response_already_completed', 'the response has ended; send the input in a `response.create`'] as const)
        : (['response_not_found', 'no response of this id is under way on this connection'] as const)
      : running.message.body.has('conversation')
        ? (['steering_not_supported', 'a response that is bound to a conversation is not steered'] as const)
        : !items
          ? (['invalid_input', '`input` is a text, or a list of at least one message of the role `user`'] as const)
          : running.steers.length >= steersMax
            ? (['too_many_pending_steers', `${steersMax} inputs wait already for this response`] as const)
            : undefined
    if (why) return this.#failed({ previousId, input, lane }, why)
    const steer = { id: `steer_${crypto.randomUUID().replaceAll('-', '')}`, input, items: items! }
    running!.steers.push(steer)
    this.#send('accepted', { steer: { id: steer.id, previous_response_id: previousId } }, lane)
  }

  /** The response of `message` has its id. */
  began(id: string, message: CreateMessage): void {
    this.#running.set(id, { id, message, steers: [] })
  }

  /** Its last event is sent. */
  over(message: CreateMessage, { response, isFailed }: { readonly response: Json; readonly isFailed: boolean }): void {
    const running = this.#runningOf(message)
    if (!running) return
    this.#forget(running)
    if (running.steers.length === 0) return
    if (isFailed) return this.#allFailed(running)
    const required = (Array.isArray(response.output) ? response.output.filter(isObject) : []).flatMap(stubOf)
    if (required.length === 0) return this.#succeed(running)
    this.#pending.set(running.id, running.steers)
    for (const { id } of running.steers) {
      const steer = { id, previous_response_id: running.id }
      this.#send('pending', { steer, required_input: required }, message.lane)
    }
  }

  /** The answer to `message` has ended, with or without a last event. */
  ended(message: CreateMessage): void {
    const running = this.#runningOf(message)
    if (!running) return
    this.#forget(running)
    this.#allFailed(running)
  }

  /** Input that waits for the response which continues this one; taken once. */
  pendingFor(previousId: string): readonly Json[] {
    const steers = this.#pending.get(previousId) ?? []
    this.#pending.delete(previousId)
    return steers.flatMap(one => one.items)
  }

  // ---- inside

  #succeed({ id, message, steers }: Running): void {
    const edits: Edit[] = [
      { set: 'input', json: exactText(steers.flatMap(one => one.items)) },
      { set: 'previous_response_id', json: JSON.stringify(id) },
    ]
    this.#parts.create({ ...message, body: readJsonBody(Buffer.concat(message.body.edited(edits))) })
  }

  #runningOf(message: CreateMessage): Running | undefined {
    return [...this.#running.values()].find(one => one.message === message)
  }

  #forget({ id }: Running): void {
    this.#running.delete(id)
    this.#ended = [...this.#ended.slice(1 - endedMax), id]
  }

  #allFailed({ id, message, steers }: Running): void {
    for (const { id: steerId, input } of steers)
      this.#failed({ previousId: id, input, lane: message.lane, steerId }, [
        'successor_creation_failed',
        'the response has failed; send the input in a `response.create`',
      ])
  }

  #failed(
    at: { previousId: string; input: unknown; lane: string; steerId?: string },
    [code, message]: readonly [code: string, message: string],
  ): void {
    const steer = {
      ...(at.steerId !== undefined && { id: at.steerId }),
      previous_response_id: at.previousId,
      input: at.input ?? '',
    }
    this.#send('failed', { steer, error: { code, message, type: 'invalid_request_error' } }, at.lane)
  }

  #send(what: string, fields: object, lane: string): void {
    this.#parts.send(JSON.stringify({ type: `response.steer.${what}`, sequence_number: 0, ...fields }), lane)
  }
}

function steerItems(input: unknown): Json[] | undefined {
  if (input === '' || (typeof input !== 'string' && !Array.isArray(input))) return undefined
  const items = itemsOf(input)
  const isMessage = (item: unknown): boolean =>
    isObject(item) && item.role === 'user' && (item.type ?? 'message') === 'message'
  return items.length > 0 && items.every(isMessage) ? items : undefined
}

/** What the client has to send for an item; nothing = it owes nothing. */
function stubOf(item: Json): Json[] {
  const type = owed[String(item.type)]
  if (type === undefined) return []
  if (type === 'mcp_approval_response') return [{ type, approval_request_id: item.id, approve: null }]
  return [{ type, call_id: item.call_id, output: null }]
}
