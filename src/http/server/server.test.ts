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
import type { ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import type { ServerRequest } from './server-request.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const get = (target: string, ...lines: string[]): string =>
  ['GET ' + target + ' HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n')
const post = (target: string, body: string, ...lines: string[]): string =>
  ['POST ' + target + ' HTTP/1.1', 'Host: x', `Content-Length: ${body.length}`, ...lines, '', ''].join('\r\n') + body

// ---- one request after another

test('a request and its answer, byte for byte', async () => {
  const rig = serverRig()
  const client = rig.client()
  client.send(post('/a?b', 'hello'))
  await client.answer()
  expect(client.heard).toBe(
    'HTTP/1.1 200 OK\r\ndate: Sat, 21 Nov 2026 00:00:00 GMT\r\ncontent-type: text/plain\r\ncontent-length: 17\r\n\r\nPOST /a?b [hello]',
  )
  expect(rig.requests[0]!.clientAddress).toBe('127.0.0.1')
  expect(rig.server.connections).toBe(1)
})

test('a request that comes in 30 packets is handled once', async () => {
  const rig = serverRig()
  const client = rig.client()
  const bytes = post('/a', 'x'.repeat(200))
  for (let at = 0; at < bytes.length; at += 10) {
    client.send(bytes.slice(at, at + 10))
    await Bun.sleep(1)
  }
  expect((await client.answer()).body).toBe(`POST /a [${'x'.repeat(200)}]`)
  expect(rig.requests.length).toBe(1)
})

test('many requests on one connection, one by one and all at once, in their order, however long each takes', async () => {
  const delays = [20, 0, 5, 0, 10, 0]
  const rig = serverRig(async request => {
    const index = Number(request.headers.target.slice(1))
    if (index % 2 === 0) await Bun.sleep(delays[index % 6]!)
    return text(`answer ${index}`)
  })
  const client = rig.client()
  for (let i = 0; i < 10; i++) {
    client.send(get(`/${i}`))
    await client.answers(i + 1)
  }
  client.send(Array.from({ length: 50 }, (_, i) => get(`/${i + 10}`)).join(''))
  const answers = await client.answers(60)
  expect(answers.map(answer => answer.body)).toEqual(Array.from({ length: 60 }, (_, i) => `answer ${i}`))
  expect(rig.requests.length).toBe(60)
})

test('the connection: HTTP/1.1 keeps it unless told, HTTP/1.0 closes it unless told', async () => {
  const cases: [string, string | undefined, boolean][] = [
    [get('/'), undefined, false],
    [get('/', 'connection: close'), 'close', true],
    ['GET / HTTP/1.0\r\n\r\n', 'close', true],
    ['GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n', 'keep-alive', false],
  ]
  const rig = serverRig(() => text('ok'))
  for (const [bytes, said, closes] of cases) {
    const client = rig.client()
    client.send(bytes)
    const answer = await client.answer()
    expect(answer.headers.connection).toBe(said)
    if (closes) await until(() => client.ended, 'the end')
    else {
      client.send(get('/again', 'connection: close'))
      await client.answers(2)
      await until(() => client.ended, 'the end')
    }
  }
  await until(() => rig.server.connections === cases.length, 'open ones')
})

test('after `connection: close` nothing is handled', async () => {
  const rig = serverRig()
  const client = rig.client()
  client.send(get('/one', 'connection: close') + get('/two'))
  await client.answer()
  client.send(get('/three'))
  await settle()
  expect(rig.requests.length).toBe(1)
  expect(client.ended).toBe(true)
})

test('HEAD, 204 and 304 have no body, also when the handler gives one, and the connection goes on', async () => {
  const streams: HandStream[] = []
  const rig = serverRig(request => {
    const { target } = request.headers
    if (target === '/stream') {
      streams.push(new HandStream())
      return { status: 200, headers: {}, body: streams.at(-1)! }
    }
    if (target === '/pulled')
      return {
        status: 204,
        headers: {},
        body: new ReadableStream({ cancel: () => void streams.push(new HandStream()) }),
      }
    if (target === '/nothing') return { status: 200, headers: {}, body: null }
    return text('body', Number(target.slice(1)))
  })
  const client = rig.client()
  const methods = ['HEAD', 'HEAD', 'GET', 'GET', 'HEAD', 'GET', 'GET', 'GET']
  const targets = ['/200', '/stream', '/204', '/304', '/nothing', '/pulled', '/nothing', '/200']
  client.send(targets.map((target, i) => get(target).replace('GET', methods[i]!)).join(''))
  const answers = await client.answers(8, methods)
  expect(answers.map(answer => answer.status)).toEqual([200, 200, 204, 304, 200, 204, 200, 200])
  expect(answers.map(answer => answer.headers['content-length'])).toEqual([
    '4',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    '0',
    '4',
  ])
  expect(answers[1]!.headers['transfer-encoding']).toBe('chunked')
  expect(answers[7]!.body).toBe('body')
  expect(streams[0]).toMatchObject({ cancels: 1, pipes: 0 })
  await until(() => streams.length === 2, 'the pulled stream is cancelled')
})

test('text that is not ASCII: the length counts bytes, in whole answers and in chunks', async () => {
  const body = 'gr\u00fc\u00df \u2603 \u{1f600}'
  const rig = serverRig(request => {
    if (request.headers.target === '/whole') return text(body)
    const stream = new HandStream()
    stream.onPipe = sink => {
      sink.write(body)
      sink.end()
    }
    return { status: 200, headers: {}, body: stream }
  })
  const client = rig.client()
  client.send(get('/whole') + get('/stream'))
  for (const answer of await client.answers(2)) expect(Buffer.from(answer.body, 'latin1').toString()).toBe(body)
})

test('large answers arrive whole: text and bytes, larger than every buffer', async () => {
  const large = '\u00e9'.repeat(3_000_000)
  const rig = serverRig(request => ({
    status: 200,
    headers: {},
    body: request.headers.target === '/text' ? large : Buffer.from(large),
  }))
  const client = rig.client()
  client.send(get('/text') + get('/bytes') + get('/text'))
  await until(() => client.bytes > 18_000_000, 'three answers of 6 MB')
  const whole = Buffer.from(large).toString('latin1')
  for (const answer of await client.answers(3)) expect(answer.body === whole).toBe(true)
})

// ---- what is refused

const plain = 'POST /x HTTP/1.1\r\nhost: x\r\n'
const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'

test('what could smuggle a request is refused, and nothing after it is looked at', async () => {
  const rig = serverRig()
  const bad: [string, number][] = [
    [`${plain}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    [`${plain}content-length: 5\r\ncontent-length: 0\r\n\r\nhello`, 400],
    [`${plain}content-length: +5\r\n\r\nhello`, 400],
    [`${plain}content-length: 5 5\r\n\r\nhello`, 400],
    [`${plain}content-length: 5, 5\r\n\r\nhello`, 400],
    [`${plain}content-length: 0x5\r\n\r\nhello`, 400],
    [`${plain}content-length : 5\r\n\r\nhello`, 400],
    [`${plain}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`, 501],
    [`${plain}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 501],
    [`${plain}transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n`, 400],
    [`${plain}transfer-encoding: chunked\r\n folded\r\n\r\n0\r\n\r\n`, 400],
    ['POST /x HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    [`${plain}x: a\nb: c\r\n\r\n`, 400],
    [`${plain}x: a\rb\r\n\r\n`, 400],
    [`${plain}x: a\0b\r\n\r\n`, 400],
    ['GET /x HTTP/1.1\nhost: x\n\n', 400],
    ['GET /x HTTP/1.1\r\n\r\n', 400],
    ['GET /x HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n', 400],
    ['GET x HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['GET /\xe9 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    [`${plain}expect: something\r\n\r\n`, 417],
    [`GET /x HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(66_000)}`, 431],
    [`GET /x HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(200)}\r\n`, 431],
  ]
  for (const [bytes, status] of bad) {
    const client = rig.client()
    client.send(bytes + smuggled)
    const answer = await client
      .answer()
      .catch((thrown: unknown) => ({ status: String(thrown), headers: { connection: '' } }))
    expect([bytes.slice(0, 100), answer.status, answer.headers.connection]).toEqual([
      bytes.slice(0, 100),
      status,
      'close',
    ])
    await until(() => client.ended, 'the end')
    client.send(smuggled)
  }
  await settle()
  expect(rig.requests).toEqual([])
})

test('broken chunks: the handler hears of it and answers, and nothing after them is looked at', async () => {
  const rig = serverRig()
  const chunked = `${plain}transfer-encoding: chunked\r\n\r\n`
  for (const body of [
    'x\r\n',
    '\r\n',
    '-1\r\na',
    '+1\r\na\r\n',
    ' 1\r\na\r\n',
    '1 \r\na\r\n',
    '0x1\r\na\r\n',
    '1\na\r\n',
    '1\r\nab\r\n',
    '1\r\na\n',
    '1\r\na\rb',
    'fffffffffffffffff\r\na',
    '10000000001\r\na',
    '1;a\nb\r\na\r\n',
    `1;${'x'.repeat(1100)}\r\na\r\n`,
    '0\r\n folded\r\n\r\n',
    `0\r\nx: ${'y'.repeat(17_000)}\r\n\r\n`,
    '0\r\na\n\r\n',
    '0\r\n\rx',
  ]) {
    const client = rig.client()
    client.send(chunked + body + smuggled)
    expect([body.slice(0, 50), (await client.answer()).body]).toEqual([
      body.slice(0, 50),
      'POST /x failed: invalid-request',
    ])
    await until(() => client.ended, 'the end')
  }
  // Broken only after the handler has asked.
  const late = rig.client()
  late.send(`${chunked}1\r\na\r\n`)
  await until(() => rig.requests.at(-1)!.incoming.awaited, 'the question')
  late.send(`zz${smuggled}`)
  expect(await late.answer()).toMatchObject({ status: 400, headers: { connection: 'close' } })
  expect(rig.requests.every(request => request.headers.target === '/x')).toBe(true)
})

test('a body that breaks after the answer takes nothing of the answer away', async () => {
  const line = new FakeConnection(() => text('answered', 413))
  line.receive(`${plain}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`)
  line.receive('broken\r\n')
  await line.rest()
  expect(readAnswers(line.socket.sent, false).answers).toMatchObject([{ status: 413, body: 'answered' }])
  expect(line.socket.gone).toBe('shutdown')
})

test('an answer with an injected header is not sent: the client is cut, its stream ended, the error reported', async () => {
  const stream = new HandStream()
  let left = 0
  for (const late of [false, true]) {
    const answer: Answer = { status: 200, headers: { 'x-a': 'b\r\nset-cookie: c' }, body: stream }
    const rig = serverRig(request => {
      request.onLeft(() => left++)
      return late ? Bun.sleep(1).then(() => answer) : answer
    })
    const client = rig.client()
    client.send(get('/'))
    await until(() => client.closed || client.ended, 'the cut')
    expect(client.heard).toBe('')
    expect(rig.reports.map(String)).toEqual(['Error: the header x-a cannot be sent as it is'])
    expect(rig.server.connections).toBe(0)
  }
  expect(stream).toMatchObject({ pipes: 0, cancels: 2 })
  expect(left).toBe(2)
})

test('a handler that fails all the same never leaves a client waiting, pipelined or not', async () => {
  for (const handle of [
    () => {
      throw new Error('at once')
    },
    () => Promise.reject(new Error('later')),
  ] as (() => Promise<Answer>)[]) {
    const rig = serverRig(request =>
      request.headers.target === '/good' ? Bun.sleep(1).then(() => text('good')) : handle(),
    )
    const client = rig.client()
    client.send(get('/good') + get('/bad') + get('/good'))
    await until(() => client.closed, 'the cut')
    expect(rig.reports.length).toBe(1)
    expect(rig.requests.length).toBe(2)
    expect(rig.server.connections).toBe(0)
  }
})

// ---- expectations

const expecting = 'POST /e HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n'
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'

test('100 Continue is sent once, when the body is read, and the connection goes on', async () => {
  const rig = serverRig(async request => {
    const pieces: Uint8Array[] = []
    for (let piece = await request.body.next(); piece; piece = await request.body.next()) pieces.push(piece)
    return text(Buffer.concat(pieces).toString())
  })
  const client = rig.client()
  for (let i = 1; i <= 2; i++) {
    client.send(expecting)
    await until(() => client.heard.split(goOn).length === i + 1, 'the word')
    client.send('he')
    await settle()
    client.send('llo')
    await client.answers(i)
  }
  expect(client.heard.split(goOn).length).toBe(3)
  expect((await client.answers(2)).map(answer => answer.body)).toEqual(['hello', 'hello'])
})

test('the word comes also behind the answer of a pipelined request', async () => {
  const rig = serverRig(request => (request.method === 'GET' ? text('first') : echo(request)))
  const client = rig.client()
  client.send(get('/') + expecting)
  await until(() => client.heard.endsWith(goOn), 'the word')
  client.send('hello')
  expect((await client.answers(2))[1]!.body).toBe('POST /e [hello]')
})

test('a body that is not read: no 100 Continue, and the connection ends, whether the body comes or not', async () => {
  const rig = serverRig(() => text('no', 401))
  for (const body of ['', 'hello', smuggled]) {
    const client = rig.client()
    client.send(expecting + body)
    expect((await client.answer()).status).toBe(401)
    if (body.length < 5) {
      await until(() => client.ended, 'the end')
      client.send(smuggled)
      await settle()
    }
    expect(client.heard).not.toContain('100 Continue')
  }
  expect(rig.requests.map(request => request.headers.target)).toEqual(['/e', '/e', '/e'])
})

test('a body that is asked for only while the answer streams gets no word in the middle of it', async () => {
  const stream = new HandStream()
  const rig = serverRig(() => ({ status: 200, headers: {}, body: stream }))
  const client = rig.client()
  client.send(expecting)
  await until(() => stream.sink !== undefined, 'the stream')
  stream.sink!.write('one')
  const body = readBody(rig.requests[0]!.body, 100)
  stream.sink!.write('two')
  client.send('hello')
  expect(Buffer.from(await body).toString()).toBe('hello')
  stream.sink!.end()
  expect(await client.answer()).toMatchObject({ body: 'onetwo', headers: { connection: 'close' } })
})

// ---- answers before the body

test('an answer before the body: a small rest is read and the connection goes on', async () => {
  const rig = serverRig(request => text(`got ${request.headers.target}`))
  const client = rig.client()
  client.send('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nx')
  await client.answer()
  client.send('x'.repeat(998))
  await settle()
  client.send(`x${get('/b')}`)
  expect((await client.answers(2))[1]).toMatchObject({ body: 'got /b' })
  client.send('POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel')
  await client.answers(3)
  client.send(`lo\r\n0\r\n\r\n${get('/d')}`)
  expect((await client.answers(4))[3]).toMatchObject({ body: 'got /d' })
})

test('reading a body behind the answer fails instead of waiting for ever', async () => {
  const failures: string[] = []
  let body: ServerRequest['body'] | undefined
  const rig = serverRig(request => {
    body ??= request.body
    void request.body.next().catch((error: GatewayError) => failures.push(error.kind))
    return text('early')
  })
  const client = rig.client()
  client.send('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n')
  await client.answer()
  await until(() => failures.length === 1, 'the waiting one')
  await body!.next().catch((error: GatewayError) => failures.push(error.kind))
  client.send(`0123456789${get('/b')}`)
  await client.answers(2)
  await body!.next().catch((error: GatewayError) => failures.push(error.kind))
  expect(failures).toEqual(['client-closed', 'client-closed', 'client-closed'])
})

/** Large rests are read at a pace of the clock. */
const untilDiscarded = (rig: ServerRig, check: () => boolean) =>
  until(() => {
    rig.clock.advance(1)
    return check()
  }, 'the end of the rest')

test('a body that is too large by its chunks: the answer says so, and the rest is passed over', async () => {
  const rig = serverRig()
  const client = rig.client()
  client.send('POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  for (let i = 0; i < 40; i++) client.send(chunk)
  client.send(`0\r\n\r\n${get('/b')}`)
  await untilDiscarded(rig, () => client.heard.includes('/b'))
  expect((await client.answers(2)).map(answer => answer.body)).toEqual(['POST /a failed: too-large', 'GET /b []'])
})

test('a client that sends 5 MB behind a refused request reads the refusal before a reset', async () => {
  const rig = serverRig(() => text('not wanted', 401))
  const body = Buffer.alloc(5_000_000, 'x')
  const heads: [string, number][] = [
    [`${plain}content-length: +5000000\r\n\r\n`, 400],
    [`${plain}transfer-encoding: chunked\r\n\r\nbroken\r\n`, 401],
    [expecting.replace('5', '5000000'), 401],
    [`${plain}content-length: 5000000\r\nconnection: close\r\n\r\n`, 401],
  ]
  for (const [head, status] of heads) {
    const client = rig.client()
    client.socket.pause()
    client.send(head)
    for (let at = 0; at < body.length; at += 500_000) {
      client.send(body.subarray(at, at + 500_000))
      await Bun.sleep(2)
    }
    client.socket.resume()
    expect([head, (await client.answer()).status]).toEqual([head, status])
    await untilDiscarded(rig, () => client.ended)
    expect([head, client.error]).toEqual([head, undefined])
    client.socket.end()
    rig.clock.advance(2500)
    await until(() => rig.server.connections === 0, 'the end')
  }
})

test('a rest without end is not read for ever', async () => {
  const line = new FakeConnection(() => text('early'))
  line.receive('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999999\r\n\r\n')
  const piece = Buffer.alloc(1024 * 1024)
  let megabytes = 0
  while (line.socket.gone === 'no' && megabytes < 100) {
    line.receive(piece)
    megabytes++
  }
  expect(megabytes).toBeWithin(60, 70)
  expect(line.closes).toBe(1)
})
