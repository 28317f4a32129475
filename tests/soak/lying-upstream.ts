/** An upstream of OpenAI's dialect on plain TCP that lies as the prompt orders: `marks.ts`. */
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { mark, readOrder } from './marks.ts'
import type { Order } from './marks.ts'

/** What a client of the gateway may be told: statuses, and whether a 200 is complete. */
export interface Lie {
  readonly statuses: readonly number[]
  /** `streamed` = a stream may be: all of its events have come. */
  readonly complete: boolean | 'streamed'
  /** How often it is told, relative to the others. */
  readonly weight: number
}

const whole = { statuses: [200], complete: true }
const broken = { statuses: [200, 502, 503], complete: false }

/** By name. `broken` lies show before the first content as 502 or 503, else as an error in the stream. */
export const lies: Readonly<Record<string, Lie>> = {
  truth: { ...whole, weight: 30 },
  drip: { ...whole, weight: 4 },
  interim: { ...whole, weight: 4 },
  extra: { ...whole, weight: 6 },
  closing: { ...whole, weight: 4 },
  nodone: { ...whole, weight: 4 },
  early: { statuses: [200, 502, 503], complete: true, weight: 4 },
  cut: { ...broken, weight: 6 },
  reset: { ...broken, weight: 4 },
  long: { ...broken, complete: 'streamed', weight: 4 },
  short: { ...broken, complete: 'streamed', weight: 6 },
  chunk: { ...broken, weight: 4 },
  json: { ...broken, weight: 4 },
  error: { statuses: [500], complete: false, weight: 3 },
  refuse: { ...broken, weight: 2 },
  hang: { statuses: [408], complete: false, weight: 0.2 },
}

export interface LyingUpstream {
  readonly url: string
  /** Sockets that are open now. */
  open(): number
  stop(): void
}

/** Listens on 127.0.0.1 on a free port. */
export async function lyingUpstream(): Promise<LyingUpstream> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    let received = ''
    let answered = false
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', bytes => {
      received += bytes.toString('latin1')
      for (;;) {
        const end = requestEnd(received)
        const order = answered ? undefined : readOrder(received)
        if (order && (end >= 0 || order.lie === 'early')) {
          answered = true
          answer(socket, order, received.includes('"stream":true'))
        }
        if (end < 0) return
        // The next request may have come with the rest of a body that was answered early.
        received = received.slice(end)
        answered = false
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function requestEnd(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return -1
  const end = head + 4 + Number(/\r\ncontent-length: (\d+)\r\n/.exec(text.slice(0, head + 2))?.[1] ?? 0)
  return text.length >= end ? end : -1
}

/** Each event of the stream; a whole answer is one. */
function pieces(order: Order, stream: boolean): string[] {
  const usage = { prompt_tokens: 5, completion_tokens: order.marks, total_tokens: 5 + order.marks }
  const marks = Array.from({ length: order.marks }, (_, at) => mark(order, at))
  if (!stream) {
    const message = { role: 'assistant', content: marks.join('') }
    return [JSON.stringify({ id: 'x', model: 'up', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })]
  }
  const event = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'x', model: 'up', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  return [
    ...marks.map(content => event({ content }, null)),
    event({}, 'stop'),
    `data: ${JSON.stringify({ id: 'x', model: 'up', choices: [], usage })}\n\n`,
    ...(order.lie === 'nodone' ? [] : ['data: [DONE]\n\n']),
  ]
}

const statusLine = 'HTTP/1.1 200 OK\r\n'
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

function answer(socket: Socket, order: Order, stream: boolean): void {
  const type = `content-type: ${stream ? 'text/event-stream' : 'application/json'}\r\n`
  const parts = pieces(order, stream)
  const body = parts.join('')
  const head = `${statusLine}${type}transfer-encoding: chunked\r\n\r\n`
  const good = `${head}${parts.map(chunked).join('')}0\r\n\r\n`
  const half = good.slice(0, head.length + Math.floor((good.length - head.length) / 2))
  const sized = (length: number): string => `${statusLine}${type}content-length: ${length}\r\n\r\n${body}`
  switch (order.lie) {
    case 'drip':
      return drip(socket, good)
    case 'interim':
      return void socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${good}`)
    case 'extra':
      // An answer without a request, right behind the one that has one.
      return void socket.write(good + good.replaceAll('~', '~0'))
    case 'closing':
      socket.write(good.replace(type, `${type}connection: close\r\n`))
      return void setTimeout(() => socket.end(good.replaceAll('~', '~0')), 1)
    case 'cut':
      return void socket.end(half)
    case 'reset':
      return void socket.write(half, () => socket.resetAndDestroy())
    case 'long':
      return void socket.end(sized(body.length + 10))
    case 'short':
      return void socket.write(sized(body.length - 10))
    case 'chunk':
      return void socket.write(half.slice(0, head.length) + half.slice(head.length).replace(/^[0-9a-f]+/, 'zz'))
    case 'json':
      return void socket.write(
        `${head}${parts.map(part => chunked(part.replace('"choices":', '"choices"'))).join('')}0\r\n\r\n`,
      )
    case 'error':
      return void socket.write(`HTTP/1.1 500 No\r\ncontent-length: 20\r\n\r\n{"error":"${mark(order, 0)}"}`)
    case 'refuse':
      return void socket.destroy()
    case 'hang':
      return
    default:
      socket.write(good)
  }
}

/** In small pieces, one a turn of the event loop. */
function drip(socket: Socket, text: string): void {
  let at = 0
  const next = (): void => {
    if (at >= text.length || socket.destroyed) return
    socket.write(text.slice(at, (at += 97)))
    setImmediate(next)
  }
  next()
}
