/**
 * A collector for tests: takes OTLP over HTTP and reads it by OpenTelemetry's own protocol buffers (`otlp-proto`, an
 * earlier release of its transformer, which still had the generated decoders).
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import root from 'otlp-proto/build/src/generated/root.js'

type Attributes = Readonly<Record<string, unknown>>

/** A span as it arrived. */
export interface SeenSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Empty = it is a root. */
  readonly parentSpanId: string
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Attributes
  readonly resource: Attributes
  /** 2 = an error. */
  readonly status: number
}

/** A log record as it arrived. */
export interface SeenLog {
  readonly body: unknown
  readonly eventName: string
  readonly severity: string
  readonly traceId: string
  readonly attributes: Attributes
}

/** A point of a histogram as it arrived last. */
export interface SeenPoint {
  readonly name: string
  readonly unit: string
  readonly count: number
  readonly sum: number
  readonly bounds: readonly number[]
  readonly attributes: Attributes
}

type Loose = Record<string, unknown>
const list = (value: unknown): Loose[] => (Array.isArray(value) ? (value as Loose[]) : [])

interface Message {
  decode(bytes: Uint8Array): object
  toObject(message: object, options: object): object
}
/** The package has no types for them. */
const { collector } = (root as unknown as { opentelemetry: { proto: { collector: Loose } } }).opentelemetry.proto
const messageOf = (signal: string, name: string): Message =>
  (collector as Record<string, { v1: Record<string, Message> }>)[signal]!.v1[name]!
const messages = {
  '/v1/traces': messageOf('trace', 'ExportTraceServiceRequest'),
  '/v1/metrics': messageOf('metrics', 'ExportMetricsServiceRequest'),
  '/v1/logs': messageOf('logs', 'ExportLogsServiceRequest'),
}

/** What arrives; `status` may be another one, and 0 is no answer at all. */
export class Collector {
  readonly spans: SeenSpan[] = []
  readonly logs: SeenLog[] = []
  points: SeenPoint[] = []
  readonly types = new Set<string>()
  readonly headers: IncomingHttpHeaders[] = []
  status = 200
  readonly #server = createServer((request, response) => this.#take(request, response))

  /** Its address. */
  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      if (this.status === 0) return
      if (this.status === 200) this.#read(request, Buffer.concat(pieces))
      response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}')
    })
  }

  #read({ url, headers }: IncomingMessage, sent: Buffer): void {
    const path = url as keyof typeof messages
    const type = headers['content-type'] ?? ''
    this.types.add(type)
    this.headers.push(headers)
    const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const body = type.includes('json') ? (JSON.parse(bytes.toString()) as Loose) : decoded(path, bytes)
    if (path === '/v1/traces') this.spans.push(...spansOf(body))
    else if (path === '/v1/logs') this.logs.push(...logsOf(body))
    else this.points = pointsOf(body)
  }
}

function decoded(path: keyof typeof messages, bytes: Uint8Array): Loose {
  const message = messages[path]
  return message.toObject(message.decode(bytes), { longs: String, defaults: false }) as Loose
}

const hex = (id: unknown): string =>
  id instanceof Uint8Array ? Buffer.from(id).toString('hex') : typeof id === 'string' ? id : ''

function attributesOf(given: unknown): Attributes {
  return Object.fromEntries(list(given).map(one => [String(one.key), heldBy(one.value as Loose)]))
}

function heldBy(value: Loose | undefined): unknown {
  if (!value) return undefined
  const [[kind, held] = ['', undefined]] = Object.entries(value)
  if (kind === 'arrayValue') return list((held as Loose).values).map(one => heldBy(one))
  return kind === 'intValue' ? Number(held) : held
}

const within = (body: Loose, groups: string, scopes: string): { resource: Loose; scope: Loose }[] =>
  list(body[groups]).flatMap(group =>
    list(group[scopes]).map(scope => ({ resource: (group.resource ?? {}) as Loose, scope })),
  )

const spansOf = (body: Loose): SeenSpan[] =>
  within(body, 'resourceSpans', 'scopeSpans').flatMap(({ resource, scope }) =>
    list(scope.spans).map(span => ({
      name: String(span.name),
      kind: Number(span.kind),
      traceId: hex(span.traceId),
      spanId: hex(span.spanId),
      parentSpanId: hex(span.parentSpanId),
      startNs: BigInt(String(span.startTimeUnixNano)),
      endNs: BigInt(String(span.endTimeUnixNano)),
      attributes: attributesOf(span.attributes),
      resource: attributesOf(resource.attributes),
      status: Number((span.status as Loose | undefined)?.code ?? 0),
    })),
  )

const logsOf = (body: Loose): SeenLog[] =>
  within(body, 'resourceLogs', 'scopeLogs').flatMap(({ scope }) =>
    list(scope.logRecords).map(log => ({
      body: heldBy(log.body as Loose | undefined),
      eventName: String(log.eventName ?? ''),
      severity: String(log.severityText),
      traceId: hex(log.traceId),
      attributes: attributesOf(log.attributes),
    })),
  )

const pointsOf = (body: Loose): SeenPoint[] =>
  within(body, 'resourceMetrics', 'scopeMetrics').flatMap(({ scope }) =>
    list(scope.metrics).flatMap(metric =>
      list((metric.histogram as Loose | undefined)?.dataPoints).map(point => ({
        name: String(metric.name),
        unit: String(metric.unit),
        count: Number(point.count),
        sum: Number(point.sum),
        bounds: list(point.explicitBounds).map(Number),
        attributes: attributesOf(point.attributes),
      })),
    ),
  )
