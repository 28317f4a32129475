import { afterEach, describe, expect, test } from 'bun:test'
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { closeRigs, failure, piped, rig, says, text } from '../../../tests/support/network/http-client-rig.ts'
import { answer, timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { RawPeer } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { CallHead } from '../../core/transport.ts'
import { createHttp1Transport } from './client.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const ok = 'HTTP/1.1 200 OK\r\n'

test('a small call: the request is what HTTP asks for, the answer arrives whole', async () => {
  const { send, upstream } = await rig(says(answer('{"a":1}')))
  const response = await send({}, [Buffer.from('{"m":'), Buffer.from('"x"}')]).response
  expect(response.status).toBe(200)
  expect(response.header('content-type')).toBe('application/json')
  expect(response.header('x-none')).toBeUndefined()
  expect(Buffer.from(await response.body.bytes(100)).toString()).toBe('{"a":1}')
  expect(upstream.peers[0]!.received).toBe(
    'POST /v1/secret-path?key=secret-query HTTP/1.1\r\n' +
      `host: 127.0.0.1:${upstream.port}\r\naccept-encoding: identity\r\nauthorization: secret-header\r\n` +
      'user-agent: modelgate\r\ncontent-length: 9\r\n\r\n{"m":"x"}',
  )
})

test('a GET has neither a body nor a content-length', async () => {
  const { transport, upstream } = await rig(says(answer('list')))
  const head = { url: `${upstream.url}/models`, headers: {} }
  const exchange = transport.send({ method: 'GET', head, body: [], timeouts: timeouts() })
  expect(await text(exchange)).toBe('list')
  expect(upstream.peers[0]!.received).toStartWith('GET /models HTTP/1.1\r\n')
  expect(upstream.peers[0]!.received).not.toContain('content-length')
})

test('one connection serves one call after another', async () => {
  const { send, upstream, transport } = await rig(says(answer('x')))
  for (let i = 0; i < 20; i++) expect(await text(send())).toBe('x')
  expect(upstream.peers.length).toBe(1)
  expect(transport.connections()).toEqual({ busy: 0, idle: 1 })
})

test('the connection used last is taken first, and no more than the cap are kept', async () => {
  const { send, upstream, transport } = await rig(says(answer('x')), { idlePerOriginMax: 2 })
  const calls = [send(), send(), send(), send()]
  expect(transport.connections()).toEqual({ busy: 4, idle: 0 })
  await Promise.all(calls.map(call => text(call)))
  expect(transport.connections()).toEqual({ busy: 0, idle: 2 })
  await until(() => upstream.peers.filter(peer => peer.closedAtMs > 0).length === 2, 'two are closed')
  for (let i = 0; i < 5; i++) await text(send())
  expect(upstream.peers.filter(peer => peer.requests === 6).length).toBe(1)
})

test('two rounds of 600 calls at the same time take 600 connections, not 1,200', async () => {
  let waiting: RawPeer[] = []
  const { send, upstream } = await rig(peer => {
    if (waiting.push(peer) < 600) return
    for (const one of waiting) one.socket.write(answer('x'))
    waiting = []
  })
  for (let round = 0; round < 2; round++) {
    const all = await Promise.all(Array.from({ length: 600 }, () => text(send())))
    expect(all.every(body => body === 'x')).toBe(true)
  }
  expect(upstream.peers.length).toBe(600)
})

test('3xx and 4xx are answers like others', async () => {
  for (const status of [301, 307, 404, 429, 500, 599]) {
    const head = `HTTP/1.1 ${status} X\r\nlocation: http://other/\r\ncontent-length: 2\r\n\r\n`
    const { send } = await rig(says(`${head}no`))
    const response = await send().response
    expect(response.status).toBe(status)
    expect(Buffer.from(await response.body.bytes(10)).toString()).toBe('no')
  }
})

test('a body that ends with the connection is complete at FIN and broken at a reset', async () => {
  const closed = await rig(says(`${ok}\r\nall of it`, 'fin'))
  expect(await text(closed.send())).toBe('all of it')
  const reset = await rig(says(`${ok}\r\npart of it`, 'reset'))
  const sink = await piped(reset.send())
  expect(sink.text).toBe('part of it')
  expect(sink.ends).toBe(0)
  expect(sink.error?.kind).toBe('upstream-closed')
})

test('a cut answer is upstream-closed, with all bytes before it delivered', async () => {
  const chunked = 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'
  for (const head of ['content-length: 10\r\n\r\nhello', chunked]) {
    for (const how of ['fin', 'reset'] as const) {
      const { send } = await rig(says(ok + head, how))
      const sink = await piped(send())
      expect(sink.text).toBe('hello')
      expect(sink.error?.kind).toBe('upstream-closed')
      const error = await failure(text(send()))
      expect(error.kind).toBe('upstream-closed')
      expect(error.message).toContain('cut')
    }
  }
})

test('half a head and no answer at all are upstream-closed, garbage is upstream-broken', async () => {
  for (const [said, how] of [
    [`${ok}content-le`, 'fin'],
    ['', 'fin'],
    ['', 'reset'],
    ['garbage', 'stay'],
    [`HTTP/1.1 999 X\r\n\r\n`, 'stay'],
    [`${ok}content-length: 1\ncontent-length: 2\r\n\r\n`, 'stay'],
  ] as const) {
    const { send, transport, upstream } = await rig(says(said, how))
    expect((await failure(send().response)).kind).toBe(how === 'stay' ? 'upstream-broken' : 'upstream-closed')
    expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
    expect(upstream.requests()).toBe(1)
  }
})

test('a broken chunk in the middle of a stream fails the sink once', async () => {
  const { send } = await rig(says(`${ok}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\nXX\r\n`))
  const sink = await piped(send())
  expect(sink.text).toBe('hi')
  expect(sink.error?.kind).toBe('upstream-broken')
})

describe('an answer that is packed though identity was asked for', () => {
  const said = JSON.stringify({ text: 'words '.repeat(20_000) })
  const packers = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
  const packedAnswer = (coding: string, bytes: Uint8Array, status = '200 OK') =>
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${status}\r\ncontent-encoding: ${coding}\r\ncontent-length: ${bytes.length}\r\n\r\n`),
      bytes,
    ])
  const tells = (all: Uint8Array) => (peer: RawPeer) => {
    for (let at = 0; at < all.length; at += 77) peer.socket.write(all.subarray(at, at + 77))
  }

  test('is unpacked, whole and piece by piece, and the connection is used again', async () => {
    const twice = { 'gzip, br': (text: string) => brotliCompressSync(gzipSync(text)) }
    for (const [coding, pack] of Object.entries({ ...packers, ...twice })) {
      const { send, upstream } = await rig(tells(packedAnswer(coding, pack(said))))
      expect(await text(send())).toBe(said)
      const sink = await piped(send())
      expect([sink.text === said, sink.ends, sink.error]).toEqual([true, 1, undefined])
      expect(upstream.peers.length).toBe(1)
    }
  })

  test('its status is told, also where the coding is not known', async () => {
    for (const coding of ['gzip', 'compress']) {
      const { send } = await rig(tells(packedAnswer(coding, gzipSync('{}'), '429 Too Many')))
      const response = await send().response
      expect(response.status).toBe(429)
      const body = response.body.bytes(1000).then(
        bytes => Buffer.from(bytes).toString(),
        (error: GatewayError) => error.message,
      )
      expect(await body).toBe(
        coding === 'gzip'
          ? '{}'
          : "the upstream's answer cannot be unpacked: its content-encoding is none of gzip, deflate, br, zstd",
      )
    }
  })

  test('is bounded by what its reader takes, and broken where it is cut or garbled', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
    const { send } = await rig(tells(packedAnswer('gzip', bomb)))
    expect((await failure((await send().response).body.bytes(1_000_000))).message).toContain('1000000')
    for (const [coding, pack] of Object.entries(packers)) {
      const whole = pack(said)
      for (const bytes of [whole.subarray(0, whole.length - 6), Buffer.from(said)]) {
        const { send: sendBroken } = await rig(tells(packedAnswer(coding, bytes)))
        const sink = await piped(sendBroken())
        expect([sink.ends, sink.error?.kind]).toEqual([0, 'upstream-broken'])
      }
    }
  })

  test('events reach their reader while the upstream still speaks', async () => {
    const pack = createGzip()
    const packed: Buffer[] = []
    pack.on('data', (piece: Buffer) => packed.push(piece))
    pack.write('data: one\n\n')
    await new Promise<void>(resolve => pack.flush(() => resolve()))
    const first = Buffer.concat(packed)
    const { send } = await rig(peer =>
      peer.socket.write(
        Buffer.concat([
          Buffer.from(
            `${ok}content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n${first.length.toString(16)}\r\n`,
          ),
          first,
          Buffer.from('\r\n'),
        ]),
      ),
    )
    const response = await send().response
    const piece = await new Promise<string>((resolve, reject) =>
      response.body.pipe({ data: bytes => resolve(Buffer.from(bytes).toString()), end: reject, fail: reject }),
    )
    expect(piece).toBe('data: one\n\n')
  })
})

test('a connection is not reused after close, after extra bytes, or when its limit has passed', async () => {
  for (const said of [
    answer('x', 'connection: close\r\n'),
    `${answer('x')}EXTRA`,
    answer('x', 'keep-alive: timeout=1\r\n'),
    answer('x').replace('HTTP/1.1', 'HTTP/1.0'),
    `HTTP/1.1 204 No\r\ncontent-length: 1\r\n\r\n`,
  ]) {
    const { send, upstream, transport } = await rig(says(said))
    await text(send())
    expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
    await text(send())
    expect(upstream.peers.length).toBe(2)
    await until(() => upstream.peers[0]!.closedAtMs > 0, 'the first is closed')
  }
})

test('a free connection that speaks or ends is dropped', async () => {
  for (const act of [
    (peer: RawPeer) => peer.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nPOISON'),
    (peer: RawPeer) => peer.socket.end(),
    (peer: RawPeer) => peer.socket.resetAndDestroy(),
  ]) {
    const { send, upstream, transport } = await rig(says(answer('x')))
    await text(send())
    act(upstream.peers[0]!)
    await until(() => transport.connections().idle === 0, 'the free connection is dropped')
    expect(await text(send())).toBe('x')
    expect(upstream.peers.length).toBe(2)
  }
})

test('a free connection is closed at its age', async () => {
  const { send, upstream, transport } = await rig(says(answer('x')), { idleMs: 100 })
  await text(send())
  expect(transport.connections().idle).toBe(1)
  await until(() => upstream.peers[0]!.closedAtMs > 0, 'closed')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('an idle connection that closes instead of answering is replaced once, unnoticed', async () => {
  for (const how of ['fin', 'reset'] as const) {
    const { send, upstream } = await rig(peer => {
      if (peer.index > 0 || peer.requests === 1) peer.socket.write(answer(`from ${peer.index}`))
      else if (how === 'fin') peer.socket.end()
      else peer.socket.resetAndDestroy()
    })
    expect(await text(send())).toBe('from 0')
    expect(await text(send())).toBe('from 1')
    expect(upstream.requests()).toBe(3)
  }
})

test('the second connection is not replaced again', async () => {
  const { send, upstream } = await rig(peer => {
    if (peer.index === 0 && peer.requests === 1) peer.socket.write(answer('x'))
    else peer.socket.resetAndDestroy()
  })
  await text(send())
  expect((await failure(send().response)).kind).toBe('upstream-closed')
  expect(upstream.requests()).toBe(3)
})

test('a call is never repeated once a byte of an answer was seen', async () => {
  const { send, upstream } = await rig(peer => {
    if (peer.requests === 1) peer.socket.write(answer('x'))
    else peer.socket.end('H')
  })
  await text(send())
  expect((await failure(send().response)).kind).toBe('upstream-closed')
  expect(upstream.requests()).toBe(2)
})

test('a thousand calls to an upstream that closes idle connections at random all succeed', async () => {
  let seed = 7
  const { send } = await rig(peer => {
    seed = (seed * 48271) % 2147483647
    peer.socket.write(answer('x'))
    if (seed % 3 === 0) setTimeout(() => peer.socket.destroy(), seed % 4)
  })
  for (let i = 0; i < 100; i++) {
    const bodies = await Promise.all(Array.from({ length: 10 }, () => text(send())))
    expect(bodies.every(body => body === 'x')).toBe(true)
  }
})

test('no listener: unreachable, and the message says why', async () => {
  const { upstream, send } = await rig(says(''))
  upstream.stop()
  const error = await failure(send().response)
  expect(error.kind).toBe('upstream-unreachable')
  expect(error.message).toContain('refused the connection')
})

test('an unknown host is unreachable, and the message says why', async () => {
  const transport = createHttp1Transport()
  const head = { url: 'http://no-such-host.invalid/secret', headers: {} }
  const { response } = transport.send({ method: 'GET', head, body: [], timeouts: timeouts() })
  const error = await failure(response)
  expect(error.kind).toBe('upstream-unreachable')
  expect(error.message).toContain('host name')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('URLs and headers that cannot be sent are refused before anything is sent', async () => {
  const { transport, upstream } = await rig(says(answer('x')))
  const heads: CallHead[] = [
    { url: 'not a url secret', headers: {} },
    { url: 'ftp://127.0.0.1/secret', headers: {} },
    { url: `http://secret:secret@127.0.0.1:${upstream.port}/`, headers: {} },
    { url: upstream.url, headers: { a: 'secret\r\nx: y' } },
    { url: upstream.url, headers: { a: 'secret\0' } },
    { url: upstream.url, headers: { a: 'secret\u0100' } },
    { url: upstream.url, headers: { 'secret: b\r\n': 'b' } },
    { url: upstream.url, headers: { '': 'b' } },
  ]
  for (const head of heads) {
    const { response } = transport.send({ method: 'GET', head, body: [], timeouts: timeouts() })
    const error = await failure(response)
    expect(error.kind).toBe('upstream-unreachable')
  }
  expect(upstream.peers.length).toBe(0)
})

test('framing and hop-by-hop headers of a provider are not sent', async () => {
  const { transport, upstream } = await rig(says(answer('x')))
  const headers = {
    Host: 'evil',
    'Content-Length': '1',
    'transfer-encoding': 'chunked',
    connection: 'close',
    'user-agent': 'me',
  }
  const head = { url: upstream.url, headers }
  await text(transport.send({ method: 'POST', head, body: [Buffer.from('ab')], timeouts: timeouts() }))
  const { received } = upstream.peers[0]!
  expect(received).not.toMatch(/evil|chunked|close|modelgate/)
  expect(received).toContain('user-agent: me\r\n')
  expect(received).toContain('content-length: 2\r\n')
})
