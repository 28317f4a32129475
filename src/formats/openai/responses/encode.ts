/** A whole Response: the last state of its stream. */
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { ResponsesWriter } from './writer.ts'

/** `model` is the public name. Throws the answer's own error; `upstream-broken` when it never ended. */
export function encodeResponse(events: readonly ChatEvent[], model: string, request: ChatRequest): object {
  const writer = new ResponsesWriter(model, request)
  for (const event of events) {
    if (event.type === 'error') throw event.error
    writer.write(event)
  }
  if (!writer.finished) throw new GatewayError('upstream-broken', "the upstream's answer has no finish reason")
  writer.end()
  return writer.response
}
