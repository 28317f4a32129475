/** A TCP forwarder that a test can cut, stall, hold and restore, and that can be far away. */
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Closes all connections and refuses new ones. */
  cut(): void
  /** Closes all connections; new ones work. */
  reset(): void
  /** New connections lead to this port; those that are there are closed. */
  moveTo(port: number): void
  /** Accepts connections and bytes but forwards nothing, as a network that drops all packets. */
  stall(): void
  /** Connections that are there hear nothing more, not even of their end, as of a host that vanished; new ones work. */
  mute(): void
  /** Keeps everything back until `restore`, as a server that stands still. */
  hold(): void
  /** New connections work again; stalled ones are closed, what was held is passed on. */
  restore(): void
  close(): Promise<void>
}

/** `roundTripMs` = how much longer a question and its answer take together. */
export async function startTcpProxy(host: string, port: number, { roundTripMs = 0 } = {}): Promise<TcpProxy> {
  let state: 'open' | 'cut' | 'stalled' | 'held' = 'open'
  let held: (() => void)[] = []
  let target = port
  const pairs = new Map<Socket, Socket | undefined>()
  const muted = new Set<Socket>()
  const end = (socket: Socket) => {
    if (muted.has(socket)) return
    pairs.get(socket)?.destroy()
    pairs.delete(socket)
    socket.destroy()
  }
  const pass = (deliver: () => void) => {
    if (state === 'held') held.push(deliver)
    else if (state !== 'stalled') deliver()
  }
  const forward = (bytes: Uint8Array | string, to: Socket) => {
    const deliver = () => void (to.destroyed || to.write(bytes))
    if (roundTripMs === 0) pass(deliver)
    else setTimeout(() => pass(deliver), roundTripMs / 2)
  }
  const server = createServer(client => {
    client.setNoDelay(true)
    client.on('error', () => end(client))
    client.on('close', () => pass(() => end(client)))
    if (state === 'cut') return void client.resetAndDestroy()
    if (state === 'stalled') return void pairs.set(client, undefined)
    const upstream = connect({ port: target, host, noDelay: true })
    pairs.set(client, upstream)
    upstream.on('error', () => end(client))
    upstream.on('close', () => end(client))
    client.on('data', bytes => forward(bytes, upstream))
    upstream.on('data', bytes => forward(bytes, client))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const endAll = () => [...pairs.keys()].forEach(end)
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      state = 'cut'
      endAll()
    },
    reset: endAll,
    moveTo(next) {
      target = next
      endAll()
    },
    stall() {
      state = 'stalled'
    },
    mute() {
      for (const [client, upstream] of pairs) {
        muted.add(client)
        upstream?.destroy()
      }
    },
    hold() {
      state = 'held'
    },
    restore() {
      if (state === 'stalled') endAll()
      state = 'open'
      for (const deliver of held.splice(0)) deliver()
    },
    async close() {
      state = 'cut'
      held = []
      muted.clear()
      endAll()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
