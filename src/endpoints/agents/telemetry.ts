/** Telemetry of coding agents (OTLP over HTTP), relayed to the operator's collector as it came. */
import { telemetrySignals } from '../../core/agents.ts'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { readBody } from '../../core/request.ts'
import { anthropicErrorBody } from '../../formats/anthropic/error.ts'
import { bytes, json, named, shape, text } from '../openapi/schema.ts'
import { answerOf } from '../common/json-endpoint.ts'

const telemetryTakenSchema = named('TelemetryTaken', () => shape({}, { partialSuccess: shape({ errorMessage: text }) }))

const bodyBytesMax = 8 * 1024 * 1024
const protobuf = 'application/x-protobuf'

const notRelayed =
  'this gateway relays no such telemetry, and has dropped it; its operator may set agent_telemetry_endpoint'

/**
 * `POST /v1/metrics`, `/v1/logs`, `/v1/traces`. What is not relayed is answered with 200 and a warning, since exporters
 * log an error for anything else at every flush (OTLP 1.x, "Partial success").
 */
export const telemetryEndpoints: readonly Endpoint[] = telemetrySignals.map(signal => ({
  method: 'POST',
  paths: [`/v1/${signal}`],
  auth: 'key',
  errorBody: anthropicErrorBody,
  doc: {
    operationId: `relay${signal[0]!.toUpperCase()}${signal.slice(1)}`,
    summary: `Telemetry of coding agents (OTLP ${signal}), for the operator's collector`,
    tag: 'Agents',
    requestType: protobuf,
    request: bytes,
    json,
    success: { ...json(telemetryTakenSchema), [protobuf]: bytes },
    failures: [413, 503],
  },
  async handle(request, services) {
    const body = await readBody(request.body, bodyBytesMax)
    const contentType = request.headers.get('content-type') ?? protobuf
    const relay = services.current.settings.agents.telemetry
    if (!relay?.signals.includes(signal)) return dropped(contentType)
    return services.relayTelemetry(relay, { signal, contentType, body })
  },
}))

function dropped(contentType: string): Answer {
  if (contentType.includes('json'))
    return answerOf(telemetryTakenSchema, { partialSuccess: { errorMessage: notRelayed } })
  // Export...ServiceResponse.partial_success (1) with error_message (2), the same numbers for all three.
  const message = delimited(2, Buffer.from(notRelayed))
  return { status: 200, headers: { 'content-type': protobuf }, body: delimited(1, message) }
}

/** A field of protobuf with a length of less than 16,384. */
function delimited(field: number, content: Uint8Array): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...size]), content])
}
