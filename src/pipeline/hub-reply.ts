/** Encodes a policy's answers from hub types to the client's dialect. */
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { ChatFormat, Format, UnaryFormat, UnaryOperations } from '../core/format.ts'
import { streamingOf } from '../core/format.ts'

/** See `Call.reply`. */
export function hubReply(call: Call, answer: readonly ChatEvent[] | object): Reply {
  const { format } = call
  if (format && 'writer' in format && Array.isArray(answer)) return chatReply(call, format, answer as ChatEvent[])
  if (format && 'encode' in format && !('writer' in format)) return resultReply(call, format, answer)
  throw new GatewayError('internal', `a call of ${call.operation} cannot be answered in hub words`)
}

function chatReply(call: Call, format: ChatFormat, events: readonly ChatEvent[]): Reply {
  const input = call.input()
  if (input.kind !== 'chat') throw new GatewayError('internal', 'the input of a chat is not a chat')
  const { request } = input
  if (!call.stream) return jsonReply(format.encode(events, call.model, request))
  const writer = format.writer(call.model, request)
  const body = events.map(event => writer.write(event)).join('') + writer.end()
  return { status: 200, contentType: streamingOf(format).contentType, body }
}

type AnyUnary = { [O in keyof UnaryOperations]: UnaryFormat<O> }[keyof UnaryOperations] & Format

function resultReply(call: Call, format: AnyUnary, result: object): Reply {
  const input = call.input()
  if (input.kind === 'form' || input.kind === 'object')
    throw new GatewayError('internal', `a call of ${call.operation} has no request in hub words`)
  // The operation of the format is that of the input: TypeScript cannot follow it through the union.
  const encode = format.encode as (result: object, model: string, request: object) => object
  return jsonReply(encode(result, call.model, input.request))
}

const jsonReply = (value: object): Reply => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value),
})
