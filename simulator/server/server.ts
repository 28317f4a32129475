/** The simulator's server: listens, keeps the truth log and hands each request to its endpoint. */
import { respond } from '../dialects/index.ts'
import { ApiError } from '../dialects/response.ts'
import { isJsonObject } from '../lib/json.ts'
import type { SimulatedResponse } from '../dialects/response.ts'
import { Connection } from './connection.ts'
import type { ConnectionOwner } from './connection.ts'
import { sendResponse } from './send-response.ts'
import { readBody } from './request-body.ts'
import type { ParsedBody } from './request-body.ts'
import { parseFault, splitModel, UnknownFault } from '../faults/fault.ts'
import type { Fault } from '../faults/fault.ts'
import { lastUserText } from '../script/last-user-text.ts'
import { Batches } from '../dialects/openai/batches.ts'
import { PromptCaches } from '../generation/prompt-caches.ts'
import { UploadedFiles } from '../dialects/openai/files.ts'
import { matchRoute } from './routes.ts'
import type { Route } from './routes.ts'
import { hash } from '../generation/random.ts'
import type { HttpRequest, RequestError } from './request-parser.ts'
import { readScript, ScriptError } from '../script/validate.ts'
import { Scripts } from '../script/script.ts'
import type { MatcherLike, ScriptedReply } from '../script/script.ts'
import { errorResponse, applyFault } from '../faults/apply.ts'
import { TruthLog, truthNowMs, withoutCredentials, withoutKey } from './truth-log.ts'
import type { TruthEntry } from './truth-log.ts'
import { conventionsOf } from '../dialects/conventions.ts'

/** All fields are optional. */
export interface SimulatorOptions {
  /** Default: any free port. */
  readonly port?: number
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Seed of the pseudo-random generator. Default: 1. */
  readonly seed?: number
  /** Prompts are cached as vendors cache them; `nowMs` is the clock, by default that of the machine. */
  readonly promptCaches?: { readonly nowMs?: () => number }
}

/** A listening simulator. Random values depend on the seed and the requests only, prompt caches also on time. */
export interface Simulator {
  /** Without a trailing slash. */
  readonly url: string
  readonly port: number
  readonly truth: TruthLog
  /**
   * Answers matching requests with `reply`; the script added last has precedence. Throws ScriptError for an invalid
   * field.
   */
  script(matcher: MatcherLike, reply: ScriptedReply): void
  /** Open TCP connections, idle ones included. */
  openSockets(): number
  /** Clears the truth log, scripts, uploaded files and the request counter. */
  reset(): void
  /** Closes the port and all connections; responses in progress are logged as `cut`. */
  stop(): Promise<void>
}

interface ParsedRequest {
  readonly request: HttpRequest
  readonly route: Route
  readonly body: unknown
  /** The body is JSON or a readable form. */
  readonly isParsed: boolean
  readonly namedModel: string | undefined
  readonly model: string
  readonly script: ScriptedReply | undefined
  readonly spec: string | undefined
}

class SimulatorServer implements ConnectionOwner {
  readonly truth = new TruthLog()
  readonly scripts = new Scripts()
  readonly files: UploadedFiles
  readonly batches: Batches
  readonly caches: PromptCaches | undefined
  readonly connections = new Set<Connection>()
  readonly seed: number
  url = ''
  #count = 0

  constructor({ seed = 1, promptCaches }: SimulatorOptions) {
    this.seed = seed
    this.caches = promptCaches && new PromptCaches(promptCaches.nowMs ?? Date.now)
    this.files = new UploadedFiles(seed)
    this.batches = new Batches(this.files, seed)
  }

  reset(): void {
    this.truth.clear()
    this.scripts.clear()
    this.files.clear()
    this.batches.clear()
    this.caches?.clear()
    this.#count = 0
  }

  async onRequest(connection: Connection, request: HttpRequest): Promise<void> {
    const path = request.target.split('?', 1)[0]!
    if (path.startsWith('/__')) return this.#control(connection, request, path)
    connection.isClient = true
    const read = readBody(request)
    let parsed: ParsedRequest
    try {
      parsed = this.#parse(request, read instanceof Promise ? await read : read)
    } catch (error) {
      // A matcher function given by a test threw: report the error to that test.
      return this.#reply(connection, request, plain(500, { error: { message: String(error) } }))
    }
    const entry = this.#log(parsed)
    const { dialect } = parsed.route
    const requestId = `req_${hash(`request ${entry.n}`, this.seed).toString(16).padStart(14, '0')}`
    const { answer, fault } = this.#respond(parsed, { entry, requestId })
    const headers = [...conventionsOf(dialect).headers(requestId)]
    // An HTML error page comes from a proxy in front of the vendor, so the vendor's headers are absent.
    if (fault?.name === 'html-error') headers.length = 0
    await sendResponse({
      connection,
      answer: { ...answer, headers: [...headers, ...answer.headers] },
      fault,
      entry,
      truth: this.truth,
      keepAlive: request.keepAlive,
      isHead: request.method === 'HEAD',
    })
  }

  #parse(request: HttpRequest, { value: body, isParsed }: ParsedBody): ParsedRequest {
    const route = matchRoute(request)
    const named = isJsonObject(body) && typeof body.model === 'string' ? body.model : undefined
    // Azure ignores the model in the body when the path names a deployment.
    const requestedModel = route.dialect === 'azure' ? (route.model ?? named) : (named ?? route.model)
    const split = splitModel(requestedModel ?? '')
    const matching = { method: request.method, path: request.target, headers: request.headers, body }
    const script = this.scripts.take({ ...matching, model: split.model, text: lastUserText(body) })
    const spec = request.headers.get('x-simulate') ?? split.spec ?? script?.fault
    return { request, route, body, isParsed, namedModel: requestedModel, model: split.model, script, spec }
  }

  #log(parsed: ParsedRequest): TruthEntry {
    const { request, body, route } = parsed
    const entry: TruthEntry = {
      n: ++this.#count,
      method: request.method,
      path: withoutKey(request.target),
      model: parsed.namedModel,
      headers: withoutCredentials(request.headers),
      body,
      startedMs: truthNowMs(),
      stream: route.streams ?? (isJsonObject(body) && (body.stream === true || body.stream === 'true')),
      fault: parsed.spec,
      eventsSent: 0,
      tokensSent: 0,
      billable: { inputTokens: 0, outputTokens: 0 },
    }
    this.truth.add(entry)
    return entry
  }

  #respond(
    parsed: ParsedRequest,
    context: { entry: TruthEntry; requestId: string },
  ): { answer: SimulatedResponse; fault?: Fault } {
    const { route, request } = parsed
    const conventions = { dialect: route.dialect, requestId: context.requestId }
    try {
      const fault = parsed.spec ? parseFault(parsed.spec) : undefined
      const body = parsed.isParsed ? parsed.body : undefined
      const isHealthCheck = request.method === 'HEAD' && route.endpoint !== 'models'
      const answer = isHealthCheck
        ? plain(200, {})
        : respond({
            ...parsed,
            body,
            seed: this.seed,
            fault,
            files: this.files,
            batches: this.batches,
            caches: this.caches,
          })
      if (!fault) return { answer }
      const more = { n: context.entry.n, seed: this.seed, target: request.target, url: this.url }
      return { answer: applyFault(answer, fault, { ...conventions, ...more }), fault }
    } catch (error) {
      if (error instanceof UnknownFault)
        return { answer: errorResponse({ status: 400, message: error.message }, conventions) }
      // Covers, for example, JSON nested too deeply for recursion; an unhandled rejection would end the process.
      if (!(error instanceof ApiError))
        return { answer: errorResponse({ status: 500, message: String(error) }, conventions) }
      const { status, message, param, code } = error
      if (error.body) return { answer: plain(status, error.body) }
      return { answer: errorResponse({ status, message, param, code }, conventions) }
    }
  }

  onMalformed(connection: Connection, error: RequestError): void {
    this.truth.malformed++
    const body = JSON.stringify({
      error: { message: error.message, type: 'invalid_request_error', param: null, code: null },
    })
    connection.send(
      `HTTP/1.1 ${error.status} Bad Request\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    void connection.fin()
  }

  /** The control endpoints (`/__...`), for clients in another process. They are not in the truth log. */
  async #control(connection: Connection, request: HttpRequest, path: string): Promise<void> {
    const others = [...this.connections].filter(one => one !== connection || one.isClient).length
    const endpoint = `${request.method} ${path}`
    if (endpoint === 'GET /__truth') return this.#reply(connection, request, plain(200, this.truth))
    if (endpoint === 'GET /__sockets') return this.#reply(connection, request, plain(200, { open: others }))
    if (endpoint === 'POST /__reset') {
      this.reset()
      return this.#reply(connection, request, plain(200, { reset: true }))
    }
    if (endpoint === 'POST /__script') return this.#reply(connection, request, this.#scripted(await readBody(request)))
    const message = 'There are GET /__truth, GET /__sockets, POST /__reset and POST /__script {match, reply}.'
    return this.#reply(connection, request, plain(404, { error: { message } }))
  }

  #scripted({ value, isParsed }: ParsedBody): SimulatedResponse {
    try {
      const { match, reply } = readScript(value, isParsed)
      this.scripts.add(match as MatcherLike, reply as unknown as ScriptedReply)
      return plain(200, { scripted: true })
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error
      const { message, field } = error
      return plain(400, { error: { message, type: 'invalid_request_error', param: field, code: null } })
    }
  }

  async #reply(connection: Connection, request: HttpRequest, answer: SimulatedResponse): Promise<void> {
    const body = Buffer.from(answer.content as string)
    connection.send(
      `HTTP/1.1 ${answer.status} ${answer.status === 200 ? 'OK' : 'Error'}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nconnection: ${request.keepAlive ? 'keep-alive' : 'close'}\r\n\r\n`,
    )
    if (request.method !== 'HEAD') connection.send(body)
    await connection.whenFlushed()
    if (!request.keepAlive) await connection.fin()
  }
}

function plain(status: number, value: unknown): SimulatedResponse {
  return {
    status,
    headers: [],
    content: JSON.stringify(value),
    billable: { inputTokens: 0, outputTokens: 0 },
  }
}

/** Starts a simulator. Rejects when the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const host = options.host ?? '127.0.0.1'
  const server = new SimulatorServer(options)
  const listener = Bun.listen<Connection>({
    hostname: host,
    port: options.port ?? 0,
    socket: {
      open(socket) {
        socket.setNoDelay(true)
        socket.data = new Connection(socket, server)
        server.connections.add(socket.data)
      },
      data: (socket, bytes) => socket.data.received(bytes),
      drain: socket => socket.data.drained(),
      close(socket) {
        server.connections.delete(socket.data)
        socket.data.closed()
      },
      // The client reset the connection; `close` follows.
      error() {},
    },
  })
  const isIpv6 = host.includes(':')
  server.url = `http://${isIpv6 ? `[${host}]` : host}:${listener.port}`
  return {
    url: server.url,
    port: listener.port,
    truth: server.truth,
    script: (matcher, reply) => server.scripts.add(matcher, reply),
    openSockets: () => server.connections.size,
    reset: () => server.reset(),
    async stop() {
      for (const entry of server.truth.entries) server.truth.finish(entry, 'cut')
      for (const connection of server.connections) connection.terminate()
      listener.stop(true)
    },
  }
}
