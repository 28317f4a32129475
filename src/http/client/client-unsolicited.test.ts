/** Bytes that no request asked for: what one connection of an upstream does is held against all that are idle. */
import { afterEach, expect, test } from 'bun:test'
import { closeRigs, rig, text } from '../../../tests/support/network/http-client-rig.ts'
import type { Rig } from '../../../tests/support/network/http-client-rig.ts'
import { answer } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { RawPeer } from '../../../tests/support/upstreams/raw-upstream.ts'
import { ManualClock } from '../../../tests/support/network/http-server-rig.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const foreign = answer('of another client')

interface IdleRig extends Rig {
  readonly reported: [string, number][]
  readonly clock: ManualClock
}

/** An upstream with `count` idle connections, which answers with `said`. */
async function idleRig(count: number, said: (peer: RawPeer) => string = () => answer('own')): Promise<IdleRig> {
  const reported: [string, number][] = []
  const clock = new ManualClock()
  const waiting: RawPeer[] = []
  const started = await rig(
    peer => {
      waiting.push(peer)
      if (peer.index < count - 1 && peer.requests === 1) return
      for (const one of waiting.splice(0)) one.socket.write(said(one))
    },
    { clock, unsolicited: (upstream, closed) => reported.push([upstream, closed]) },
  )
  const texts = await Promise.all(Array.from({ length: count }, () => text(started.send())))
  expect(texts).toEqual(Array(count).fill('own'))
  return { ...started, reported, clock }
}

test('bytes on one idle connection close all idle connections of that upstream, and are reported', async () => {
  const { upstream, transport, send, reported } = await idleRig(3)
  expect(transport.connections()).toEqual({ busy: 0, idle: 3 })
  upstream.peers[1]!.socket.write(foreign)
  await until(() => upstream.peers.every(peer => peer.closedAtMs > 0), 'all are closed')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
  expect(reported).toEqual([[`127.0.0.1:${upstream.port}`, 3]])
  expect(await text(send())).toBe('own')
  expect(upstream.peers.length).toBe(4)
})

test('bytes behind a complete answer do the same', async () => {
  const { upstream, transport, reported } = await idleRig(3, peer => answer('own') + (peer.index === 2 ? foreign : ''))
  await until(() => upstream.peers.every(peer => peer.closedAtMs > 0), 'all are closed')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
  expect(reported.length).toBe(1)
})

test('bytes that come when the next request is about to go out do the same: it goes out on a new connection', async () => {
  const { upstream, transport, send, reported } = await idleRig(2)
  // Two sockets that are readable in one turn of the event loop, in this order: the request waits for its end.
  const sent = new Promise<string>((resolve, reject) => {
    const signal = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data() {
          text(send()).then(resolve, reject)
          signal.stop(true)
        },
      },
    })
    void Bun.connect({
      hostname: '127.0.0.1',
      port: signal.port,
      socket: {
        async open(socket) {
          await Bun.sleep(10)
          socket.write('now')
          for (const peer of upstream.peers) peer.socket.write(foreign)
        },
        data() {},
      },
    })
  })
  expect(await sent).toBe('own')
  expect(upstream.peers.map(peer => peer.requests)).toEqual([1, 1, 1])
  expect(transport.connections()).toEqual({ busy: 0, idle: 1 })
  expect(reported).toEqual([[`127.0.0.1:${upstream.port}`, 1]])
})

test('another upstream keeps its connections, and one that goes on is reported once a minute', async () => {
  const { upstream, send, reported, clock } = await idleRig(1)
  const other = await idleRig(2)
  for (let round = 0; round < 4; round++) {
    const peer = upstream.peers.at(-1)!
    peer.socket.write('x')
    await until(() => peer.closedAtMs > 0, 'closed')
    expect(await text(send())).toBe('own')
    clock.advance(20_000)
  }
  expect(reported.length).toBe(2)
  expect(other.transport.connections()).toEqual({ busy: 0, idle: 2 })
})
