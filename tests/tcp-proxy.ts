/** A TCP forwarder that a test can cut, stall and restore. */
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Closes all connections and refuses new ones. */
  cut(): void
  /** Accepts connections and bytes but forwards nothing, as a network that drops all packets. */
  stall(): void
  /** New connections work again; stalled ones are closed. */
  restore(): void
  close(): Promise<void>
}

export async function startTcpProxy(host: string, port: number): Promise<TcpProxy> {
  let state: 'open' | 'cut' | 'stalled' = 'open'
  const pairs = new Map<Socket, Socket | undefined>()
  const end = (socket: Socket) => {
    pairs.get(socket)?.destroy()
    pairs.delete(socket)
    socket.destroy()
  }
  const server = createServer(client => {
    client.on('error', () => end(client))
    client.on('close', () => end(client))
    if (state === 'cut') return void client.resetAndDestroy()
    if (state === 'stalled') return void pairs.set(client, undefined)
    const upstream = connect(port, host)
    pairs.set(client, upstream)
    upstream.on('error', () => end(client))
    upstream.on('close', () => end(client))
    client.on('data', bytes => void (state === 'stalled' || upstream.write(bytes)))
    upstream.on('data', bytes => void (state === 'stalled' || client.write(bytes)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const endAll = () => [...pairs.keys()].forEach(end)
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      state = 'cut'
      endAll()
    },
    stall() {
      state = 'stalled'
    },
    restore() {
      if (state === 'stalled') endAll()
      state = 'open'
    },
    async close() {
      endAll()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
