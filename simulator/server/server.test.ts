import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { postJson, bodyOf, chat, eventsOf, post, rawExchange, keptOpenMs } from '../testing/client.ts'
import { until } from '../../tests/support/until.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 3 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const question = (said: string, more: object = {}) => ({
  model: 'sim',
  messages: [{ role: 'user', content: said }],
  ...more,
})
const say = async (said: string, more: object = {}, on = simulator) =>
  (await postJson(on, '/v1/chat/completions', question(said, more))).text

describe('determinism', () => {
  test('only seed, model and conversation determine the bytes', async () => {
    const [same, other] = await Promise.all([startSimulator({ seed: 3 }), startSimulator({ seed: 4 })])
    const shapes = [{}, { stream: true }, { n: 2 }, { reasoning_effort: 'low' }]
    for (const shape of shapes) {
      const first = await say('hello', shape)
      await say('something between')
      expect(await say('hello', shape)).toBe(first)
      expect(await say('hello', shape, same)).toBe(first)
      expect(await say('hello', shape, other)).not.toBe(first)
      expect(await say('hello', { ...shape, model: 'sim2' })).not.toBe(first)
      expect(await say('hello!', shape)).not.toBe(first)
      expect(await say('hello', { ...shape, seed: 5 })).not.toBe(first)
    }
    await same.stop()
    await other.stop()
  })

  test('a fault does not change the text', async () => {
    const content = async (model: string) => JSON.parse(await say('hello', { model })).choices[0].message.content
    expect(await content('sim#no-usage')).toBe(await content('sim'))
  })
})

describe('paths', () => {
  test('any prefix leads to the same answer', async () => {
    const body = question('say: hi')
    for (const path of [
      '/chat/completions',
      '/v1/chat/completions',
      '/openai/v1/chat/completions/',
      '/a/b/chat/completions?api-version=1',
    ])
      expect((await postJson(simulator, path, body)).text).toContain('"content":"hi"')
    const { model: _, ...unnamed } = body
    const azure = await postJson(
      simulator,
      '/openai/deployments/my%2Fmodel/chat/completions?api-version=2024-10-21',
      unnamed,
    )
    expect(JSON.parse(azure.text).model).toBe('my/model')
  })

  test('HEAD has no body, and chunked requests are read', async () => {
    const head = await rawExchange(simulator, 'HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    expect(head.text).toEndWith('\r\n\r\n')
    const text = JSON.stringify(question('say: hi'))
    const chunked = await rawExchange(simulator, [
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n',
      ...[...text].map(letter => `1\r\n${letter}\r\n`),
      '0\r\n\r\n',
    ])
    expect(chunked.text).toContain('"content":"hi"')
  })

  test('malformed HTTP is refused and counted', async () => {
    const { text, end } = await rawExchange(simulator, 'hello\r\n\r\n')
    expect([text.slice(0, 12), end]).toEqual(['HTTP/1.1 400', 'fin'])
    expect([simulator.truth.malformed, simulator.truth.entries.length]).toEqual([1, 0])
  })
})

describe('scripts', () => {
  test('the script added last answers, up to `times`', async () => {
    simulator.script({}, { text: 'general' })
    simulator.script({ model: 'sim', text: /two|three/ }, { text: 'special', times: 1 })
    simulator.script(request => request.headers.get('x-special') === 'yes', { text: 'by function' })
    expect(await say('one')).toContain('"general"')
    expect(await say('two')).toContain('"special"')
    expect(await say('three')).toContain('"general"')
    expect(
      (await postJson(simulator, { path: '/v1/chat/completions', headers: { 'x-special': 'yes' } }, question('x')))
        .text,
    ).toContain('by function')
    simulator.reset()
    expect(await say('one')).not.toContain('"general"')
  })

  test('set tool calls, reasoning, finish reasons, faults and raw bodies, in both dialects', async () => {
    simulator.script(
      { text: 'call' },
      { text: 'hm', reasoning: 'so', toolCalls: [{ name: 'f', arguments: { a: 1 }, id: 'X' }] },
    )
    const { message, finish_reason } = JSON.parse(await say('call')).choices[0]
    expect([message.content, message.reasoning_content, finish_reason]).toEqual(['hm', 'so', 'tool_calls'])
    expect(message.tool_calls).toEqual([
      { id: 'call_X', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    ])
    const anthropic = JSON.parse((await postJson(simulator, '/v1/messages', question('call', { max_tokens: 50 }))).text)
    expect(anthropic.content.map((block: any) => block.type)).toEqual(['thinking', 'text', 'tool_use'])
    simulator.script({ text: 'odd' }, { toolCalls: [{ name: 'f', arguments: '{not json' }], finish: 'content-filter' })
    expect(await say('odd')).toContain('"arguments":"{not json"')
    expect(await say('odd')).toContain('"finish_reason":"content_filter"')
    simulator.script({ text: 'broken' }, { fault: 'status;code=418' })
    expect((await postJson(simulator, '/v1/chat/completions', question('broken'))).status).toBe(418)
    simulator.script({ text: 'raw' }, { raw: { status: 207, headers: { 'X-A': 'b' }, body: Uint8Array.of(0xff, 0) } })
    const raw = await rawExchange(simulator, chat('', {}, 'raw'), keptOpenMs)
    expect(raw.text).toStartWith('HTTP/1.1 207 ')
    expect(raw.text).toContain('x-a: b\r\n')
    expect(bodyOf(raw).body).toEqual(Buffer.of(0xff, 0))
  })

  test('the error of a matcher that throws is the response', async () => {
    simulator.script(() => {
      throw new Error('my mistake')
    }, {})
    const { status, text } = await postJson(simulator, '/v1/chat/completions', question('x'))
    expect([status, text.includes('my mistake')]).toEqual([500, true])
  })
})

describe('the truth log', () => {
  test('has one complete entry for each request, without credentials', async () => {
    const headers = { authorization: 'Bearer secret-1', 'x-api-key': 'secret-2', 'x-request-id': 'r-9' }
    await postJson(
      simulator,
      { path: '/v1/chat/completions?a=1', headers },
      question('tokens: 12', { stream: true, model: 'sim#token-ms=1' }),
    )
    const entry = simulator.truth.last()!
    expect(entry).toMatchObject({
      n: 1,
      method: 'POST',
      path: '/v1/chat/completions?a=1',
      model: 'sim#token-ms=1',
      fault: 'token-ms=1',
      stream: true,
      status: 200,
      finished: 'complete',
      eventsSent: 12 + 3,
      tokensSent: 12,
      billable: { inputTokens: 3, outputTokens: 12 },
      headers: { authorization: 'present', 'x-api-key': 'present', 'x-request-id': 'r-9' },
      body: { stream: true },
    })
    expect(entry.closedMs! - entry.startedMs).toBeGreaterThan(13)
    expect(Math.abs(entry.startedMs - (performance.timeOrigin + performance.now()))).toBeLessThan(60_000)
    expect(JSON.stringify(simulator.truth)).not.toContain('secret')
  })

  test('counts non-streamed answers, errors and embeddings as a vendor bills them', async () => {
    await say('tokens: 12')
    await postJson(simulator, '/v1/embeddings', { model: 'e', input: 'abcdefgh' })
    await postJson(simulator, '/v1/chat/completions', question('x', { model: 'sim#status=500' }))
    await postJson(simulator, '/v1/messages', question('tokens: 5', { max_tokens: 50, stream: true }))
    expect(simulator.truth.entries.map(entry => entry.billable)).toEqual([
      { inputTokens: 3, outputTokens: 12 },
      { inputTokens: 2, outputTokens: 0 },
      { inputTokens: 0, outputTokens: 0 },
      { inputTokens: 3, outputTokens: 5 },
    ])
    expect(simulator.truth.totals()).toMatchObject({
      requests: 4,
      complete: 4,
      billableInputTokens: 8,
      billableOutputTokens: 17,
    })
  })

  for (const how of ['destroy', 'end', 'resetAndDestroy'] as const)
    test(`records that a client left by ${how}`, async () => {
      const socket = connect({ port: simulator.port, host: '127.0.0.1' })
      let received = ''
      socket.on('data', bytes => (received += bytes))
      socket.write(chat('token-ms=5', { stream: true }, 'tokens: 1000'))
      await until(() => eventsOf(received).length > 5)
      socket[how]()
      await until(() => simulator.truth.last()!.finished !== undefined)
      const entry = simulator.truth.last()!
      expect(entry.finished).toBe('client-closed')
      expect(entry.tokensSent).toBeLessThan(100)
      const seen = eventsOf(received.slice(received.indexOf('data: ')).replaceAll(/\r\n[0-9a-f]+\r\n/g, '')).length
      expect(entry.eventsSent).toBeGreaterThanOrEqual(seen)
      socket.destroy()
    })

  test('backpressure: a client that does not read pauses the stream', async () => {
    const socket = connect({ port: simulator.port, host: '127.0.0.1' })
    socket.pause()
    socket.write(chat('', { stream: true }, 'tokens: 200000'))
    await until(() => (simulator.truth.last()?.eventsSent ?? 0) > 0)
    let before = -1
    while (before !== simulator.truth.last()!.eventsSent) {
      before = simulator.truth.last()!.eventsSent
      await Bun.sleep(60)
    }
    expect(before).toBeLessThan(100_000)
    expect(simulator.truth.last()!.finished).toBeUndefined()
    expect(await say('say: others go on')).toContain('others go on')
    socket.destroy()
    await until(() => simulator.truth.entries[0]!.finished === 'client-closed')
  })
})

describe('many at once', () => {
  test('500 paced streams are whole, and none is faster than its pace', async () => {
    const sent = chat('token-ms=20', { stream: true }, 'tokens: 20').replace('host: x', 'host: x\r\nconnection: close')
    const results = await Promise.all(Array.from({ length: 500 }, () => rawExchange(simulator, sent)))
    for (const result of results) expect(eventsOf(bodyOf(result).body.toString()).at(-1)).toBe('[DONE]')
    const took = simulator.truth.entries.map(entry => entry.closedMs! - entry.startedMs).sort((a, b) => a - b)
    expect(took[0]).toBeGreaterThan(430)
    expect(simulator.truth.totals()).toMatchObject({ complete: 500, tokensSent: 10_000 })
  })

  test('open sockets are counted, and all are closed', async () => {
    await until(() => simulator.openSockets() === 0 || true)
    const before = simulator.openSockets()
    const sockets = Array.from({ length: 20 }, () => connect({ port: simulator.port, host: '127.0.0.1' }))
    await until(() => simulator.openSockets() === before + 20)
    for (const socket of sockets) socket.destroy()
    await until(() => simulator.openSockets() === before)
  })
})

describe('from another process', () => {
  test('truth, sockets, scripts and reset are available by HTTP, and not in the log', async () => {
    const own = await startSimulator()
    const get = async (path: string) =>
      JSON.parse(
        (await rawExchange(own, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).text.split(
          '\r\n\r\n',
        )[1]!,
      )
    const put = (path: string, body: unknown) => rawExchange(own, post(path, body, 'connection: close\r\n'))
    await put('/__script', { match: { text: 'ping' }, reply: { text: 'pong' } })
    expect((await rawExchange(own, chat('', {}, 'ping'), keptOpenMs)).text).toContain('"pong"')
    expect(await get('/__truth')).toMatchObject({
      entries: [{ n: 1, finished: 'complete' }],
      totals: { requests: 1 },
      dropped: 0,
    })
    expect(await get('/__sockets')).toEqual({ open: 0 })
    await put('/__reset', {})
    expect((await get('/__truth')).entries).toEqual([])
    expect((await put('/__nope', {})).text).toStartWith('HTTP/1.1 404')
    await own.stop()
  })

  test('stop cuts responses in progress, frees the port, and is logged', async () => {
    const own = await startSimulator()
    const hung = rawExchange(own, chat('hang-mid', { stream: true }))
    await until(() => own.truth.last()?.eventsSent === 3)
    await own.stop()
    expect((await hung).end).toBe('rst')
    expect(own.truth.last()!.finished).toBe('cut')
    const again = await startSimulator({ port: own.port })
    await again.stop()
  })

  test('the command prints its address, serves, and ends with status 0 on SIGTERM', async () => {
    const code =
      `import { runSimulator } from '${import.meta.dir}/../index.ts'; await runSimulator({ port: 0, seed: ` +
      '3 ' +
      '})'
    const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe' })
    const reader = child.stdout.getReader()
    const line = new TextDecoder().decode((await reader.read()).value)
    const url = /http:\/\/\S+/.exec(line)![0]
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(question('hello')),
    })
    expect(await response.text()).toBe(await say('hello'))
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })
})
