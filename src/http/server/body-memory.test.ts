/** The bodies of all requests share one amount of memory, of every path and at every speed. */
import { afterEach, expect, test } from 'bun:test'
import type { Answer } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import { closeRigs, serverRig, settle, text } from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import type { ServerRequest } from './server-request.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const bytesMax = 100_000
const busy = {
  status: 503,
  body: expect.stringContaining(`overloaded: the bodies of the requests under way take all of the ${bytesMax} bytes`),
}

const posted = (length: number): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`
const chunked = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
const chunk = (length: number): string => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`

async function answered(read: () => Promise<number>): Promise<Answer> {
  try {
    return text(`${await read()} bytes`)
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return text(`${thrown.kind}: ${thrown.message}`, thrown.status)
  }
}

const whole = (request: ServerRequest): Promise<Answer> =>
  answered(async () => (await readBody(request.body, 1e8)).length)

/** As forms are read, piece by piece. */
const piecewise = (request: ServerRequest): Promise<Answer> =>
  answered(async () => {
    let bytes = 0
    for (let piece = await request.body.next(); piece; piece = await request.body.next()) bytes += piece.length
    return bytes
  })

const memoryRig = (handle: (request: ServerRequest) => Promise<Answer>): ServerRig =>
  serverRig(handle, { bodyMemoryBytesMax: () => bytesMax })

/** A client that has sent `bytes`, and whose request is being handled. */
async function sent(rig: ServerRig, bytes: string): Promise<RawClient> {
  const { length } = rig.requests
  const client = rig.client()
  client.send(bytes)
  await until(() => rig.requests.length > length, 'the request')
  await settle()
  return client
}

/** Whether all of the memory is free. */
async function expectFree(rig: ServerRig): Promise<void> {
  const all = await sent(rig, posted(bytesMax) + 'x'.repeat(bytesMax))
  expect(await all.answer()).toMatchObject({ status: 200, body: `${bytesMax} bytes` })
}

test.each([
  ['whole', whole],
  ['piece by piece', piecewise],
])(
  'announced bodies read %s: one that does not fit is refused at its head, and fits once another has ended',
  async (_name, handle) => {
    const rig = memoryRig(handle)
    const first = await sent(rig, posted(60_000))
    const second = await sent(rig, posted(60_000))
    expect(await second.answer()).toMatchObject(busy)
    const third = await sent(rig, posted(40_000))
    first.send('x'.repeat(60_000))
    expect((await first.answer()).body).toBe('60000 bytes')
    const fourth = await sent(rig, posted(60_000) + 'x'.repeat(60_000))
    expect((await fourth.answer()).body).toBe('60000 bytes')
    third.send('x'.repeat(40_000))
    expect((await third.answer()).body).toBe('40000 bytes')
    await expectFree(rig)
  },
)

test.each([
  ['whole', whole],
  ['piece by piece', piecewise],
])(
  'bodies without a length read %s count as they arrive: the one that is too much is refused in its middle',
  async (_name, handle) => {
    const rig = memoryRig(handle)
    const first = await sent(rig, chunked + chunk(60_000))
    const second = await sent(rig, chunked + chunk(30_000))
    second.send(chunk(30_000))
    expect(await second.answer()).toMatchObject(busy)
    first.send(`${chunk(20_000)}0\r\n\r\n`)
    expect((await first.answer()).body).toBe('80000 bytes')
    second.send('0\r\n\r\n')
    await expectFree(rig)
  },
)

test('the buffer in which a body without a length is collected counts, not only what has come', async () => {
  const rig = serverRig(whole, { bodyMemoryBytesMax: () => 5_000_000 })
  const other = await sent(rig, posted(2_500_000))
  const growing = await sent(rig, chunked + chunk(1_000_000))
  // Beyond 1 MiB it is collected in a buffer of twice its size.
  growing.send(chunk(500_000))
  expect((await growing.answer()).status).toBe(503)
  other.send('x'.repeat(2_500_000))
  expect((await other.answer()).status).toBe(200)
})

test('what a client holds is free when it leaves, is too slow, or is refused for its framing', async () => {
  const rig = memoryRig(whole)
  const leaver = await sent(rig, posted(90_000))
  leaver.socket.destroy()
  await until(() => rig.server.connections === 0, 'the end')
  await expectFree(rig)
  const slow = await sent(rig, posted(90_000))
  rig.clock.advance(6000)
  expect((await slow.answer()).status).toBe(408)
  await expectFree(rig)
  const broken = await sent(rig, chunked + chunk(90_000))
  broken.send('nonsense\r\n')
  expect((await broken.answer()).status).toBe(400)
  await expectFree(rig)
  expect(rig.reports).toEqual([])
})

test('a body that is kept beyond its request counts until it is let go, once', async () => {
  const kept: (() => void)[] = []
  const rig = memoryRig(request => {
    kept.push(request.body.keep())
    return whole(request)
  })
  const first = await sent(rig, posted(60_000) + 'x'.repeat(60_000))
  expect((await first.answer()).status).toBe(200)
  expect(await (await sent(rig, posted(60_000))).answer()).toMatchObject(busy)
  kept[0]!()
  kept[0]!()
  const third = await sent(rig, posted(60_000))
  expect(await (await sent(rig, posted(60_000))).answer()).toMatchObject(busy)
  third.send('x'.repeat(60_000))
  expect((await third.answer()).status).toBe(200)
})

test('a body larger than all of the memory passes alone, and a body that is not read takes nothing', async () => {
  const rig = memoryRig(request => (request.path === '/unread' ? new Promise(() => {}) : whole(request)))
  await sent(rig, posted(bytesMax).replace('/', '/unread'))
  const large = await sent(rig, posted(300_000) + 'x'.repeat(200_000))
  expect(await (await sent(rig, posted(1) + 'x')).answer()).toMatchObject(busy)
  large.send('x'.repeat(100_000))
  expect((await large.answer()).body).toBe('300000 bytes')
})

test('the bodies of one key leave room for those of others, however slowly they come', async () => {
  const rig = memoryRig(request => {
    request.owner = request.path
    return whole(request)
  })
  const of = (key: string, length: number): string => posted(length).replace('/', `/${key}`)
  const held: RawClient[] = []
  for (let at = 0; at < 5; at++) held.push(await sent(rig, of('greedy', 10_000)))
  const refused = { status: 503, body: expect.stringContaining('of this key take its share') }
  expect(await (await sent(rig, of('greedy', 10_000))).answer()).toMatchObject(refused)
  const other = await sent(rig, of('other', 40_000))
  // What is left is for the first body of any further key.
  expect(await (await sent(rig, of('other', 5_000))).answer()).toMatchObject(refused)
  const third = await sent(rig, of('third', 10_000) + 'x'.repeat(10_000))
  expect((await third.answer()).body).toBe('10000 bytes')
  for (const client of held) client.send('x'.repeat(10_000))
  for (const client of held) expect((await client.answer()).status).toBe(200)
  other.send('x'.repeat(40_000))
  expect((await other.answer()).status).toBe(200)
  await expectFree(rig)
})

test('what a request reads from the store counts as its body does, until the request is over', async () => {
  const answers: (() => void)[] = []
  const rig = memoryRig(request =>
    answered(async () => {
      request.body.hold(60_000)
      await new Promise<void>(resolve => answers.push(resolve))
      // The body that comes counts beside it.
      return (await readBody(request.body, 1e8)).length
    }),
  )
  const first = await sent(rig, posted(50_000) + 'x'.repeat(50_000))
  expect(await (await sent(rig, posted(0))).answer()).toMatchObject(busy)
  answers[0]!()
  expect((await first.answer()).status).toBe(200)
  const leaver = await sent(rig, posted(10))
  leaver.socket.destroy()
  await until(() => rig.server.connections === 2, 'the end')
  // Too late: the memory of a request that is over would never be given back.
  rig.requests.at(-1)!.body.hold(60_000)
  const last = await sent(rig, posted(0))
  answers.at(-1)!()
  expect((await last.answer()).status).toBe(200)
})
