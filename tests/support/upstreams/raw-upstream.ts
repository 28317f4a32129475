/** An upstream on plain TCP, for tests that control every byte. */
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { ExchangeTimeouts } from '../../../src/core/transport.ts'

/** One accepted connection. */
export interface RawPeer {
  readonly socket: Socket
  /** Counts from 0 in order of acceptance. */
  readonly index: number
  /** Everything received so far, as Latin-1. */
  received: string
  /** Complete requests. */
  requests: number
  /** Time of the close in milliseconds since the start of the process; 0 = open. */
  closedAtMs: number
}

export interface RawUpstream {
  readonly port: number
  readonly url: string
  readonly peers: RawPeer[]
  /** All requests on all connections. */
  requests(): number
  stop(): void
}

export interface RawOptions {
  /** Called for each complete request. */
  onRequest(peer: RawPeer, request: string): void
  onConnect?(peer: RawPeer): void
  tls?: { cert: string; key: string; ALPNProtocols?: string[] }
}

/** Listens on 127.0.0.1 on a free port. */
export async function rawUpstream(options: RawOptions): Promise<RawUpstream> {
  const peers: RawPeer[] = []
  const accept = (socket: Socket): void => {
    const peer: RawPeer = { socket, index: peers.length, received: '', requests: 0, closedAtMs: 0 }
    peers.push(peer)
    let rest = ''
    socket.on('error', () => {})
    socket.on('close', () => (peer.closedAtMs = performance.now()))
    socket.on('data', bytes => {
      const text = bytes.toString('latin1')
      peer.received += text
      rest += text
      for (let end = requestEnd(rest); end >= 0; end = requestEnd(rest)) {
        const request = rest.slice(0, end)
        rest = rest.slice(end)
        peer.requests++
        options.onRequest(peer, request)
      }
    })
    options.onConnect?.(peer)
  }
  const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept)
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    peers,
    requests: () => peers.reduce((sum, peer) => sum + peer.requests, 0),
    stop() {
      for (const peer of peers) peer.socket.destroy()
      server.close()
    },
  }
}

function requestEnd(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return -1
  const length = Number(/^content-length: (\d+)\r$/m.exec(text.slice(0, head + 2))?.[1] ?? 0)
  const end = head + 4 + length
  return text.length >= end ? end : -1
}

/** Long timeouts, except those given. */
export function timeouts(given: Partial<ExchangeTimeouts> = {}): ExchangeTimeouts {
  return { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 0, ...given }
}

/** A complete response with `content-length`. */
export function answer(body: string, head = ''): string {
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}${length}\r\n${body}`
}
