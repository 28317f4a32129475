/** Sends the telemetry of coding agents to the operator's collector. */
import type { TelemetryPiece, TelemetryRelay } from '../core/agents.ts'
import type { Answer } from '../core/answer.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Transport } from '../core/transport.ts'

const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 20_000 }
const answerBytesMax = 64 * 1024
/** Of what waits for the collector; beyond it agents have to try again later. */
const waitingBytesMax = 64 * 1024 * 1024
const retryAfterMs = 30_000

/**
 * Relays one piece and resolves with the collector's own answer. Throws `overloaded`, after which exporters try again
 * (OTLP/HTTP, "Retryable response codes"), where the collector cannot be reached or is too slow.
 */
export function createTelemetryRelay(transport: Transport) {
  let waitingBytes = 0
  return async (relay: TelemetryRelay, { signal, contentType, body }: TelemetryPiece): Promise<Answer> => {
    if (waitingBytes + body.length > waitingBytesMax)
      throw new GatewayError('overloaded', 'the collector of telemetry is too slow; send it again later', {
        retryAfterMs,
      })
    waitingBytes += body.length
    try {
      const head = { url: `${relay.endpoint}/v1/${signal}`, headers: { ...relay.headers, 'content-type': contentType } }
      const answer = await transport.send({ method: 'POST', head, body: [body], timeouts }).response
      const content = await answer.body.bytes(answerBytesMax)
      const type = answer.header('content-type')
      return { status: answer.status, headers: type === undefined ? {} : { 'content-type': type }, body: content }
    } catch (cause) {
      const { message } = toGatewayError(cause)
      throw new GatewayError('overloaded', `the collector of telemetry cannot be reached: ${message}`, {
        cause,
        retryAfterMs,
      })
    } finally {
      waitingBytes -= body.length
    }
  }
}
