/** A call of a tool: with the same policies and the same settlement as a call of a model. */
import { randomUUIDv7 } from 'bun'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import { clientClosed } from '../core/request.ts'
import type { Client } from '../core/request.ts'
import type { RunTool, ToolCallStart } from '../core/tools.ts'
import { admitted } from './admission/admission.ts'
import { CallControl } from './call-control.ts'
import { CallRecord } from './call-record.ts'
import { answerHeaders } from './respond.ts'
import type { ServeParts } from './serve.ts'
import { settler } from './settlement/settle.ts'

/** Binds the parts. See `RunTool`. */
export function createRunTool(parts: ServeParts): RunTool {
  const settle = settler(parts)
  return async (start, work) => {
    const call = openToolCall(parts, start)
    const control = new CallControl(call, settle)
    const ending = new AbortController()
    control.onLeft = error => ending.abort(error)
    try {
      if (control.left) throw clientClosed()
      await refuseReplies(admitted(call, parts.policies.head))
      await refuseReplies(admitted(call, parts.policies.body))
      // From here on it may have an effect, and costs what it costs.
      start.tool.isSent = true
      call.progress.attempts = 1
      const sentMs = parts.clock.monotonicMs()
      const result = await work(ending.signal).finally(() => call.waitedForUpstream(parts.clock.monotonicMs() - sentMs))
      control.settle('success', 200)
      return { result, callId: call.id, headers: answerHeaders(parts, call) }
    } catch (thrown) {
      const error = toGatewayError(thrown)
      control.settle(error.kind === 'client-closed' ? 'client_closed' : 'error', error.status, error)
      error.answerHeaders = answerHeaders(parts, call)
      throw error
    }
  }
}

/** A policy may answer a call of a model in its place; what it would say of a tool is not defined. */
async function refuseReplies(admission: ReturnType<typeof admitted>): Promise<void> {
  const reply = await admission
  if (reply) throw new GatewayError('forbidden', 'a policy of this gateway answers in the place of the tool')
}

function openToolCall(parts: ServeParts, start: ToolCallStart): CallRecord {
  const { caller, route, headers, clientAddress, userAgent, tool } = start
  const call = new CallRecord(parts, {
    id: randomUUIDv7(),
    operation: 'tools',
    route,
    caller,
    client: clientOf(start),
    userAgent,
    clientAddress,
    headers,
    format: undefined,
    options: {},
    announcedBytes: tool.requestBytes,
    models: parts.current.models.of(caller),
  })
  call.tool = tool
  return call
}

/** The one who waits for the tool leaves when the signal says so. */
function clientOf({ signal, clientAddress }: ToolCallStart): Client {
  const why = (): GatewayError => (signal?.reason instanceof GatewayError ? signal.reason : clientClosed())
  return {
    clientAddress,
    get left() {
      return signal?.aborted ?? false
    },
    onLeft: listener => signal?.addEventListener('abort', () => listener(why()), { once: true }),
  }
}
