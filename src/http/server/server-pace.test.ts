/** Bodies that come slowly: who is too slow, who is not, and what becomes of them. */
import { afterEach, expect, test } from 'bun:test'
import type { Answer } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import { closeRigs, FakeConnection, serverRig, settle, text } from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import type { ServerRequest } from './server-request.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const post = (length: number, more = ''): string =>
  `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n${more}\r\n`

/** Says how much came, or why not all. */
async function whole(request: ServerRequest): Promise<Answer> {
  try {
    return text(`${(await readBody(request.body, 1e8)).length} bytes`)
  } catch (thrown) {
    return failure(thrown)
  }
}

function failure(thrown: unknown): Answer {
  if (!(thrown instanceof GatewayError)) throw thrown
  return text(`${thrown.kind}: ${thrown.message}`, thrown.status)
}

/** Reads piece by piece, as an upload does that goes to disk; `work` comes after each. */
const pieces =
  (work: () => Promise<void>, seen: { bytes: number }) =>
  async (request: ServerRequest): Promise<Answer> => {
    try {
      for (let piece = await request.body.next(); piece; piece = await request.body.next()) {
        seen.bytes += piece.length
        await work()
      }
      return text(`${seen.bytes} bytes`)
    } catch (thrown) {
      return failure(thrown)
    }
  }

/** Sends `bytes` every `everyMs` until there is an answer, for at most `forMs`. Returns how long it went on, in ms. */
async function drip(
  rig: ServerRig,
  client: RawClient,
  { bytes, everyMs, forMs }: { bytes: string; everyMs: number; forMs: number },
): Promise<number> {
  let passedMs = 0
  while (client.heard === '' && passedMs < forMs) {
    client.send(bytes)
    await settle()
    rig.clock.advance(everyMs)
    await settle()
    passedMs += everyMs
  }
  return passedMs
}

const tooSlow =
  'body-timeout: the body came too slowly: less than 240 bytes a second on average, beyond 5 s of grace; ' +
  'send the request again, its body at once'

async function expectRefused(rig: ServerRig, client: RawClient, why: string): Promise<void> {
  expect(await client.answer()).toMatchObject({ status: 408, body: why, headers: { connection: 'close' } })
  await until(() => client.ended, 'the end')
  rig.clock.advance(2500)
  expect(rig.server.connections).toBe(0)
  expect(rig.clock.wheel.size).toBe(0)
  expect(rig.reports).toEqual([])
}

test('a byte every few seconds is too slow as soon as the grace is over', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(10_000))
  await until(() => rig.requests.length === 1, 'the request')
  expect(await drip(rig, client, { bytes: 'x', everyMs: 1000, forMs: 60_000 })).toBe(6000)
  await expectRefused(rig, client, tooSlow)
})

test('a byte of a chunk every few seconds, likewise', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  await until(() => rig.requests.length === 1, 'the request')
  expect(await drip(rig, client, { bytes: '1\r\nx\r\n', everyMs: 2000, forMs: 60_000 })).toBe(6000)
  await expectRefused(rig, client, tooSlow)
})

test('a client that got 100 Continue and sends nothing has five seconds from then on', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(10, 'expect: 100-continue\r\n'))
  await until(() => client.heard.includes('100 Continue'), 'the word')
  rig.clock.advance(4900)
  await settle()
  expect(client.heard).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  rig.clock.advance(200)
  await expectRefused(rig, client, tooSlow)
})

test('a body at 300 bytes a second takes as long as it takes', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(15_000))
  await until(() => rig.requests.length === 1, 'the request')
  expect(await drip(rig, client, { bytes: 'x'.repeat(1200), everyMs: 4000, forMs: 48_000 })).toBe(48_000)
  client.send('x'.repeat(600))
  expect(await client.answer()).toMatchObject({ status: 200, body: '15000 bytes' })
})

test('a client that was fast may pause, and one that falls behind is refused later', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(20_000) + 'x'.repeat(9600))
  await until(() => rig.requests.length === 1, 'the request')
  // 40 s of credit, and 5 s of grace.
  expect(await drip(rig, client, { bytes: 'x', everyMs: 4000, forMs: 100_000 })).toBe(48_000)
  await expectRefused(rig, client, tooSlow)
})

test('nothing for a minute is too long for everybody', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(200_000) + 'x'.repeat(100_000))
  await until(() => rig.requests.length === 1, 'the request')
  await settle()
  rig.clock.advance(59_000)
  await settle()
  expect(client.heard).toBe('')
  rig.clock.advance(1200)
  await expectRefused(
    rig,
    client,
    'body-timeout: nothing of the body came for 60 s; send the request again, its body without a pause',
  )
})

test('a body that is not read yet is not too slow; then it has five seconds', async () => {
  let ask: () => void = () => {}
  const asked = new Promise<void>(resolve => (ask = resolve))
  const rig = serverRig(request => asked.then(() => whole(request)))
  const client = rig.client()
  client.send(post(1000))
  await until(() => rig.requests.length === 1, 'the request')
  expect(await drip(rig, client, { bytes: 'x', everyMs: 59_000, forMs: 590_000 })).toBe(590_000)
  ask()
  await settle()
  rig.clock.advance(4000)
  await settle()
  expect(client.heard).toBe('')
  rig.clock.advance(1500)
  await expectRefused(rig, client, tooSlow)
})

test('an upload whose reader is slow, so that the client has to wait, is not too slow', async () => {
  const seen = { bytes: 0 }
  let go: () => void = () => {}
  const rig = serverRig(pieces(() => new Promise(resolve => (go = resolve)), seen))
  const client = rig.client()
  const length = 3_000_000
  client.send(post(length))
  client.send(Buffer.alloc(length))
  await until(() => seen.bytes > 0, 'a piece')
  let rounds = 0
  while (seen.bytes < length) {
    await settle()
    // The reader is at work; the socket rests.
    rig.clock.advance(100_000)
    const before = seen.bytes
    go()
    await until(() => seen.bytes > before || client.heard !== '', 'another piece')
    rounds++
  }
  go()
  expect(await client.answer()).toMatchObject({ status: 200, body: '3000000 bytes' })
  // Each was longer than any pause that a client may make.
  expect(rounds).toBeGreaterThan(5)
})

test('the time that a reader works on a piece is not the client\u2019s', async () => {
  const seen = { bytes: 0 }
  let go: () => void = () => {}
  const rig = serverRig(pieces(() => new Promise(resolve => (go = resolve)), seen))
  const client = rig.client()
  client.send(post(30) + 'x'.repeat(10))
  for (let bytes = 10; bytes < 30; bytes += 10) {
    await until(() => seen.bytes === bytes, 'a piece')
    rig.clock.advance(3_600_000)
    go()
    await settle()
    // Two seconds of waiting each: within the grace.
    rig.clock.advance(2000)
    client.send('x'.repeat(10))
  }
  await until(() => seen.bytes === 30, 'the last piece')
  go()
  expect(await client.answer()).toMatchObject({ status: 200, body: '30 bytes' })
})

test('an upload that drips is cut, and its reader does not take it for whole', async () => {
  const seen = { bytes: 0 }
  const rig = serverRig(pieces(() => Promise.resolve(), seen))
  const client = rig.client()
  client.send(post(10_000_000) + 'x'.repeat(1200))
  await until(() => seen.bytes === 1200, 'the first bytes')
  expect(await drip(rig, client, { bytes: 'xx', everyMs: 2000, forMs: 60_000 })).toBe(12_000)
  await expectRefused(rig, client, tooSlow)
  const { bytes } = seen
  client.send('x'.repeat(100))
  await settle()
  expect(seen.bytes).toBe(bytes)
})

test('the credit of one request is none of the next', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(100_000) + 'x'.repeat(50_000))
  await until(() => rig.requests.length === 1, 'the request')
  await settle()
  client.send('x'.repeat(50_000))
  await client.answer()
  client.send(post(100))
  await until(() => rig.requests.length === 2, 'the second request')
  rig.clock.advance(5200)
  expect((await client.answers(2))[1]).toMatchObject({ status: 408, body: tooSlow })
})

test('a request behind an answer that its client does not take waits; the time of its body counts from its start', () => {
  return inTurn(async line => {
    line.socket.room = 0
    line.receive(`${post(0)}${post(100)}`)
    await line.rest()
    line.receive('x')
    line.clock.advance(30_000)
    await line.rest()
    expect([line.requests.length, line.socket.gone]).toEqual([1, 'no'])
    line.socket.room = Infinity
    line.connection.flush()
    await line.rest()
    expect(line.requests.length).toBe(2)
    line.clock.advance(4900)
    await line.rest()
    expect(line.socket.sent).not.toContain('408')
    line.clock.advance(200)
    await line.rest()
    expect(line.socket.sent).toContain('200 OK')
    expect(line.socket.sent).toContain('408 Request Timeout')
    expect(line.failures).toEqual([])
  })
})

test('wherever the bytes are cut, a fast body is a fast body', () => {
  return inTurn(async line => {
    const bytes = `${post(2000)}${'x'.repeat(2000)}`
    for (const byte of bytes) {
      line.receive(byte)
      line.clock.advance(4)
    }
    await line.rest()
    expect(line.socket.sent).toEndWith('2000 bytes')
  })
})

async function inTurn(work: (line: FakeConnection) => Promise<void>): Promise<void> {
  const line = new FakeConnection(whole)
  await work(line)
  line.connection.lost()
}

test('however fast a body is, it has five minutes in all; what the gateway itself takes does not count', async () => {
  const rig = serverRig(whole)
  const client = rig.client()
  client.send(post(100_000_000))
  await until(() => rig.requests.length === 1, 'the request')
  const pace = { bytes: 'x'.repeat(40_000), everyMs: 10_000, forMs: 400_000 }
  expect(await drip(rig, client, pace)).toBeWithin(300_000, 310_001)
  await expectRefused(
    rig,
    client,
    'body-timeout: the body did not end within 300 s; send less at once, or over a faster line',
  )
})

test('a reader that takes its time costs the client nothing of the five minutes', async () => {
  const seen = { bytes: 0 }
  let work: () => void = () => {}
  const rig = serverRig(pieces(() => new Promise(resolve => (work = resolve)), seen))
  const client = rig.client()
  client.send(post(200_000))
  await until(() => rig.requests.length === 1, 'the request')
  for (let round = 1; round <= 10; round++) {
    client.send('x'.repeat(20_000))
    await until(() => seen.bytes === round * 20_000, 'the piece')
    rig.clock.advance(60_000)
    work()
    await settle()
    rig.clock.advance(1000)
  }
  expect(await client.answer()).toMatchObject({ status: 200, body: '200000 bytes' })
})
