import { afterEach, expect, test } from 'bun:test'
import { closeRigs, failure, piped, Recorder, rig, says, text } from '../../../tests/support/network/http-client-rig.ts'
import { answer } from '../../../tests/support/upstreams/raw-upstream.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

const ok = 'HTTP/1.1 200 OK\r\n'

test('no first byte, a stalled body and a call that lasts too long are upstream-timeout', async () => {
  const silent = await rig(() => {})
  const startMs = performance.now()
  expect((await failure(silent.send({ firstByteMs: 150 }).response)).kind).toBe('upstream-timeout')
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(149)
  await until(() => silent.upstream.peers[0]!.closedAtMs > 0, 'the upstream sees the end')
  const stalled = await rig(says(`${ok}content-length: 10\r\n\r\nhello`))
  const sink = await piped(stalled.send({ idleMs: 150 }))
  expect(sink.text).toBe('hello')
  expect(sink.error?.kind).toBe('upstream-timeout')
  const dripping = await rig(peer => {
    peer.socket.write(`${ok}\r\n`)
    const timer = setInterval(() => peer.socket.write('.'), 20)
    peer.socket.on('close', () => clearInterval(timer))
  })
  const drip = await piped(dripping.send({ idleMs: 800, totalMs: 1000 }))
  expect(drip.error?.message).toContain('did not finish within 1 s')
})

test('until the first byte of a body comes the limit of the first byte holds, also behind a head', async () => {
  const head = `${ok}transfer-encoding: chunked\r\n\r\n`
  const late = await rig(peer => {
    peer.socket.write(head)
    setTimeout(() => peer.socket.write('1\r\nx\r\n0\r\n\r\n'), 300)
  })
  expect((await piped(late.send({ idleMs: 100, firstByteMs: 5000 }))).text).toBe('x')
  const never = await rig(says(head))
  const sink = await piped(never.send({ idleMs: 5000, firstByteMs: 150 }))
  expect(sink.error?.message).toBe('the upstream did not answer within 0.15 s')
})

test('a drip that is slower than the whole but faster than the idle limit passes', async () => {
  const { send } = await rig(peer => {
    peer.socket.write(`${ok}content-length: 4\r\n\r\n`)
    let sent = 0
    const timer = setInterval(() => (++sent <= 4 ? peer.socket.write('.') : clearInterval(timer)), 300)
  })
  expect((await piped(send({ idleMs: 1000 }))).text).toBe('....')
})

test('an answer that arrives byte by byte is read like any other', async () => {
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\n\r\n`
  for (const said of [answer('hello'), chunked]) {
    const { send, transport } = await rig(async peer => {
      peer.socket.setNoDelay(true)
      for (const char of said) {
        peer.socket.write(char)
        await Bun.sleep(0)
      }
    })
    expect(await text(send())).toBe('hello')
    expect(transport.connections()).toEqual({ busy: 0, idle: 1 })
  }
})

test('bytes() refuses what is larger than asked, declared or not, and closes', async () => {
  const long = 'x'.repeat(50)
  const declared = `${ok}content-length: 99\r\n\r\n`
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n32\r\n${long}`
  for (const said of [answer(long), declared, chunked]) {
    const { send, upstream } = await rig(says(said))
    const error = await failure(text(send(), 20))
    expect(error.kind).toBe('upstream-broken')
    expect(error.message).toContain('larger than 20 bytes')
    if (!said.includes('length: 50')) await until(() => upstream.peers[0]!.closedAtMs > 0, 'closed')
  }
})

test('a body of many pieces is collected in order', async () => {
  const body = Array.from({ length: 200_000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join('')
  const { send } = await rig(says(answer(body)))
  expect(await text(send())).toBe(body)
})

test('cancel closes in every phase, calls nothing, and may be repeated', async () => {
  const phases: [string, string][] = [
    ['before the answer', ''],
    ['inside of the head', `${ok}content-`],
    ['inside of the body', `${ok}content-length: 10\r\n\r\nhello`],
  ]
  for (const [name, said] of phases) {
    const { send, upstream, transport } = await rig(says(said))
    const exchange = send()
    let settled = false
    exchange.response.then(
      () => (settled = true),
      () => (settled = true),
    )
    await until(() => upstream.requests() === 1, name)
    await Bun.sleep(10)
    const sink = new Recorder()
    if (settled) (await exchange.response).body.pipe(sink)
    const seen = sink.bytes
    settled = false
    exchange.cancel()
    exchange.cancel()
    await until(() => upstream.peers[0]!.closedAtMs > 0, `${name}: the upstream sees the end`)
    await Bun.sleep(20)
    const after = { settled, over: sink.over, more: sink.bytes - seen }
    expect(after).toEqual({ settled: false, over: false, more: 0 })
    expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
  }
})

test('cancel before the connection stands opens nothing that stays', async () => {
  const { send, upstream, transport } = await rig(says(answer('x')))
  const exchange = send()
  exchange.cancel()
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
  await Bun.sleep(30)
  await until(() => upstream.peers.every(peer => peer.closedAtMs > 0), 'the upstream sees the end')
  expect(upstream.requests()).toBe(0)
})

/** A chunk too large to be joined with others. */
const chunk = (letter: string): string => `c8\r\n${letter.repeat(200)}\r\n`

test('cancel from inside of data stops the rest of the same piece', async () => {
  const chunks = chunk('x').repeat(50)
  const { send, transport } = await rig(peer => {
    peer.socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`)
    setTimeout(() => peer.socket.write(`${chunks}0\r\n\r\n`), 10)
  })
  const exchange = send()
  const response = await exchange.response
  const sink = new Recorder()
  sink.onData = () => sink.bytes === 600 && exchange.cancel()
  response.body.pipe(sink)
  await until(() => sink.bytes >= 600, 'the piece')
  await Bun.sleep(30)
  expect(sink.text).toBe('x'.repeat(600))
  expect(sink.over).toBe(false)
  expect(transport.connections().busy).toBe(0)
})

test('while paused nothing is called and the idle timer rests; resume goes on with every byte', async () => {
  const { send } = await rig(peer => {
    peer.socket.write(`${ok}transfer-encoding: chunked\r\n\r\n${chunk('a')}${chunk('b')}`)
    setTimeout(() => peer.socket.write(`${chunk('c')}0\r\n\r\n`), 30)
  })
  const { body } = await send({ idleMs: 100 }).response
  const sink = new Recorder()
  sink.onData = () => sink.bytes === 200 && body.pause()
  body.pipe(sink)
  await until(() => sink.bytes > 0, 'the first piece')
  await Bun.sleep(250)
  expect(sink.text).toBe('a'.repeat(200))
  expect(sink.over).toBe(false)
  body.resume()
  await until(() => sink.over, 'the end')
  expect(sink).toMatchObject({
    text: ['a', 'b', 'c'].map(letter => letter.repeat(200)).join(''),
    ends: 1,
    error: undefined,
  })
})

test('the total limit holds while paused', async () => {
  const { send } = await rig(says(`${ok}content-length: 10\r\n\r\nhello`))
  const { body } = await send({ totalMs: 150 }).response
  const sink = new Recorder()
  body.pipe(sink)
  body.pause()
  await until(() => sink.over, 'the end')
  expect(sink.error?.kind).toBe('upstream-timeout')
})

test('the connection of a reader that paused over the end serves the next call', async () => {
  const { send, upstream } = await rig(says(answer('hello')))
  for (let i = 0; i < 3; i++) {
    const { body } = await send().response
    const sink = new Recorder()
    body.pause()
    body.pipe(sink)
    await Bun.sleep(5)
    expect(sink.over).toBe(false)
    body.resume()
    expect(sink).toMatchObject({ text: 'hello', ends: 1 })
  }
  expect(upstream.peers.length).toBe(1)
})

test('a body is given to one reader only', async () => {
  const { send } = await rig(says(answer('x')))
  const { body } = await send().response
  await body.bytes(10)
  expect(() => body.pipe(new Recorder())).toThrow('twice')
})

test('a sink that throws gets the error and loses its connection; the process lives', async () => {
  const { send, transport } = await rig(peer => {
    peer.socket.write(`${ok}content-length: 9\r\n\r\n`)
    setTimeout(() => peer.socket.write('hello'), 20)
  })
  const { body } = await send().response
  const sink = new Recorder()
  sink.onData = () => {
    throw new Error('a bug of the sink')
  }
  body.pipe(sink)
  await until(() => sink.over, 'the sink gets the error')
  expect(sink.error?.kind).toBe('internal')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('close drops free connections and refuses new calls; calls under way end well', async () => {
  const { send, upstream, transport } = await rig(peer => {
    setTimeout(() => peer.socket.write(answer('late')), 50)
  })
  await text(send())
  const under = [send(), send()]
  await until(() => upstream.requests() === 3, 'both are under way')
  transport.close()
  expect((await failure(send().response)).kind).toBe('upstream-unreachable')
  expect(await Promise.all(under.map(call => text(call)))).toEqual(['late', 'late'])
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('an exchange shows whether the upstream was given anything of its request', async () => {
  const left = await rig(() => {})
  const early = left.send()
  early.cancel()
  expect(early.sent).toBe(false)
  const late = left.send()
  await until(() => left.upstream.requests() > 0, 'the request')
  late.cancel()
  expect(late.sent).toBe(true)
  const cut = await rig(peer => peer.socket.resetAndDestroy())
  const reset = cut.send()
  await failure(reset.response)
  expect(reset.sent).toBe(true)
  cut.upstream.stop()
  const refused = cut.send()
  expect((await failure(refused.response)).kind).toBe('upstream-unreachable')
  expect(refused.sent).toBe(false)
})

test('a request that an idle connection lost was not sent, unless it is sent again', async () => {
  let answered = 0
  const { send, upstream } = await rig(peer => {
    if (answered++ === 0) peer.socket.write(answer('one'))
    else peer.socket.resetAndDestroy()
  })
  expect(await text(send())).toBe('one')
  const again = send()
  expect((await failure(again.response)).kind).toBe('upstream-closed')
  expect([again.sent, upstream.requests()]).toEqual([true, 3])
  const gone = await rig(peer => {
    if (peer.requests === 1) peer.socket.write(answer('one'))
    else gone.upstream.stop()
  })
  expect(await text(gone.send())).toBe('one')
  const lost = gone.send()
  expect((await failure(lost.response)).kind).toBe('upstream-unreachable')
  expect(lost.sent).toBe(false)
})
