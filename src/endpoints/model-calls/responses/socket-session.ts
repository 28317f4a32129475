/**
 * OpenAI's Responses over a WebSocket, on every model (developers.openai.com, "WebSocket mode", 2026-11). Each
 * `response.create` is a call of its own: admitted, limited, charged and recorded as its POST would be.
 */
import { streamOf } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { Caller } from '../../../core/caller.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../../../core/errors.ts'
import { closeCodes } from '../../../core/message-socket.ts'
import type { MessageSession, MessageSocket } from '../../../core/message-socket.ts'
import { clientClosed, readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { itemsOf } from '../../../formats/openai/responses/decode.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Edit, JsonBody } from '../../../lib/json/json-body.ts'
import { SseSplitter } from '../../../lib/sse.ts'
import { SocketCall } from '../../common/socket-call.ts'
import { errorEvent, eventOfError, inLane, readMessage } from './socket-events.ts'
import type { CreateMessage } from './socket-events.ts'
import { laneLengthMax, SocketLane } from './socket-lane.ts'
import { SocketMemory } from './socket-memory.ts'
import { SocketSteers } from './socket-steers.ts'

/** What a session answers with. */
export interface SessionParts {
  /** The request that opened the socket. */
  readonly opening: HttpRequest
  readonly services: Services
  /** The caller as it is now. */
  admit(call: HttpRequest): Caller | Promise<Caller>
  create(call: HttpRequest, caller: Caller): Promise<Answer>
  /** Throws, or rejects, what the call would be refused with before its upstream. */
  check(call: HttpRequest, caller: Caller, bytes: Uint8Array): Promise<unknown>
}

/** Responses at the same time on one socket. */
const lanesMax = 32
/** Events that hold the whole response. */
const holdsResponse = /"type":\s*"response\.(?:created|queued|in_progress|completed|incomplete|failed)"/
const terminal: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** A call with what it continues in its input. */
interface ExpandedCall {
  readonly body: JsonBody
  /** As the client named it; undefined = it continues nothing. */
  readonly previousId: string | undefined
  /** The items of this turn alone. */
  readonly input: readonly Json[]
}

/** The answers of one socket. */
export class ResponsesSession implements MessageSession {
  readonly #socket: MessageSocket
  readonly #parts: SessionParts
  readonly #lanes = new Map<string, SocketLane>()
  readonly #calls = new Set<SocketCall>()
  readonly #memory: SocketMemory
  readonly #steers: SocketSteers
  #isLeaving = false
  #isClosed = false
  #waitsForRoom: (() => void)[] = []

  constructor(socket: MessageSocket, parts: SessionParts) {
    this.#socket = socket
    this.#parts = parts
    this.#memory = new SocketMemory(parts.services.current.settings.bodyBytesMax)
    this.#steers = new SocketSteers({
      send: (json, lane) => socket.send(inLane(json, lane)),
      create: message => this.#laneOf(message.lane).add(message, true),
    })
  }

  get busy(): boolean {
    for (const lane of this.#lanes.values()) if (lane.busy) return true
    return false
  }

  message(text: string): void {
    let lane = ''
    try {
      const message = readMessage(text)
      if ('steer' in message) return this.#steers.take(message.steer)
      const { create } = message
      ;({ lane } = create)
      if (this.#isLeaving) throw stopping()
      this.#checkRoom(create.lane)
      this.#laneOf(create.lane).add(create)
    } catch (thrown) {
      this.#report(toGatewayError(thrown), lane)
    }
  }

  drained(): void {
    for (const go of this.#waitsForRoom.splice(0)) go()
  }

  closed(): void {
    this.#isClosed = true
    for (const lane of this.#lanes.values()) lane.clear()
    for (const call of this.#calls) call.leave(clientClosed())
    this.#memory.clear()
    this.drained()
  }

  goAway(): void {
    this.#isLeaving = true
    this.#closeWhenIdle()
  }

  interrupt(error: GatewayError): void {
    this.#isLeaving = true
    for (const lane of this.#lanes.values()) lane.clear()
    for (const call of this.#calls) call.leave(error)
  }

  // ---- lanes

  #checkRoom(name: string): void {
    const lane = this.#lanes.get(name)
    if (!lane && this.#lanes.size >= lanesMax)
      throw new GatewayError(
        'rate-limited',
        `${lanesMax} streams of this connection are busy; wait for one of them, or open another connection`,
        { param: 'stream_id' },
      )
    if (lane && lane.length >= laneLengthMax)
      throw new GatewayError(
        'rate-limited',
        `${laneLengthMax} requests wait already behind the present response; wait for some of them`,
      )
  }

  #laneOf(name: string): SocketLane {
    let lane = this.#lanes.get(name)
    if (!lane) {
      lane = new SocketLane(message => this.#run(message), {
        failed: error => this.#report(error, name),
        idle: () => this.#laneEnded(name),
      })
      this.#lanes.set(name, lane)
    }
    return lane
  }

  #laneEnded(name: string): void {
    this.#lanes.delete(name)
    if (this.#isLeaving) this.#closeWhenIdle()
  }

  #closeWhenIdle(): void {
    if (!this.busy && !this.#isClosed) this.#socket.close(closeCodes.goingAway, 'the gateway stops; connect again')
  }

  #report(error: GatewayError, lane: string): void {
    this.#socket.send(inLane(eventOfError(error), lane))
  }

  // ---- one response

  async #run(message: CreateMessage): Promise<void> {
    const { parts, expanded } = { parts: this.#parts, expanded: this.#expanded(message.body) }
    const { bodyBytesMax } = parts.services.current.settings
    const bytes = expanded.body.bytes
    const call = new SocketCall(parts.opening, '/v1/responses', bytes, bodyBytesMax)
    this.#calls.add(call)
    try {
      const caller = await parts.admit(call)
      if (this.#isClosed) return
      if (!message.generates) return await this.#warmUp(call, caller, { message, expanded })
      await this.#relay(await parts.create(call, caller), message, expanded)
    } finally {
      this.#calls.delete(call)
    }
  }

  #expanded(body: JsonBody): ExpandedCall {
    const given = body.get('previous_response_id')
    const previousId = typeof given === 'string' ? given : undefined
    const steered = previousId === undefined ? [] : this.#steers.pendingFor(previousId)
    const own = itemsOf(body.exact('input', schemaNames) ?? body.get('input'))
    const input = steered.length === 0 ? own : [...steered, ...own]
    if (previousId === undefined || !this.#memory.has(previousId)) {
      if (steered.length === 0) return { body, previousId, input }
      return { body: edited(body, [{ set: 'input', json: exactText(input) }]), previousId, input }
    }
    const history = this.#memory.history(previousId)
    const stored = history.previousId
    const edits: Edit[] = [
      { set: 'input', json: exactText([...history.items, ...input]) },
      stored === undefined
        ? { remove: 'previous_response_id' }
        : { set: 'previous_response_id', json: JSON.stringify(stored) },
    ]
    return { body: edited(body, edits), previousId, input }
  }

  /** Nothing is asked of a model: the call is checked, and what continues it has its input. */
  async #warmUp(
    call: SocketCall,
    caller: Caller,
    { message, expanded }: { readonly message: CreateMessage; readonly expanded: ExpandedCall },
  ): Promise<void> {
    const { services, check } = this.#parts
    await check(call, caller, expanded.body.bytes)
    const id = `resp_${call.id.replaceAll('-', '')}`
    this.#memory.remember(id, expanded.previousId, expanded.input, [])
    const response = {
      id,
      object: 'response',
      created_at: Math.floor(services.clock.epochMs() / 1000),
      status: 'completed',
      model: message.body.get('model') ?? null,
      output: [],
      previous_response_id: expanded.previousId ?? null,
      store: false,
      error: null,
      incomplete_details: null,
      usage: null,
    }
    const events = [
      { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
      { type: 'response.completed', sequence_number: 1, response },
    ]
    for (const event of events) this.#socket.send(inLane(JSON.stringify(event), message.lane))
  }

  async #relay(answer: Answer, message: CreateMessage, expanded: ExpandedCall): Promise<void> {
    const stream = streamOf(answer.body)
    if (!stream) {
      const text = Buffer.from((answer.body as Uint8Array | string | null) ?? '').toString('utf8')
      if (answer.status === 200) {
        for (const { data } of new SseSplitter().push(Buffer.from(text))) this.#event(data, message, expanded)
        return
      }
      const body = exactObject(text)
      const error = isObject(body?.error) ? body.error : { message: text.slice(0, 1000), type: 'api_error' }
      return this.#socket.send(inLane(errorEvent(answer.status, error, answer.headers), message.lane))
    }
    const reader = stream.getReader()
    const splitter = new SseSplitter()
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        for (const { data } of splitter.push(read.value)) this.#event(data, message, expanded)
        while (this.#socket.full && !this.#isClosed) await new Promise<void>(go => this.#waitsForRoom.push(go))
        if (this.#isClosed) return await reader.cancel()
      }
      for (const { data } of splitter.end()) this.#event(data, message, expanded)
    } finally {
      this.#steers.ended(message)
    }
  }

  #event(data: string, message: CreateMessage, expanded: ExpandedCall): void {
    if (!data.startsWith('{')) return
    if (!holdsResponse.test(data.slice(0, 200))) return this.#socket.send(inLane(data, message.lane))
    const event = exactObject(data, schemaNames)
    const response = event?.response
    if (!event || !isObject(response)) return this.#socket.send(inLane(data, message.lane))
    const isOver = terminal.has(event.type)
    if (event.type === 'response.created') this.#steers.began(String(response.id), message)
    if (isOver && response.store === false && typeof response.id === 'string' && event.type !== 'response.failed')
      this.#memory.remember(response.id, expanded.previousId, expanded.input, outputOf(response))
    const isSame = (response.previous_response_id ?? null) === (expanded.previousId ?? null)
    if (!isSame) response.previous_response_id = expanded.previousId ?? null
    this.#socket.send(inLane(isSame ? data : exactText(event), message.lane))
    if (isOver) this.#steers.over(message, { response, isFailed: event.type === 'response.failed' })
  }
}

const outputOf = ({ output }: Json): Json[] => (Array.isArray(output) ? output.filter(isObject) : [])

const edited = (body: JsonBody, edits: readonly Edit[]): JsonBody => readJsonBody(Buffer.concat(body.edited(edits)))

const stopping = (): GatewayError =>
  new GatewayError('overloaded', 'the gateway stops; open another connection and send the request again')
