/** An HTTP proxy with CONNECT for tests. It records every byte and misbehaves on request. */
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { TestCertificate } from './certificates.ts'

/** One client of the proxy. */
export interface ProxyPeer {
  readonly socket: Socket
  /** The request head, up to the blank line. */
  head: string
  /** The bytes after the head, as Latin-1: what the proxy could read of a call. */
  inside: string
  upstream: Socket | undefined
  closed: boolean
}

export interface ConnectProxy {
  /** `127.0.0.1:port`. */
  readonly name: string
  readonly port: number
  readonly peers: ProxyPeer[]
  stop(): void
}

export interface ConnectProxyOptions {
  /** Clients connect with TLS. */
  readonly tls?: TestCertificate | undefined
  /** Called for each complete head instead of opening the tunnel. */
  onHead?(peer: ProxyPeer): void
  /** The response once the tunnel is open. */
  readonly established?: string
  /** Forwards byte by byte, its own response included. */
  readonly byteByByte?: boolean
}

const established = 'HTTP/1.1 200 Connection established\r\n\r\n'

/** Listens on 127.0.0.1 on a free port. */
export async function connectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const peers: ProxyPeer[] = []
  const accept = (socket: Socket): void => {
    const peer: ProxyPeer = { socket, head: '', inside: '', upstream: undefined, closed: false }
    peers.push(peer)
    socket.on('error', () => {})
    socket.on('close', () => {
      peer.closed = true
      peer.upstream?.destroy()
    })
    const toClient = writerTo(socket, options.byteByByte)
    socket.on('data', bytes => {
      const text = bytes.toString('latin1')
      if (peer.head.endsWith('\r\n\r\n')) {
        peer.inside += text
        peer.upstream?.write(bytes)
        return
      }
      peer.head += text
      if (!peer.head.includes('\r\n\r\n')) return
      if (options.onHead) options.onHead(peer)
      else openTunnel(peer, toClient, options.established ?? established)
    })
  }
  const server = options.tls ? createTlsServer({ ...options.tls }, accept) : createServer(accept)
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  return {
    name: `127.0.0.1:${port}`,
    port,
    peers,
    stop() {
      for (const { socket } of peers) socket.destroy()
      server.close()
    },
  }
}

/** Opens a tunnel to the target of a CONNECT request. Throws for other requests. */
function openTunnel(peer: ProxyPeer, toClient: (bytes: Buffer) => void, answer: string): void {
  const [, hostname, port] = /^CONNECT (\S+):(\d+) HTTP\/1\.1\r\n/.exec(peer.head) ?? []
  if (hostname === undefined) throw new Error(`no CONNECT: ${peer.head}`)
  const upstream = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
  peer.upstream = upstream
  upstream.on('connect', () => toClient(Buffer.from(answer, 'latin1')))
  upstream.on('data', toClient)
  upstream.on('error', () => peer.socket.destroy())
  upstream.on('close', () => peer.socket.end())
}

/** Writes to `socket` in order; `byteByByte` = each byte in a packet of its own. */
function writerTo(socket: Socket, byteByByte = false): (bytes: Buffer) => void {
  if (!byteByByte) return bytes => void socket.write(bytes)
  socket.setNoDelay(true)
  let last: Promise<unknown> = Promise.resolve()
  return bytes => {
    for (const byte of bytes)
      last = last.then(async () => {
        if (!socket.destroyed) socket.write(Buffer.of(byte))
        await new Promise(resolve => setImmediate(resolve))
      })
  }
}
