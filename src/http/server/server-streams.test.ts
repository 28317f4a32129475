import { afterEach, expect, test } from 'bun:test'
import type { AnswerSink } from '../../core/answer.ts'
import {
  closeRigs,
  FakeConnection,
  HandStream,
  readAnswers,
  serverRig,
  settle,
  text,
} from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const get = (target: string, version = '1.1'): string => `GET ${target} HTTP/${version}\r\nhost: x\r\n\r\n`

/** A client that has asked for a stream, and the stream's sink. */
async function asked(
  version = '1.1',
): Promise<{ rig: ServerRig; client: RawClient; stream: HandStream; sink: AnswerSink }> {
  const stream = new HandStream()
  const rig = serverRig(request =>
    request.headers.target === '/s' ? { status: 200, headers: {}, body: stream } : text('after'),
  )
  const client = rig.client()
  client.send(get('/s', version))
  await until(() => stream.sink !== undefined, 'the sink')
  return { rig, client, stream, sink: stream.sink! }
}

test('pieces reach the client when they are written, empty ones never', async () => {
  const { client, sink } = await asked()
  await until(() => client.heard.endsWith('\r\n\r\n'), 'the head before any piece')
  for (const piece of ['one', '', new Uint8Array(0), Buffer.from('t\u00fbo'), '\u2603']) {
    const before = client.bytes
    sink.write(piece)
    if (piece.length > 0) await until(() => client.bytes > before, 'the piece')
  }
  await settle()
  expect(client.heard.split('\r\n\r\n')[1]).toBe('3\r\none\r\n4\r\nt\xc3\xbbo\r\n3\r\n\xe2\x98\x83\r\n')
  sink.end()
  expect(Buffer.from((await client.answer()).body, 'latin1').toString()).toBe('onet\u00fbo\u2603')
  client.send(get('/next'))
  expect((await client.answers(2))[1]!.body).toBe('after')
})

test('an ended stream is over: nothing that comes later gets into the next answer', async () => {
  for (const version of ['1.1', '1.0']) {
    const { client, sink, stream } = await asked(version)
    sink.write('all')
    sink.end()
    sink.end()
    sink.write('late')
    sink.abort()
    expect((await client.answer()).body).toBe('all')
    if (version === '1.0') continue
    client.send(get('/next'))
    expect((await client.answers(2)).map(answer => answer.body)).toEqual(['all', 'after'])
    sink.write('much later')
    sink.end()
    await settle()
    expect(readAnswers(client.heard, false).rest).toBe('')
    expect(stream.cancels).toBe(0)
  }
})

test('an ended stream whose request has a rest of a body is over too', async () => {
  const line = new FakeConnection(() => {
    const stream = new HandStream()
    stream.onPipe = sink => {
      sink.end()
      sink.write('late')
      sink.end()
      sink.abort()
    }
    return { status: 200, headers: {}, body: stream }
  })
  line.receive('POST /s HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhe')
  await line.rest()
  line.receive(`llo${get('/s')}`)
  await line.rest()
  const { answers, rest } = readAnswers(line.socket.sent, false)
  expect(answers.map(answer => answer.body)).toEqual(['', ''])
  expect(rest).toBe('')
  line.connection.lost()
})

test('pieces of every size arrive as they are, between others', async () => {
  const { client, sink } = await asked()
  const sizes = [1, 10, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 100_000, 128 * 1024, 300_000, 5_000_000, 2]
  const expected: string[] = []
  for (const [i, size] of sizes.entries()) {
    const piece = String.fromCharCode(97 + i).repeat(size)
    expected.push(piece, piece)
    sink.write(piece)
    sink.write(Buffer.from(piece))
  }
  sink.end()
  expect((await client.answer()).body === expected.join('')).toBe(true)
})

test('thousands of small pieces in one tick are sent together, and the stream is resumed on drain', async () => {
  const { client, sink, stream } = await asked()
  let written = 0
  while (!sink.full) {
    sink.write(`piece ${written++} `)
    if (written > 100_000) throw new Error('it is never full')
  }
  expect(written).toBeGreaterThan(10_000)
  const before = stream.resumes
  await until(() => stream.resumes > before, 'room again')
  expect(String(sink.full)).toBe('false')
  sink.end()
  expect((await client.answer()).body).toBe(Array.from({ length: written }, (_, i) => `piece ${i} `).join(''))
})

test('a slow client slows the stream down, and gets all of it', async () => {
  const stream = new HandStream()
  const piece = Buffer.alloc(64 * 1024, 'y')
  let written = 0
  stream.onPipe = stream.onResume = () => {
    while (!stream.sink!.full && written < 20 * 1024 * 1024) {
      stream.sink!.write(piece)
      written += piece.length
    }
    if (written === 20 * 1024 * 1024) stream.sink!.end()
  }
  const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }))
  const client = rig.client()
  client.socket.pause()
  client.send(get('/s'))
  await until(() => written > 0, 'the beginning')
  await settle()
  const stuckAt = written
  expect(stuckAt).toBeLessThan(12e6)
  client.socket.resume()
  const { body } = await client.answer()
  expect(body.length).toBe(20 * 1024 * 1024)
})

test('an aborted stream looks cut: no last chunk, at once, also before the rest of the request body', async () => {
  for (const rest of ['', 'POST']) {
    const stream = new HandStream()
    const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }))
    const client = rig.client()
    client.send(rest === '' ? get('/s') : 'POST /s HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhello')
    await until(() => stream.sink !== undefined, 'the sink')
    stream.sink!.write('half')
    stream.sink!.abort()
    await until(() => client.ended || client.closed, 'the cut')
    expect(client.heard).toEndWith('4\r\nhalf\r\n')
    expect(stream.cancels).toBe(0)
    client.socket.end()
    await until(() => rig.server.connections === 0, 'the end')
  }
})

test('HTTP/1.0: a stream ends with the connection, and an aborted one with a reset', async () => {
  const whole = await asked('1.0')
  whole.sink.write('one ')
  whole.sink.write(Buffer.from('two'))
  whole.sink.end()
  expect(await whole.client.answer()).toMatchObject({ body: 'one two', headers: { connection: 'close' } })
  expect(whole.client.error).toBeUndefined()
  const cut = await asked('1.0')
  cut.sink.write('half')
  await until(() => cut.client.heard.endsWith('half'), 'the piece')
  cut.sink.abort()
  await until(() => cut.client.closed, 'the cut')
  expect(cut.client.error).toBe('ECONNRESET')
})

test('a pulled stream: its pieces, its pace, its failure', async () => {
  let pulled = 0
  let cancels = 0
  const rig = serverRig(({ headers: { target } }) => ({
    status: 200,
    headers: {},
    body: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          pulled++
          if (target === '/fails' && pulled > 2) throw new Error('the source broke')
          if (target === '/short' && pulled > 3) return controller.close()
          await Bun.sleep(0)
          controller.enqueue(
            pulled === 2 ? new Uint8Array(0) : Buffer.alloc(target === '/endless' ? 64 * 1024 : 10, 'p'),
          )
        },
        cancel: () => void cancels++,
      },
      { highWaterMark: 0 },
    ),
  }))
  const client = rig.client()
  client.send(get('/short'))
  expect((await client.answer()).body).toBe('p'.repeat(20))
  pulled = 0
  client.send(get('/fails'))
  await until(() => client.ended, 'the cut')
  expect(client.heard).toEndWith(`a\r\n${'p'.repeat(10)}\r\n`)
  pulled = 0
  const slow = rig.client()
  slow.socket.pause()
  slow.send(get('/endless'))
  await until(() => pulled > 5, 'pieces')
  let before = -1
  while (before !== pulled) {
    before = pulled
    await Bun.sleep(30)
  }
  expect(pulled * 64 * 1024).toBeLessThan(12e6)
  slow.socket.destroy()
  await until(() => cancels === 1, 'the cancellation')
})

test('a locked stream is an internal error, and cuts the connection', async () => {
  const stream = new ReadableStream<Uint8Array>()
  stream.getReader()
  const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }))
  const client = rig.client()
  client.send(get('/'))
  await until(() => client.closed, 'the cut')
  expect(rig.reports.length).toBe(1)
})

test('streams that fail in their own calls cut the connection, and others go on', async () => {
  for (const where of ['pipe', 'resume', 'cancel'] as const) {
    const stream = new HandStream()
    stream[where] = () => {
      throw new Error(where)
    }
    const rig = serverRig(request =>
      request.headers.target === '/s' ? { status: 200, headers: {}, body: stream } : text('good'),
    )
    const client = rig.client()
    client.send(get('/s'))
    if (where === 'cancel') {
      await until(() => stream.pipes === 1, 'the stream')
      client.socket.destroy()
    } else await until(() => client.closed, 'the cut')
    await until(() => rig.server.connections === 0, 'the end')
    expect(rig.reports.map(String)).toContain(`Error: ${where}`)
    const other = rig.client()
    other.send(get('/'))
    expect((await other.answer()).body).toBe('good')
  }
})

test('a hundred streams at once do not mix', async () => {
  const rig = serverRig(request => {
    const stream = new HandStream()
    stream.onPipe = async sink => {
      for (let i = 0; i < 20; i++) {
        sink.write(`${request.headers.target} ${i};`)
        await Bun.sleep(i % 3)
      }
      sink.end()
    }
    return { status: 200, headers: {}, body: stream }
  })
  const clients = Array.from({ length: 100 }, (_, i) => {
    const client = rig.client()
    client.send(get(`/${i}`))
    return client
  })
  for (const [i, client] of clients.entries())
    expect((await client.answer()).body).toBe(Array.from({ length: 20 }, (_, n) => `/${i} ${n};`).join(''))
})
