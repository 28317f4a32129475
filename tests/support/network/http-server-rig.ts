/** For the tests of src/http: a server, raw TCP clients, a connection without a socket and a clock set by the test. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Answer, AnswerSink, AnswerStream } from '../../../src/core/answer.ts'
import { GatewayError } from '../../../src/core/errors.ts'
import { readBody } from '../../../src/core/request.ts'
import type { ServerRequest } from '../../../src/http/server/server-request.ts'
import { BodyMemory } from '../../../src/http/server/body-memory.ts'
import { ClientConnection } from '../../../src/http/server/connection.ts'
import type { ConnectionOwner } from '../../../src/http/server/connection-owner.ts'
import { DiscardPace } from '../../../src/http/server/discard-pace.ts'
import { listen } from '../../../src/http/server/server.ts'
import type { HttpServer, ServerOptions } from '../../../src/http/server/server.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { TimerWheel } from '../../../src/lib/timer-wheel.ts'
import { until } from '../until.ts'

export type Handler = (request: ServerRequest) => Answer | Promise<Answer>

const cleanups: (() => void)[] = []

/** For `afterEach`: closes what the rigs of a test opened. */
export function closeRigs(): void {
  for (const cleanup of cleanups.splice(0)) cleanup()
}

/** Stands still until `advance`. */
export class ManualClock implements Clock {
  nowMs = 1_000_000
  readonly wheel = new TimerWheel(this, 50)
  epochMs(): number {
    return Date.UTC(2026, 10, 21)
  }
  monotonicMs(): number {
    return this.nowMs
  }
  /** In small steps, so that the wheel does not think that the process stood still. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms
    while (this.nowMs < untilMs) {
      this.nowMs = Math.min(untilMs, this.nowMs + 50)
      this.wheel.tick()
    }
  }
}

export const text = (body: string, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'text/plain' },
  body,
})

/** As the router refuses, in short. */
const refuse: ServerOptions['refuse'] = ({ status, message }) => text(`refused: ${message}`, status)

/** Says what was asked, once the body is there. */
export async function echo(request: ServerRequest): Promise<Answer> {
  const { method, target } = request.headers
  try {
    const body = Buffer.from(await readBody(request.body, 1e6)).toString('latin1')
    return text(`${method} ${target} [${body}]`)
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return text(`${method} ${target} failed: ${thrown.kind}`, thrown.status)
  }
}

export interface ServerRig {
  readonly server: HttpServer
  readonly port: number
  readonly clock: ManualClock
  /** In the order of their arrival. */
  readonly requests: ServerRequest[]
  /** What the server reported. */
  readonly reports: unknown[]
  client(): RawClient
}

/** `authenticated`: what is said of every request; absent = true. */
interface RigOptions extends Pick<ServerOptions, 'limit' | 'bodyMemoryBytesMax'> {
  readonly authenticated?: (request: ServerRequest) => boolean
}

export function serverRig(handle: Handler = echo, options: RigOptions = {}): ServerRig {
  const clock = new ManualClock()
  const requests: ServerRequest[] = []
  const reports: unknown[] = []
  const server = listen({
    hostname: '127.0.0.1',
    port: 0,
    clock,
    wheel: clock.wheel,
    handle(request) {
      requests.push(request)
      request.authenticated = options.authenticated?.(request) ?? true
      return handle(request)
    },
    refuse,
    report: thrown => reports.push(thrown),
    ...(options.limit && { limit: options.limit }),
    ...(options.bodyMemoryBytesMax && { bodyMemoryBytesMax: options.bodyMemoryBytesMax }),
  })
  const port = Number(new URL(server.url).port)
  const clients: RawClient[] = []
  cleanups.push(() => {
    for (const client of clients) client.socket.destroy()
    void server.stop()
    server.cut()
  })
  return {
    server,
    port,
    clock,
    requests,
    reports,
    client() {
      const client = new RawClient(port)
      clients.push(client)
      return client
    },
  }
}

/** A few turns of the event loop: what was sent has been read and answered. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await Bun.sleep(2)
}

export interface ReadAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** A TCP connection that keeps all it hears. */
export class RawClient {
  readonly socket: Socket
  readonly #pieces: Buffer[] = []
  bytes = 0
  /** The server sent FIN. */
  ended = false
  closed = false
  /** Code of the error that ended the connection. */
  error: string | undefined

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    this.socket.on('data', (piece: Buffer) => {
      this.#pieces.push(piece)
      this.bytes += piece.length
    })
    this.socket.on('end', () => (this.ended = true))
    this.socket.on('close', () => (this.closed = true))
    this.socket.on('error', error => (this.error = (error as NodeJS.ErrnoException).code ?? error.message))
  }

  /** All that was heard, a character a byte. */
  get heard(): string {
    return Buffer.concat(this.#pieces).toString('latin1')
  }

  send(bytes: string | Uint8Array): void {
    if (typeof bytes === 'string') this.socket.write(bytes, 'latin1')
    else this.socket.write(bytes)
  }

  /** The first `count` answers, each complete. `methods`: of the requests, when not all may have a body. */
  async answers(count: number, methods: readonly string[] = []): Promise<ReadAnswer[]> {
    let found: ReadAnswer[] = []
    await until(() => {
      found = readAnswers(this.heard, this.ended, methods).answers
      return found.length >= count || this.closed
    }, `${count} answers`)
    if (found.length < count)
      throw new Error(`closed after ${found.length} answers: ${JSON.stringify(this.heard.slice(0, 500))}`)
    return found
  }

  async answer(): Promise<ReadAnswer> {
    return (await this.answers(1))[0]!
  }
}

/** Reads answers strictly; `rest` is what is no complete answer. Throws when it is no HTTP. */
export function readAnswers(
  heard: string,
  ended: boolean,
  methods: readonly string[] = [],
): { answers: ReadAnswer[]; rest: string } {
  const answers: ReadAnswer[] = []
  let rest = heard
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (headEnd < 0) return { answers, rest }
    const [first, ...lines] = rest.slice(0, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(first!)?.[1])
    if (!status) throw new Error(`no status line: ${JSON.stringify(first)}`)
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? []
      if (name === undefined || name in headers) throw new Error(`a bad header line: ${JSON.stringify(line)}`)
      headers[name] = value!
    }
    const start = headEnd + 4
    const read = bodyOf(rest, start, { status, headers, ended, method: methods[answers.length] ?? 'GET' })
    if (!read) return { answers, rest }
    rest = rest.slice(read.end)
    if (status >= 200) answers.push({ status, headers, body: read.body })
  }
}

interface BodyContext {
  readonly status: number
  readonly headers: Record<string, string>
  readonly ended: boolean
  readonly method: string
}

function bodyOf(
  heard: string,
  start: number,
  { status, headers, ended, method }: BodyContext,
): { body: string; end: number } | undefined {
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return { body: '', end: start }
  if (headers['transfer-encoding'] === 'chunked') return chunksOf(heard, start)
  const length = headers['content-length']
  if (length === undefined) return ended ? { body: heard.slice(start), end: heard.length } : undefined
  const end = start + Number(length)
  return heard.length < end ? undefined : { body: heard.slice(start, end), end }
}

function chunksOf(heard: string, start: number): { body: string; end: number } | undefined {
  const pieces: string[] = []
  for (let at = start; ; ) {
    const lineEnd = heard.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const digits = heard.slice(at, lineEnd)
    if (!/^[0-9a-f]+$/.test(digits)) throw new Error(`a bad chunk size: ${JSON.stringify(digits.slice(0, 50))}`)
    const size = parseInt(digits, 16)
    const end = lineEnd + 2 + size
    if (heard.length < end + 2) return undefined
    if (heard.slice(end, end + 2) !== '\r\n') throw new Error('a chunk of another size')
    if (size === 0) return { body: pieces.join(''), end: end + 2 }
    pieces.push(heard.slice(lineEnd + 2, end))
    at = end + 2
  }
}

/** A stream whose pieces a test writes, and that counts what it is told. */
export class HandStream implements AnswerStream {
  sink: AnswerSink | undefined
  pipes = 0
  resumes = 0
  cancels = 0
  /** At once when it is piped. */
  onPipe: ((sink: AnswerSink) => void) | undefined
  onResume: (() => void) | undefined
  pipe(sink: AnswerSink): void {
    this.pipes++
    this.sink = sink
    this.onPipe?.(sink)
  }
  resume(): void {
    this.resumes++
    this.onResume?.()
  }
  cancel(): void {
    this.cancels++
  }
}

/** A socket without a system: takes `room` bytes a call and remembers them. */
class FakeSocket {
  readonly remoteAddress = '192.0.2.1'
  readonly #pieces: Buffer[] = []
  room = Infinity
  paused = false
  pauses = 0
  /** How this side ended it. */
  gone: 'no' | 'shutdown' | 'end' | 'terminate' = 'no'
  get sent(): string {
    return Buffer.concat(this.#pieces).toString('latin1')
  }
  write(bytes: Uint8Array, offset: number, length: number): number {
    if (this.gone !== 'no') return -1
    const taken = Math.min(length, this.room)
    this.#pieces.push(Buffer.from(bytes.subarray(offset, offset + taken)))
    return taken
  }
  pause(): void {
    this.paused = true
    this.pauses++
  }
  resume(): void {
    this.paused = false
  }
  shutdown(): void {
    if (this.gone === 'no') this.gone = 'shutdown'
  }
  end(): number {
    this.gone = 'end'
    return 0
  }
  terminate(): void {
    this.gone = 'terminate'
  }
}

/** A connection whose socket is a test. */
export class FakeConnection implements ConnectionOwner {
  readonly clock = new ManualClock()
  readonly wheel = this.clock.wheel
  readonly bodies = new BodyMemory(() => Infinity)
  readonly discards = new DiscardPace(this.wheel)
  readonly socket = new FakeSocket()
  readonly requests: ServerRequest[] = []
  readonly failures: unknown[] = []
  readonly connection: ClientConnection
  stopping = false
  closes = 0
  readonly #handle: Handler

  constructor(handle: Handler = echo) {
    this.#handle = handle
    this.connection = new ClientConnection(
      this,
      this.socket as unknown as ConstructorParameters<typeof ClientConnection>[1],
    )
  }

  handle(request: ServerRequest): Answer | Promise<Answer> {
    this.requests.push(request)
    request.authenticated = true
    return this.#handle(request)
  }

  refuse = refuse

  upgrade(): void {}

  flushSoon(connection: ClientConnection): void {
    if (connection.queued) return
    connection.queued = true
    setImmediate(() => {
      connection.queued = false
      connection.flush()
    })
  }

  closed(): void {
    this.closes++
  }

  failed(connection: ClientConnection, thrown: unknown): void {
    this.failures.push(thrown)
    connection.close()
  }

  /** As from the socket: a copy, and nothing when this side has ended it. */
  receive(bytes: Uint8Array | string): void {
    if (this.socket.gone === 'end' || this.socket.gone === 'terminate') return
    this.connection.data(Buffer.from(bytes as string, 'latin1'))
  }

  /** Until what is under way has come to rest. */
  async rest(): Promise<void> {
    for (let i = 0; i < 3; i++) await new Promise<void>(resolve => setImmediate(resolve))
  }
}
