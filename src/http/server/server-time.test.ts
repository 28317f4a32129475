/** What waits, for how long, and what is left behind: timers, clients that leave, the end of the server. */
import { afterEach, expect, test } from 'bun:test'
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import {
  closeRigs,
  echo,
  FakeConnection,
  HandStream,
  readAnswers,
  serverRig,
  settle,
  text,
} from '../../../tests/support/network/http-server-rig.ts'
import { listen } from './server.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`
const half = 'POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhello'
const never = (): Promise<Answer> => new Promise(() => {})

// ---- timers

test('a connection that never asks is closed after a minute, one that asked before after four', async () => {
  const rig = serverRig(() => text('ok'))
  const silent = rig.client()
  const idle = rig.client()
  idle.send(get('/'))
  await idle.answer()
  await until(() => rig.server.connections === 2, 'two connections')
  rig.clock.advance(59_000)
  expect(rig.server.connections).toBe(2)
  rig.clock.advance(2000)
  await until(() => silent.ended, 'the end of the silent one')
  expect(silent.error).toBeUndefined()
  expect(rig.server.connections).toBe(1)
  idle.send('\r\n')
  await settle()
  rig.clock.advance(190_000)
  expect(rig.server.connections).toBe(1)
  rig.clock.advance(6000)
  await until(() => idle.ended, 'the end of the idle one')
  expect(idle.error).toBeUndefined()
  // Closed without a word.
  expect((await idle.answers(1)).length).toBe(1)
  expect(rig.clock.wheel.size).toBe(0)
})

test('a head has a minute, however it drips, also behind another request', async () => {
  const rig = serverRig(() => text('ok'))
  const client = rig.client()
  client.send(`${get('/a')}GET /b`)
  await client.answer()
  for (let i = 0; i < 11; i++) {
    rig.clock.advance(5000)
    client.send('x')
    await settle()
  }
  expect(client.ended).toBe(false)
  rig.clock.advance(6000)
  expect((await client.answers(2))[1]).toMatchObject({ status: 408, headers: { connection: 'close' } })
  await until(() => client.ended, 'the end')
  expect(rig.requests.length).toBe(1)
})

test('a body has a minute between two pieces; then the handler hears of it, and the client', async () => {
  const rig = serverRig()
  const client = rig.client()
  // So much, that its pace is beyond doubt for ten minutes.
  client.send(`POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(150_000)}`)
  await until(() => rig.requests.length === 1, 'the request')
  await settle()
  for (let i = 0; i < 4; i++) {
    rig.clock.advance(59_000)
    client.send('x')
    await settle()
  }
  expect(client.heard).toBe('')
  rig.clock.advance(61_000)
  expect(await client.answer()).toMatchObject({
    status: 408,
    body: 'POST /half failed: body-timeout',
    headers: { connection: 'close' },
  })
  await until(() => client.ended, 'the end')
})

test('a handler may take as long as it takes', async () => {
  let finish: (answer: Answer) => void = () => {}
  const rig = serverRig(() => new Promise(resolve => (finish = resolve)))
  const client = rig.client()
  client.send(half)
  await until(() => rig.requests.length === 1, 'the request')
  rig.clock.advance(3_600_000)
  finish(text('at last'))
  expect((await client.answer()).body).toBe('at last')
})

test('the rest of an unread body has a minute too', async () => {
  const rig = serverRig(() => text('early'))
  const client = rig.client()
  client.send(half)
  await client.answer()
  await settle()
  rig.clock.advance(61_000)
  await until(() => client.closed || client.ended, 'the end')
  expect(rig.server.connections).toBe(0)
})

test('a client that never reads: 20 MB wait in bounded memory and end after a minute', async () => {
  const stream = new HandStream()
  const piece = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  stream.onPipe = stream.onResume = () => {
    while (!stream.sink!.full && written < 20e6) {
      stream.sink!.write(piece)
      written += piece.length
    }
  }
  const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }))
  let left = 0
  const client = rig.client()
  client.socket.pause()
  client.send(get('/'))
  await until(() => rig.requests.length === 1, 'the request')
  rig.requests[0]!.onLeft(() => left++)
  await settle()
  const stuckAt = written
  await settle()
  // What the two systems hold, and a quarter of a megabyte here.
  expect(written).toBe(stuckAt)
  expect(stuckAt).toBeLessThan(12e6)
  // The system takes a little more now and then.
  for (let i = 0; i < 5 && left === 0; i++) {
    rig.clock.advance(61_000)
    await settle()
  }
  expect(left).toBe(1)
  expect(stream.cancels).toBe(1)
  expect(rig.server.connections).toBe(0)
  expect(rig.clock.wheel.size).toBe(0)
})

test('what is written is no sign of life of a client that reads nothing', async () => {
  const stream = new HandStream()
  const line = new FakeConnection(() => ({ status: 200, headers: {}, body: stream }))
  line.socket.room = 0
  line.receive(get('/'))
  await line.rest()
  for (let i = 0; i < 11; i++) {
    line.clock.advance(5000)
    stream.sink!.write('more')
    await line.rest()
  }
  expect(line.closes).toBe(0)
  line.clock.advance(5500)
  expect(line.closes).toBe(1)
  expect(stream.cancels).toBe(1)
})

test('a client that reads slowly but does read is served to the end', async () => {
  const line = new FakeConnection(() => ({ status: 200, headers: {}, body: Buffer.alloc(1_000_000) }))
  line.socket.room = 1000
  line.receive(get('/'))
  await line.rest()
  for (let i = 0; line.socket.sent.length < 1_000_000; i++) {
    line.clock.advance(40_000)
    line.connection.flush()
    if (i > 1100) throw new Error('it does not end')
  }
  expect(line.closes).toBe(0)
  line.connection.lost()
})

test('a reader so slow that its socket is never writable is served, until it reads nothing', async () => {
  const line = new FakeConnection(() => ({ status: 200, headers: {}, body: Buffer.alloc(1_000_000) }))
  line.socket.room = 1000
  line.receive(get('/'))
  await line.rest()
  const before = line.socket.sent.length
  for (let minute = 0; minute < 20; minute++) line.clock.advance(60_500)
  expect(line.closes).toBe(0)
  expect(line.socket.sent.length).toBeGreaterThan(before + 10_000)
  line.socket.room = 0
  line.clock.advance(60_500)
  expect(line.closes).toBe(1)
})

test('a client that pipelines without reading answers is read no further', async () => {
  const line = new FakeConnection(() => text('x'.repeat(50_000)))
  line.socket.room = 0
  line.receive(get('/').repeat(5000))
  await line.rest()
  const handled = line.requests.length
  expect(handled).toBeLessThan(10)
  expect(line.socket.paused).toBe(true)
  line.socket.room = Infinity
  line.connection.flush()
  for (let i = 0; line.requests.length < 5000 && i < 5000; i++) await line.rest()
  expect(line.requests.length).toBe(5000)
  await line.rest()
  expect(line.socket.paused).toBe(false)
  expect(readAnswers(line.socket.sent, false).answers.length).toBe(5000)
  line.connection.lost()
})

test('so much pipelined behind a slow call that the client has to wait; then all of it is answered', async () => {
  let finish: (answer: Answer) => void = () => {}
  const rig = serverRig(request =>
    request.headers.target === '/slow'
      ? new Promise(resolve => (finish = resolve))
      : Promise.resolve(text(request.headers.target)),
  )
  const client = rig.client()
  client.send(get('/slow'))
  await until(() => rig.requests.length === 1, 'the request')
  for (let i = 0; i < 4000; i++) client.send(get(`/${i}`))
  await settle()
  expect(rig.requests.length).toBe(1)
  finish(text('slow'))
  const answers = await client.answers(4001)
  expect(answers.every((answer, i) => answer.body === (i === 0 ? 'slow' : `/${i - 1}`))).toBe(true)
})

test('a large answer goes out in ticks of 256 KiB, and the connection goes on behind it', async () => {
  const line = new FakeConnection(request => text(request.path === '/large' ? 'x'.repeat(1_000_000) : 'small'))
  line.receive('GET /large HTTP/1.1\r\nhost: x\r\n\r\nGET /small HTTP/1.1\r\nhost: x\r\n\r\n')
  const sent: number[] = []
  for (let tick = 0; tick < 20 && !line.socket.sent.endsWith('small'); tick++) {
    await new Promise<void>(resolve => setImmediate(resolve))
    sent.push(line.socket.sent.length)
  }
  for (const [at, bytes] of sent.entries()) expect(bytes - (sent[at - 1] ?? 0)).toBeLessThanOrEqual(256 * 1024)
  expect(line.socket.sent.match(/x{1000000}HTTP/)).not.toBeNull()
  expect(line.failures).toEqual([])
})

test('of many pipelined requests one is handled a turn, so that other clients are answered between them', async () => {
  const rig = serverRig(() => text('ok'))
  const greedy = Array.from({ length: 20 }, () => rig.client())
  const honest = rig.client()
  await until(() => rig.server.connections === 21, 'the connections')
  for (const client of greedy) client.send(get('/').repeat(300))
  await until(() => rig.requests.length > 0, 'the first requests')
  const before = rig.requests.length
  expect(before).toBeLessThan(1500)
  honest.send(get('/honest'))
  await honest.answer()
  expect(rig.requests.findIndex(request => request.path === '/honest')).toBeLessThan(before + 1500)
  expect((await greedy[0]!.answers(300)).length).toBe(300)
})

// ---- clients that leave

test('a client that leaves, at any point: heard once, nothing left behind', async () => {
  for (const reset of [false, true]) {
    const failures: string[] = []
    let lefts = 0
    const stream = new HandStream()
    const rig = serverRig(request => {
      request.onLeft(() => lefts++)
      request.onLeft(() => lefts++)
      if (request.headers.target === '/stream') return { status: 200, headers: {}, body: stream }
      if (request.headers.target === '/early') return text('early')
      if (request.headers.target === '/pieces')
        request.body.next().catch((error: GatewayError) => failures.push(`next ${error.kind}`))
      else readBody(request.body, 100).catch((error: GatewayError) => failures.push(`whole ${error.kind}`))
      return never()
    })
    const starts: [string, number][] = [
      ['', 0],
      ['GET / HT', 0],
      [get('/waits'), 2],
      [half, 2],
      [half.replace('/half', '/pieces').replace('hello', ''), 2],
      [half.replace('/half', '/early'), 0],
      [get('/stream'), 2],
    ]
    for (const [bytes, expected] of starts) {
      lefts = 0
      const before = rig.requests.length
      const client = rig.client()
      client.send(bytes)
      await until(() => rig.server.connections === 1, 'the connection')
      await settle()
      if (reset) client.socket.resetAndDestroy()
      else client.socket.end()
      await until(() => rig.server.connections === 0, `released after ${JSON.stringify(bytes)}`)
      await settle()
      expect([bytes, lefts]).toEqual([bytes, expected])
      if (expected > 0) expect(rig.requests[before]!.left).toBe(true)
      rig.requests[before]?.onLeft(() => lefts++)
      expect(lefts).toBe(expected)
    }
    expect(failures).toEqual(['whole client-closed', 'next client-closed'])
    expect(stream).toMatchObject({ pipes: 1, cancels: 1 })
    stream.sink!.write('into the void')
    stream.sink!.end()
    stream.sink!.abort()
    expect(rig.clock.wheel.size).toBe(0)
    expect(rig.reports).toEqual([])
  }
})

test('an answer that comes after the client has left is let go, its stream ended', async () => {
  const stream = new HandStream()
  let pulledCancels = 0
  for (const body of [stream, new ReadableStream<Uint8Array>({ cancel: () => void pulledCancels++ })]) {
    let finish: (answer: Answer) => void = () => {}
    const rig = serverRig(() => new Promise(resolve => (finish = resolve)))
    const client = rig.client()
    client.send(get('/'))
    await until(() => rig.requests.length === 1, 'the request')
    client.socket.destroy()
    await until(() => rig.server.connections === 0, 'the end')
    finish({ status: 200, headers: {}, body })
    await settle()
  }
  expect(stream).toMatchObject({ pipes: 0, cancels: 1 })
  expect(pulledCancels).toBe(1)
})

test('a listener that throws does not keep the others from being called, and is reported', async () => {
  const stream = new HandStream()
  const rig = serverRig(request => {
    request.onLeft(() => {
      throw new Error('listener')
    })
    return { status: 200, headers: {}, body: stream }
  })
  const client = rig.client()
  client.send(get('/'))
  await until(() => stream.pipes === 1, 'the stream')
  client.socket.destroy()
  await until(() => stream.cancels === 1, 'the end of the stream')
  expect(rig.reports.map(String)).toEqual(['Error: listener'])
})

test('a client that half-closes behind its request still gets an answer that is ready', async () => {
  const rig = serverRig(request => (request.headers.target === '/large' ? text('x'.repeat(5_000_000)) : text('ok')))
  for (const target of ['/small', '/large']) {
    const client = rig.client()
    client.socket.end(get(target))
    expect((await client.answer()).body.length).toBe(target === '/small' ? 2 : 5_000_000)
    await until(() => rig.server.connections === 0, 'the end')
    expect(client.error).toBeUndefined()
  }
})

test('a thousand connections that come, ask and go leave nothing', async () => {
  const rig = serverRig(() => text('ok'))
  for (let round = 0; round < 10; round++) {
    const clients = Array.from({ length: 100 }, () => rig.client())
    for (const client of clients) client.send(get('/'))
    await Promise.all(clients.map(client => client.answer()))
    expect(rig.server.connections).toBe(100)
    for (const [i, client] of clients.entries())
      if (i % 2) client.socket.end()
      else client.socket.destroy()
    await until(() => rig.server.connections === 0, 'all gone')
  }
  expect(rig.clock.wheel.size).toBe(0)
  expect(rig.requests.length).toBe(1000)
})

// ---- the end of the server

test('stop: idle ones close at once, calls under way finish, no new client is accepted', async () => {
  let finish: (answer: Answer) => void = () => {}
  const stream = new HandStream()
  const rig = serverRig(request => {
    if (request.headers.target === '/stream') return { status: 200, headers: {}, body: stream }
    return request.headers.target === '/slow' ? new Promise(resolve => (finish = resolve)) : echo(request)
  })
  const idle = rig.client()
  idle.send(get('/'))
  await idle.answer()
  const half = rig.client()
  half.send('GET / HT')
  const slow = rig.client()
  slow.send(get('/slow') + get('/pipelined'))
  const streaming = rig.client()
  streaming.send(get('/stream'))
  const body = rig.client()
  body.send('POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhello')
  await until(() => rig.requests.length === 4, 'the requests')
  let stopped = 0
  void rig.server.stop().then(() => stopped++)
  void rig.server.stop().then(() => stopped++)
  await until(() => idle.ended && half.ended, 'the end of the idle ones')
  expect(idle.error).toBeUndefined()
  const late = rig.client()
  await until(() => late.closed, 'no new connection')
  expect(stopped).toBe(0)
  finish(text('done'))
  expect(await slow.answer()).toMatchObject({ body: 'done', headers: { connection: 'close' } })
  body.send('world')
  expect(await body.answer()).toMatchObject({ body: 'POST /body [helloworld]', headers: { connection: 'close' } })
  stream.sink!.write('end')
  stream.sink!.end()
  expect((await streaming.answer()).body).toBe('end')
  for (const client of [slow, body, streaming]) {
    await until(() => client.ended, 'FIN')
    expect(client.error).toBeUndefined()
    client.socket.end()
  }
  await until(() => stopped === 2, 'the stop')
  expect(rig.requests.length).toBe(4)
  expect(rig.clock.wheel.size).toBe(0)
})

test('stop while an answer is on its way: it arrives whole, and the stop ends', async () => {
  const rig = serverRig(() => text('x'.repeat(8_000_000)))
  const client = rig.client()
  client.socket.pause()
  client.send(get('/'))
  await until(() => rig.requests.length === 1, 'the request')
  let stopped = false
  void rig.server.stop().then(() => (stopped = true))
  await settle()
  expect(stopped).toBe(false)
  client.socket.resume()
  expect((await client.answer()).body.length).toBe(8_000_000)
  await until(() => client.ended, 'FIN')
  client.socket.end()
  await until(() => stopped, 'the stop')
})

test('a client that does not answer FIN does not hold the stop', async () => {
  const rig = serverRig(() => Bun.sleep(10).then(() => text('ok')))
  const client = rig.client()
  client.send(get('/'))
  await until(() => rig.requests.length === 1, 'the request')
  let stopped = false
  void rig.server.stop().then(() => (stopped = true))
  await client.answer()
  await until(() => client.ended, 'FIN')
  await settle()
  rig.clock.advance(2200)
  await until(() => stopped, 'the stop')
})

test('cut: connections that are left close at once, and their requests hear of it once', async () => {
  const stream = new HandStream()
  const rig = serverRig(request =>
    request.headers.target === '/stream' ? { status: 200, headers: {}, body: stream } : never(),
  )
  const clients = ['/stream', '/waits'].map(target => {
    const client = rig.client()
    client.send(get(target))
    return client
  })
  await until(() => rig.requests.length === 2, 'the requests')
  let left = 0
  for (const request of rig.requests) request.onLeft(() => left++)
  let stopped = false
  void rig.server.stop().then(() => (stopped = true))
  rig.server.cut()
  await until(() => stopped && clients.every(client => client.closed), 'all gone')
  expect(left).toBe(2)
  expect(stream.cancels).toBe(1)
})

test('stop of a server without clients ends at once; an address that is taken is an error', async () => {
  const rig = serverRig()
  const { clock } = rig
  expect(() =>
    listen({
      hostname: '127.0.0.1',
      port: rig.port,
      clock,
      wheel: clock.wheel,
      handle: () => text(''),
      refuse: () => text(''),
      report: () => {},
    }),
  ).toThrow()
  await rig.server.stop()
  const again = listen({
    hostname: '127.0.0.1',
    port: rig.port,
    clock,
    wheel: clock.wheel,
    handle: () => text(''),
    refuse: () => text(''),
    report: () => {},
  })
  expect(again.url).toBe(rig.server.url)
  await again.stop()
})
