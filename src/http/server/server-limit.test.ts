/** More clients than there is room for: who goes, who stays, who has to come again. */
import { afterEach, expect, test } from 'bun:test'
import type { Answer } from '../../core/answer.ts'
import { closeRigs, HandStream, serverRig, settle, text } from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import type { ServerRequest } from './server-request.ts'
import type { ClientCounts } from './server.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`

interface LimitRig extends ServerRig {
  /** What was reported to the operator. */
  readonly reached: ClientCounts[]
  readonly turnedAway: ServerRequest[]
  /** Ends the calls of `/slow`, in their order. */
  readonly finish: (() => void)[]
  /** Connected, and known to the server. */
  arrived(): Promise<RawClient>
  /** Idle after a request. */
  idle(): Promise<RawClient>
  /** In the middle of `/slow`. */
  busy(): Promise<RawClient>
}

function limitRig(max: number): LimitRig {
  const reached: ClientCounts[] = []
  const turnedAway: ServerRequest[] = []
  const finish: (() => void)[] = []
  const answer = (request: ServerRequest): Answer | Promise<Answer> =>
    request.headers.target === '/slow' ? new Promise(resolve => finish.push(() => resolve(text('slow')))) : text('ok')
  const rig = serverRig(answer, {
    limit: {
      max,
      turnAway(request) {
        turnedAway.push(request)
        return { status: 503, headers: { 'retry-after': '1' }, body: 'full' }
      },
      reached: counts => reached.push(counts),
    },
  })
  const arrived = async (): Promise<RawClient> => {
    const { connections } = rig.server
    const { evicted, turnedAway: refused } = rig.server.clients()
    const client = rig.client()
    await until(() => {
      const counts = rig.server.clients()
      return rig.server.connections > connections || counts.evicted > evicted || counts.turnedAway > refused
    }, 'the connection')
    return client
  }
  return {
    ...rig,
    reached,
    turnedAway,
    finish,
    arrived,
    async idle() {
      const client = await arrived()
      client.send(get('/'))
      await client.answer()
      await settle()
      return client
    },
    async busy() {
      const calls = finish.length
      const client = await arrived()
      client.send(get('/slow'))
      await until(() => finish.length > calls, 'the call')
      return client
    },
  }
}

test('the least recently used of the idle ones makes room, in an orderly way', async () => {
  const rig = limitRig(3)
  const [first, second, third] = [await rig.idle(), await rig.idle(), await rig.idle()]
  rig.clock.advance(500)
  // Now the second is the one that was idle longest.
  first.send(get('/again'))
  await first.answers(2)
  await settle()
  rig.clock.advance(2000)
  third.send(get('/again'))
  await third.answers(2)
  const fourth = await rig.idle()
  await until(() => second.ended, 'the end of the second')
  expect(second.error).toBeUndefined()
  expect([first.ended, third.ended, fourth.ended]).toEqual([false, false, false])
  expect(rig.server.clients()).toEqual({ busy: 0, idle: 3, max: 3, evicted: 1, turnedAway: 0 })
  const fifth = await rig.idle()
  await until(() => first.ended, 'the end of the first')
  expect(third.ended || fourth.ended || fifth.ended).toBe(false)
  expect(rig.reached).toEqual([])
})

test('one that was used since the idle ones were looked through is not closed for it', async () => {
  const rig = limitRig(3)
  const clients = [await rig.idle(), await rig.idle(), await rig.idle()]
  rig.clock.advance(2000)
  // Looks through all three and closes the first.
  await rig.arrived()
  clients[1]!.send(get('/again'))
  await clients[1]!.answers(2)
  await settle()
  await rig.arrived()
  await until(() => clients[2]!.ended, 'the end of the third')
  expect(clients[1]!.ended).toBe(false)
})

test('a connection that has just come, or has just been used, stays: the new one has to come again', async () => {
  const rig = limitRig(2)
  const [silent, idle] = [await rig.arrived(), await rig.idle()]
  rig.clock.advance(900)
  const third = await rig.arrived()
  third.send('POST /v1/chat HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello')
  expect(await third.answer()).toMatchObject({
    status: 503,
    body: 'full',
    headers: { 'retry-after': '1', connection: 'close' },
  })
  await until(() => third.ended, 'the end')
  expect(third.error).toBeUndefined()
  expect(rig.turnedAway.length).toBe(1)
  expect(rig.requests.length).toBe(1)
  // Those that stayed are served.
  for (const client of [silent, idle]) client.send(get('/'))
  expect((await silent.answer()).body).toBe('ok')
  await idle.answers(2)
  await settle()
  rig.clock.advance(1100)
  const fourth = await rig.idle()
  expect((await fourth.answer()).body).toBe('ok')
})

test('no connection in use is evicted, however long it takes', async () => {
  const rig = limitRig(4)
  const slow = await rig.busy()
  const body = await rig.arrived()
  body.send(`POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\nhalf`)
  const pipelined = await rig.busy()
  pipelined.send(get('/') + get('/'))
  const leaving = await rig.busy()
  await until(() => rig.finish.length === 4, 'the calls')
  await settle()
  rig.clock.advance(30_000)
  const late = await rig.arrived()
  late.send(get('/'))
  expect((await late.answer()).status).toBe(503)
  expect(rig.server.clients()).toMatchObject({ idle: 0, evicted: 0, turnedAway: 1 })
  for (const finish of rig.finish) finish()
  body.send('x'.repeat(16))
  for (const [client, count] of [
    [slow, 1],
    [body, 1],
    [pipelined, 3],
    [leaving, 1],
  ] as const)
    expect((await client.answers(count)).every(answer => answer.status === 200)).toBe(true)
  late.socket.destroy()
  // A place that became free is free.
  leaving.socket.destroy()
  await until(() => rig.server.connections === 3, 'a place')
  const next = await rig.arrived()
  next.send(get('/'))
  expect((await next.answer()).status).toBe(200)
})

test('heads that never end keep no client out', async () => {
  const rig = limitRig(2)
  for (const _ of [1, 2]) (await rig.arrived()).send('GET / HT')
  await settle()
  rig.clock.advance(1100)
  const late = await rig.arrived()
  late.send(get('/'))
  expect((await late.answer()).status).toBe(200)
  expect(rig.server.clients()).toMatchObject({ evicted: 1, turnedAway: 0 })
})

test('a client that does not take its answer is not idle', async () => {
  const stream = new HandStream()
  const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }), {
    limit: { max: 1, turnAway: () => text('full', 503), reached() {} },
  })
  const reader = rig.client()
  reader.send(get('/'))
  await until(() => stream.pipes === 1, 'the stream')
  stream.sink!.write('one;')
  rig.clock.advance(20_000)
  const other = rig.client()
  other.send(get('/'))
  expect((await other.answer()).status).toBe(503)
  stream.sink!.write('two')
  stream.sink!.end()
  expect((await reader.answer()).body).toBe('one;two')
})

test('beyond the limit the newest always has a place: the oldest of those that are turned away is cut for it', async () => {
  const rig = limitRig(1)
  await rig.busy()
  const silent: RawClient[] = []
  for (let i = 0; i < 16; i++) silent.push(await rig.arrived())
  for (let i = 0; i < 8; i++) {
    const next = rig.client()
    next.send(get('/'))
    expect((await next.answer()).status).toBe(503)
    await until(() => silent[i]!.closed, 'the cut')
    expect(silent[i]!.heard).toBe('')
    expect(rig.server.connections).toBe(17)
  }
  // Also when all of them have their answer, and wait for its client to close.
  for (let i = 0; i < 40; i++) {
    const next = rig.client()
    next.send(get('/'))
    expect((await next.answer()).status).toBe(503)
  }
  expect(rig.server.connections).toBe(17)
  expect(rig.server.clients()).toMatchObject({ evicted: 0, turnedAway: 64 })
})

test('what cannot be read is refused beyond the limit as within it', async () => {
  const rig = limitRig(1)
  await rig.busy()
  const client = rig.client()
  client.send('GET / HTTP/1.1\r\nhost x\r\n\r\n')
  expect((await client.answer()).status).toBe(400)
  await until(() => client.ended, 'the end')
})

test('500 sockets that say nothing: calls under way go on, and a second later everybody is served again', async () => {
  const rig = limitRig(20)
  const slow = await rig.busy()
  const known = await rig.idle()
  const flood = Array.from({ length: 500 }, () => rig.client())
  await until(() => rig.server.clients().turnedAway >= 482, 'the flood')
  await settle()
  expect(rig.server.connections).toBeLessThanOrEqual(36)
  known.send(get('/'))
  expect((await known.answers(2))[1]!.status).toBe(200)
  await settle()
  rig.clock.advance(1100)
  for (let i = 0; i < 30; i++) {
    const honest = rig.client()
    honest.send(get('/'))
    expect((await honest.answer()).status).toBe(200)
    honest.socket.destroy()
  }
  rig.finish[0]!()
  expect((await slow.answer()).body).toBe('slow')
  for (const client of flood) client.socket.destroy()
  await until(() => rig.server.connections <= 2, 'the end of the flood')
  expect(rig.reports).toEqual([])
})

test('the operator hears of it once a minute', async () => {
  const rig = limitRig(1)
  await rig.busy()
  for (const waitMs of [0, 1000, 50_000, 10_000]) {
    rig.clock.advance(waitMs)
    const client = await rig.arrived()
    client.send(get('/'))
    await client.answer()
  }
  expect(rig.reached.map(({ turnedAway, max, busy }) => ({ turnedAway, max, busy }))).toEqual([
    { turnedAway: 1, max: 1, busy: 1 },
    { turnedAway: 4, max: 1, busy: 1 },
  ])
})

test('a server that stops lets go of those that it turns away', async () => {
  const rig = limitRig(1)
  const slow = await rig.busy()
  const silent = await rig.arrived()
  let stopped = false
  void rig.server.stop().then(() => (stopped = true))
  await until(() => silent.ended, 'the end of the silent one')
  rig.finish[0]!()
  expect((await slow.answer()).body).toBe('slow')
  slow.socket.end()
  await until(() => stopped, 'the stop')
  expect(rig.clock.wheel.size).toBe(0)
})
