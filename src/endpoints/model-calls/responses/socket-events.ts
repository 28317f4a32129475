/** The messages of OpenAI's Responses over a WebSocket: what clients send, and how answers become events. */
import { GatewayError } from '../../../core/errors.ts'
import { openaiErrorBody } from '../../../formats/openai/error.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { Edit, JsonBody } from '../../../lib/json/json-body.ts'

/** `response.create`, checked. */
export interface CreateMessage {
  /** The call as `POST /v1/responses` takes it, streamed. */
  readonly body: JsonBody
  /** Requests of one lane are answered one after the other; empty = that of the socket. */
  readonly lane: string
  /** false = nothing is generated: the input is prepared for what continues it. */
  readonly generates: boolean
}

/** `response.steer`, checked but for its input. */
export interface SteerMessage {
  readonly previousId: string
  readonly input: unknown
}

const refused = (param: string, message: string): GatewayError =>
  new GatewayError('invalid-request', message, { param })

/** Throws `invalid-request`. */
export function readMessage(text: string): { create: CreateMessage } | { steer: SteerMessage } {
  const message = readJsonBody(Buffer.from(text, 'utf8'))
  const type = message.get('type')
  if (type === 'response.create') return { create: createOf(message) }
  if (type === 'response.steer') return { steer: steerOf(message) }
  const shown = typeof type === 'string' ? `'${type.slice(0, 100)}' is none of them` : 'there is none'
  throw refused('type', `a message has the \`type\` \`response.create\` or \`response.steer\`; ${shown}`)
}

const laneForm = /^[\x21-\x7e]{1,128}$/
/** Of the socket, not of the call. */
const envelope = ['type', 'stream_id', 'generate', 'event_id', 'background']

function createOf(message: JsonBody): CreateMessage {
  const lane = message.get('stream_id') ?? ''
  if (lane !== '' && !(typeof lane === 'string' && laneForm.test(lane)))
    throw refused('stream_id', '`stream_id` is a text of 1 to 128 visible characters of ASCII')
  const generates = message.get('generate') ?? true
  if (typeof generates !== 'boolean') throw refused('generate', '`generate` is true or false')
  if (message.get('background') === true)
    throw refused('background', 'a response over a WebSocket does not run in the background; leave `background` out')
  const edits: Edit[] = envelope.filter(name => message.has(name)).map(name => ({ remove: name }))
  const body = readJsonBody(Buffer.concat(message.edited([...edits, { set: 'stream', json: 'true' }])))
  return { body, lane: lane as string, generates }
}

function steerOf(message: JsonBody): SteerMessage {
  const previousId = message.get('previous_response_id')
  if (typeof previousId !== 'string')
    throw refused('previous_response_id', '`previous_response_id` is the id of a response of this connection')
  return { previousId, input: message.get('input') }
}

/** An event with the lane that it belongs to. `json` = an object. */
export function inLane(json: string, lane: string): string {
  return lane === '' ? json : `{"stream_id":${JSON.stringify(lane)},${json.slice(1)}`
}

/** The event that reports an error; `headers` = those of the answer that tell when to come again. */
export function errorEvent(status: number, error: object, headers: Readonly<Record<string, string>> = {}): string {
  const told = Object.entries(headers).filter(([name]) => name === 'retry-after' || name.startsWith('x-ratelimit-'))
  return JSON.stringify({
    type: 'error',
    status,
    error,
    ...(told.length > 0 && { headers: Object.fromEntries(told) }),
  })
}

/** The same for an error of the gateway. */
export function eventOfError(error: GatewayError): string {
  return errorEvent(error.status, (openaiErrorBody(error) as { error: object }).error, {
    ...(error.retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }),
  })
}
