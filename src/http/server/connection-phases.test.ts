/**
 * Each phase of docs/connections.md on a real socket: how long it lasts, and who takes its place when places are short.
 */
import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Answer } from '../../core/answer.ts'
import { readBody } from '../../core/request.ts'
import { connectionPhases, phaseTable } from '../../../tests/support/network/connection-phases.ts'
import type { ConnectionPhase } from '../../../tests/support/network/connection-phases.ts'
import {
  closeRigs,
  HandStream,
  readAnswers,
  serverRig,
  settle,
  text,
} from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import { unauthenticatedBytesMax } from './client-limits.ts'
import type { ServerRequest } from './server-request.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

/** Steps of the timer wheel, of the manual clock, and of what a socket needs to be closed. */
const slackMs = 150

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`
const post = (target: string, length: number): string =>
  `POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`

const large = Buffer.alloc(16_000_000, 'x')

function phaseRig(max: number): ServerRig {
  const answer = async (request: ServerRequest): Promise<Answer> => {
    const failure = await readBody(request.body, 1e6).then(
      () => undefined,
      (thrown: Error) => thrown.message,
    )
    return failure === undefined ? text('read') : text(failure, 408)
  }
  return serverRig(
    (request): Answer | Promise<Answer> => {
      if (request.path.endsWith('/read')) return answer(request)
      if (request.path.endsWith('/later')) return Bun.sleep(5).then(() => text('no', 401))
      if (request.path.endsWith('/wait')) return new Promise(() => {})
      if (request.path.endsWith('/large')) return { ...text(''), body: large }
      if (request.path.endsWith('/stream')) return { ...text(''), body: endless() }
      return text('ok', request.authenticated ? 200 : 401)
    },
    {
      limit: { max, turnAway: () => text('full', 503), reached() {} },
      authenticated: request => request.path.startsWith('/key'),
    },
  )
}

function endless(): HandStream {
  const stream = new HandStream()
  const piece = Buffer.alloc(64 * 1024, 'x')
  stream.onPipe = stream.onResume = () => {
    while (!stream.sink!.full) stream.sink!.write(piece)
  }
  return stream
}

/** Brings a fresh connection into each phase. */
const enter: Record<keyof typeof connectionPhases, (rig: ServerRig, client: RawClient) => Promise<void>> = {
  silent: async () => {},
  head: async (_rig, client) => client.send('GET /key HTTP/1.1\r\nhos'),
  lookup: async (rig, client) => {
    client.send(get('/wait'))
    await until(() => rig.requests.length > 0, 'the request')
  },
  refusedOwing: async (_rig, client) => {
    client.send(post('/none', 1000))
    expect((await client.answer()).status).toBe(401)
  },
  refusedUnread: async (rig, client) => {
    client.socket.pause()
    client.send(get('/large'))
    await until(() => rig.requests.length > 0, 'the request')
  },
  closing: async (_rig, client) => {
    client.send(post('/none', 10_000_000))
    expect(await client.answer()).toMatchObject({ status: 401, headers: { connection: 'close' } })
    await until(() => client.ended, 'FIN')
  },
  idle: async (_rig, client) => {
    client.send(get('/key'))
    expect((await client.answer()).status).toBe(200)
  },
  owing: async (_rig, client) => {
    client.send(post('/key', 10_000_000))
    expect((await client.answer()).status).toBe(200)
  },
  body: async (rig, client) => {
    client.send(`${post('/key/read', 200_000)}${'x'.repeat(100_000)}`)
    await until(() => rig.requests.length > 0, 'the request')
  },
  unread: async (rig, client) => {
    client.socket.pause()
    client.send(get('/key/stream'))
    await until(() => rig.requests.length > 0, 'the request')
  },
  work: async (rig, client) => {
    client.send(get('/key/wait'))
    await until(() => rig.requests.length > 0, 'the request')
  },
}

/** A client in the phase, on a server with `max` places. */
async function inPhase(phase: keyof typeof connectionPhases, max: number) {
  const rig = phaseRig(max)
  const client = rig.client()
  await until(() => rig.server.connections === 1, 'the connection')
  await enter[phase](rig, client)
  await settle()
  return { rig, client }
}

const phases = Object.entries<ConnectionPhase>(connectionPhases) as [keyof typeof connectionPhases, ConnectionPhase][]

test('docs/connections.md says what the code does', () => {
  const document = readFileSync(`${import.meta.dir}/../../../docs/connections.md`, 'utf8')
  expect(document).toContain(phaseTable())
})

test.each(phases)('the phase %s lasts as long as the table says', async (phase, { lastsMs }) => {
  const { rig, client } = await inPhase(phase, 10)
  if (lastsMs === null) {
    rig.clock.advance(3_600_000)
    return expect(rig.server.connections).toBe(1)
  }
  // Of a body that comes without a pause. Other phases are over although bytes come.
  const more = phase === 'body' ? 'x' : ''
  for (let passedMs = 0; passedMs + 2000 < lastsMs; passedMs += 2000) {
    if (more) client.send('x'.repeat(500))
    await settle()
    rig.clock.advance(2000)
    expect(rig.server.connections).toBe(1)
  }
  await settle()
  rig.clock.advance(2000 + slackMs)
  await settle()
  // The system takes a few bytes more now and then, from which the time of a client with a key is counted.
  for (let again = 0; phase === 'unread' && again < 4; again++) {
    rig.clock.advance(lastsMs + slackMs)
    await settle()
  }
  // Those that get a reason have the time of a closing connection to read it.
  if (client.heard.includes(' 408 ')) rig.clock.advance(connectionPhases.closing.lastsMs + slackMs)
  await until(() => rig.server.connections === 0, 'the end')
  expect(rig.clock.wheel.size).toBe(0)
})

test.each(phases)('the phase %s makes room when the table says so', async (phase, { evictableAfterMs: afterMs }) => {
  const { rig, client } = await inPhase(phase, 1)
  const statusOfNext = async (): Promise<number> => {
    const next = rig.client()
    next.send(get('/key'))
    const { status } = await next.answer()
    next.socket.destroy()
    return status
  }
  rig.clock.advance((afterMs ?? 60_000) - slackMs)
  expect(await statusOfNext()).toBe(503)
  rig.clock.advance(2 * slackMs)
  expect(await statusOfNext()).toBe(afterMs === null ? 503 : 200)
  expect(client.socket.destroyed || client.closed || client.ended).toBe(afterMs !== null)
  expect(rig.server.clients().evicted).toBe(afterMs === null ? 0 : 1)
})

test('those without a valid key go first, then those of whom nothing is lost, then calls that stand still', async () => {
  const rig = phaseRig(5)
  const order = ['unread', 'body', 'idle', 'refusedOwing', 'silent'] as const
  const clients: RawClient[] = []
  for (const phase of order) {
    const client = rig.client()
    await until(() => rig.server.connections === clients.length + 1, 'the connection')
    rig.requests.length = 0
    await enter[phase](rig, client)
    await settle()
    // The oldest is the last to go.
    if (phase === 'body') rig.clock.advance(9000)
    clients.push(client)
  }
  rig.clock.advance(1500)
  const gone: string[] = []
  for (let round = 0; round < 5; round++) {
    const before = rig.server.clients().evicted
    const next = rig.client()
    next.send(get('/key/wait'))
    await until(() => rig.server.clients().evicted > before, 'a place')
    await settle()
    for (const [at, client] of clients.entries())
      if ((client.closed || client.ended || client.socket.destroyed) && !gone.includes(order[at]!))
        gone.push(order[at]!)
  }
  expect(gone.slice(0, 3)).toEqual(['refusedOwing', 'silent', 'idle'])
  expect(rig.server.connections).toBe(5)
})

test.each([
  ['owe a body after a refusal', 450, post('/none', 1000)],
  // Each fills megabytes of the system's buffers.
  ['do not read', 60, get('/large')],
])(
  'clients that hold every place and %s: a second later every new client is served',
  async (_name, places, request) => {
    const rig = phaseRig(places)
    const flood = Array.from({ length: places }, () => rig.client())
    for (const client of flood) {
      client.socket.pause()
      client.send(request)
    }
    await until(() => rig.requests.length === places, 'the flood')
    // Large answers go out in ticks: by then all of it is sent, or stands still.
    for (let tick = 0; tick < 100; tick++) await new Promise<void>(resolve => setImmediate(resolve))
    const late = rig.client()
    late.send(get('/key'))
    expect((await late.answer()).status).toBe(503)
    rig.clock.advance(1000 + slackMs)
    for (let i = 0; i < 30; i++) {
      const honest = rig.client()
      honest.send(get('/key'))
      expect((await honest.answer()).status).toBe(200)
    }
  },
  20_000,
)

test('a refused client that goes on sending is read no further than the table says, and reads its answer', async () => {
  const rig = phaseRig(10)
  for (const head of [
    post('/none', 50_000_000),
    'POST /none HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2625a00\r\n',
    'POST /none HTTP/1.1\r\nhost x\r\n\r\n',
  ]) {
    const client = rig.client()
    client.send(head)
    expect((await client.answer()).headers.connection).toBe('close')
    let taken = 0
    const piece = Buffer.alloc(64 * 1024, 'x')
    // What the two systems buffer is not read by the gateway.
    for (let i = 0; i < 300 && client.socket.writableLength === 0; i++) {
      client.socket.write(piece)
      taken += piece.length
      await Bun.sleep(1)
    }
    expect(client.socket.writableLength).toBeGreaterThan(0)
    expect(taken).toBeLessThan(16_000_000 + unauthenticatedBytesMax)
    rig.clock.advance(connectionPhases.closing.lastsMs + slackMs)
    await until(() => rig.server.connections === 0, 'the end')
  }
})

test('more than 64 KiB of pipelined requests are kept for a valid key alone; else the connection closes', async () => {
  const pad = 'x'.repeat(1000)
  const pipelined = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\npad: ${pad}\r\n\r\n`.repeat(100)
  const rig = phaseRig(10)
  const keyed = rig.client()
  keyed.send(pipelined('/key'))
  expect((await keyed.answers(100)).length).toBe(100)
  for (const target of ['/none', '/later']) {
    const client = rig.client()
    client.send(pipelined(target))
    expect((await client.answer()).status).toBe(401)
    await until(() => client.ended, 'FIN')
    const { answers, rest } = readAnswers(client.heard, true)
    expect([answers.length < 5, rest]).toEqual([true, ''])
  }
})

test('requests without a valid key hold no place: their connection makes room however often it asks', async () => {
  for (const [target, isKept] of [
    ['/none', false],
    ['/key', true],
  ] as const) {
    const rig = phaseRig(1)
    const client = rig.client()
    for (let count = 1; count <= 4; count++) {
      client.send(get(target))
      await client.answers(count)
      await settle()
      rig.clock.advance(400)
    }
    const next = rig.client()
    next.send(get('/key'))
    expect((await next.answer()).status).toBe(isKept ? 503 : 200)
  }
})

test('a refused client with a small rest keeps its connection', async () => {
  const rig = phaseRig(10)
  const client = rig.client()
  client.send(post('/none', 60_000))
  await client.answer()
  client.send('x'.repeat(60_000) + get('/key'))
  expect((await client.answers(2))[1]!.status).toBe(200)
})

test('a health check is answered while no place is free and ten times as many clients knock', async () => {
  const rig = serverRig(request => (request.path === '/wait' ? new Promise(() => {}) : text('ok')), {
    limit: { max: 50, turnAway: request => text('', request.path === '/health' ? 200 : 503), reached() {} },
  })
  const clients = Array.from({ length: 50 }, () => rig.client())
  for (const client of clients) client.send(get('/wait'))
  await until(() => rig.requests.length === 50, 'the calls')
  for (let round = 0; round < 20; round++) {
    const flood = Array.from({ length: 25 }, () => rig.client())
    const health = rig.client()
    health.send(get('/health'))
    expect((await health.answer()).status).toBe(200)
    clients.push(...flood)
  }
  expect(rig.server.connections).toBeLessThanOrEqual(66)
})
