import { expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiChatForward } from './forward.ts'
import { OpenaiRelay } from './relay.ts'

const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'up-2026', ...more })}\n\n`
const delta = (content: object, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: content, logprobs: null, finish_reason: finish }] })
const usageChunk = chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })
const done = 'data: [DONE]\n\n'
const whole =
  delta({ role: 'assistant', content: '' }) +
  delta({ content: 'Grüße ✓ "model":"x" 😀' }) +
  delta({ content: '\\"model\\":\\"up-2026\\"' }) +
  delta({}, 'stop') +
  usageChunk +
  done

const relayOf = (options: { publicModel?: string; showUsage?: boolean } = {}) =>
  new OpenaiRelay({
    publicModel: options.publicModel ?? 'up-2026',
    showUsage: options.showUsage ?? true,
    errorEvent: error => `data: {"error":"${error.kind}"}\n\n`,
  })

function run(relay: OpenaiRelay, pieces: Iterable<Uint8Array>): string {
  const out: Uint8Array[] = []
  for (const piece of pieces) out.push(relay.push(piece))
  out.push(relay.end())
  return Buffer.concat(out).toString('utf8')
}

function* cut(text: string, ...at: number[]): Iterable<Uint8Array> {
  const bytes = Buffer.from(text)
  let from = 0
  for (const to of [...at, bytes.length]) {
    yield bytes.subarray(from, to)
    from = to
  }
}

function* every(text: string, size: number): Iterable<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('an unchanged stream passes byte for byte, cut anywhere', () => {
  const length = Buffer.byteLength(whole)
  for (let at = 0; at <= length; at++) expect(run(relayOf(), cut(whole, at))).toBe(whole)
  expect(run(relayOf(), every(whole, 1))).toBe(whole)
})

test('the public model name is restored in every event and in no text, cut anywhere', () => {
  const expected = whole.replaceAll('"model":"up-2026"', '"model":"öffentlich/m"')
  expect(expected).toContain('\\\\\\"model\\\\\\":\\\\\\"up-2026')
  for (let size = 1; size < 200; size++)
    expect(run(relayOf({ publicModel: 'öffentlich/m' }), every(whole, size))).toBe(expected)
})

test('the usage event is held back from who did not ask, and read all the same', () => {
  for (let size = 1; size < 100; size++) {
    const relay = relayOf({ showUsage: false })
    expect(run(relay, every(whole, size))).toBe(whole.replace(usageChunk, ''))
    expect(relay.usage).toEqual({ inputTokens: 5, outputTokens: 3 })
    expect(relay.contentEvents).toBe(2)
    expect(relay.failure).toBeUndefined()
  }
})

test('CRLF line ends are understood', () => {
  const crlf = whole.replaceAll('\n', '\r\n')
  const relay = relayOf()
  expect(run(relay, every(crlf, 7))).toBe(crlf)
  expect(relay.terminated).toBe(true)
})

test('spaces after colons, as Python writes them, are understood', () => {
  const spaced = whole.replaceAll('"model":"up', '"model": "up').replaceAll('"finish_reason":', '"finish_reason": ')
  const relay = relayOf({ publicModel: 'public' })
  const out = run(relay, every(spaced, 33))
  expect(out).not.toContain('"model": "up-2026"')
  expect(relay.complete).toBe(true)
})

test('a finished stream without [DONE] is complete and gets one', () => {
  const relay = relayOf()
  expect(run(relay, every(whole.replace(done, ''), 20))).toBe(whole)
  expect(relay.failure).toBeUndefined()
})

test('a stream cut at any byte before its finish is never complete', () => {
  const end = Buffer.byteLength(whole.slice(0, whole.indexOf('"finish_reason":"stop"')))
  for (let at = 0; at <= end; at++) {
    const relay = relayOf()
    const out = run(relay, [Buffer.from(whole).subarray(0, at)])
    expect(relay.failure?.kind).toBe('upstream-broken')
    expect(relay.terminated).toBe(false)
    expect(out).not.toContain('[DONE]')
  }
})

test("an error event becomes a failure in the upstream's words, not data", () => {
  const relay = relayOf()
  const out = run(relay, every(`${delta({ content: 'a' })}data: {"error":{"message":"GPU lost","code":"gpu"}}\n\n`, 9))
  expect(out).toBe(delta({ content: 'a' }))
  expect(relay.failure?.message).toBe('GPU lost')
  expect(relay.failure?.code).toBe('gpu')
})

test('heartbeats and empty pieces pass', () => {
  const relay = relayOf()
  expect(run(relay, [Buffer.from(': ping\n\n'), Buffer.alloc(0), Buffer.from(whole)])).toBe(`: ping\n\n${whole}`)
})

test('absurd usage is ignored', () => {
  const relay = relayOf()
  run(relay, every(whole.replace('"prompt_tokens":5', '"prompt_tokens":-5'), 50))
  expect(relay.usage).toBeUndefined()
})

test('what comes behind [DONE] counts for nothing, wherever the bytes are cut', () => {
  const after = `data: {"error":"too late"}\n\n${delta({ content: 'late' })}data: rubbish\n\n`
  const bytes = Buffer.from(whole + after)
  for (let size = 1; size <= bytes.length; size += size < 200 ? 1 : 97) {
    const relay = relayOf()
    expect(run(relay, every(whole + after, size))).toBe(whole)
    expect([relay.failure, relay.usage]).toEqual([undefined, { inputTokens: 5, outputTokens: 3 }])
  }
})

test('a stream without a chunk is no answer, nor is one without a finish reason, with any kind of end', () => {
  const filters = chunk({ choices: [], prompt_filter_results: [] })
  for (const empty of [done, `: ping\n\n${done}`, filters + usageChunk + done, `event: x\r\ndata: [DONE]\r\n\r\n`])
    for (const size of [1, 9, 1000]) {
      const relay = relayOf()
      expect(run(relay, every(empty, size))).not.toContain('[DONE]')
      expect([relay.failure?.kind, relay.complete, relay.terminated]).toEqual(['upstream-broken', false, false])
    }
  const text = { index: 0, delta: { content: 'hi' } }
  for (const unfinished of [
    delta({ content: 'hi' }),
    chunk({ choices: [{ ...text, finish_reason: '' }] }),
    chunk({ choices: [text] }),
  ])
    for (const end of ['', usageChunk, done, usageChunk + done])
      for (const size of [1, 9, 1000]) {
        const relay = relayOf()
        expect(run(relay, every(unfinished + end, size))).not.toContain('[DONE]')
        expect([relay.failure?.kind, relay.complete, relay.terminated]).toEqual(['upstream-broken', false, false])
      }
})

test('an event that is not a JSON object breaks the stream, and what came before it went out', () => {
  for (const broken of [
    '{"choices":[{"delta":{"content":"ca',
    'rubbish',
    '[1]',
    'null',
    '"text"',
    '{',
    '}',
    '<html>{}</html>',
  ])
    for (const end of ['\n\n', '\r\n\r\n'])
      for (const size of [1, 7, 1000]) {
        const relay = relayOf()
        expect(run(relay, every(`${delta({ content: 'a' })}data: ${broken}${end}${done}`, size))).toBe(
          delta({ content: 'a' }),
        )
        expect([relay.failure?.kind, relay.terminated]).toEqual(['upstream-broken', false])
      }
})

test('unusual events pass: names, numbers, several lines of data, spaces; events without data say nothing', () => {
  const usage = `event: chunk\nid: 7\n${usageChunk}`
  const many = 'data: {"choices":[{"index":0,\ndata:  "delta":{"content":"x"}}]}\n\n'
  const last = delta({}, 'stop').replace('\n\n', ' \nid: 3\n\n')
  const odd = `id: 1\n${delta({ content: 'a' })}event: ping\n\nretry: 10\n\n${many}${last}${usage}data:[DONE]\n\n`
  for (let size = 1; size < 80; size++) {
    const relay = relayOf()
    expect(run(relay, every(odd.replace('retry', 'data:\n\ndata: \n\nretry'), size))).toBe(odd)
    expect([relay.failure, relay.terminated, relay.contentEvents, relay.usage?.inputTokens]).toEqual([
      undefined,
      true,
      2,
      5,
    ])
  }
})

test('errors with a name or in the words of vLLM are failures; an error that is null is none', () => {
  for (const [event, message] of [
    ['event: error\ndata: {"error":{"message":"GPU lost"}}\n\n', 'GPU lost'],
    ['data: {"object": "error", "message": "too long"}\n\n', 'too long'],
  ] as const) {
    const relay = relayOf()
    expect(run(relay, every(delta({ content: 'a' }) + event + done, 11))).toBe(delta({ content: 'a' }))
    expect([relay.failure?.kind, relay.failure?.message]).toEqual(['upstream-failed', message])
  }
  const choice = '{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}'
  const fine = `data: {"error": null, "choices":[${choice}]}\n\n${done}`
  const relay = relayOf()
  expect([run(relay, every(fine, 11)), relay.failure]).toEqual([fine, undefined])
})

test('an error beside the fields of a chunk, as OpenRouter and Mistral write it, is a failure', () => {
  const failed = { index: 0, delta: { content: '' }, finish_reason: 'error' }
  const openRouter = chunk({
    provider: 'openai',
    error: { code: 'server_error', message: 'Provider disconnected' },
    choices: [failed],
  })
  for (const [event, message, kind = 'upstream-failed'] of [
    [openRouter, 'Provider disconnected'],
    [
      openRouter.replace('data: {', 'event: chunk\ndata: {').replace(',"error"', ',\ndata: "error" '),
      'Provider disconnected',
    ],
    [delta({ content: '' }, 'error'), 'the upstream failed while it answered'],
    [chunk({ choices: [{ ...failed, error: { message: 'too hot', code: 502 } }] }), 'too hot', 'upstream-broken'],
  ] as const)
    for (const size of [1, 11, 1000]) {
      const relay = relayOf()
      expect(run(relay, every(delta({ content: 'a' }) + event + done, size))).toBe(delta({ content: 'a' }))
      expect([relay.failure?.kind, relay.failure?.message, relay.complete]).toEqual([kind, message, false])
    }
  const call = delta({
    tool_calls: [
      { index: 0, id: 'x', type: 'function', function: { name: 'error', arguments: '{"error":{"message":"mine"}}' } },
    ],
  })
  const last = { index: 0, delta: { content: '"error"' }, finish_reason: 'tool_calls' }
  const fine = call + chunk({ error: null, choices: [last] }) + done
  const relay = relayOf()
  expect([run(relay, every(fine, 11)), relay.failure]).toEqual([fine, undefined])
})

test('usage stands where Groq and Moonshot put it too, and a later report that says nothing takes none away', () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }
  const last = { index: 0, delta: {}, finish_reason: 'stop' }
  for (const event of [
    chunk({ choices: [last], x_groq: { id: 'req', usage } }),
    chunk({ choices: [{ ...last, usage }] }),
  ])
    for (const after of ['', chunk({ choices: [], usage: {} })]) {
      const relay = relayOf({ showUsage: false })
      expect(run(relay, every(delta({ content: 'a' }) + event + after + done, 40))).toBe(
        delta({ content: 'a' }) + event + done,
      )
      expect(relay.usage).toEqual({ inputTokens: 5, outputTokens: 3 })
    }
})

test('a byte order mark before the first event is none of its words', () => {
  for (let size = 1; size < 40; size++) {
    const relay = relayOf({ publicModel: 'public' })
    const out = run(relay, every(`\uFEFF${whole}`, size))
    expect([out, relay.contentEvents]).toEqual([whole.replaceAll('"model":"up-2026"', '"model":"public"'), 2])
  }
})

test('an upstream that names its model in several ways, among them the public one, shows only that', () => {
  const named = (model: string, content: string) =>
    delta({ content }).replace('"model":"up-2026"', `"model":"${model}"`)
  const models = ['public', 'up-2026', 'up-2026', '', 'public', 'up-2026-11']
  const stream = models.map((model, at) => named(model, `a${at}`)).join('') + delta({}, 'stop') + usageChunk + done
  expect(run(relayOf({ publicModel: 'public' }), every(stream, 50))).toBe(
    stream.replaceAll(/"model":"[^"]*"/g, '"model":"public"'),
  )
})

test('characters are counted, not their bytes, parsed or not', () => {
  const texts = ['東京の天気', '大阪', 'Grüße 😀', 'line\nbreak 東']
  for (const field of ['content', 'reasoning_content']) {
    const relay = relayOf()
    run(relay, every(texts.map(text => delta({ [field]: text })).join('') + delta({}, 'stop') + usageChunk + done, 30))
    expect([relay.contentEvents, relay.contentCharacters]).toEqual([texts.length, texts.join('').length])
  }
})

test('the words of a failure in the place of a finish are read as UTF-8', () => {
  const choice = { index: 0, delta: {}, finish_reason: 'error', error: { message: 'Überlastet: 混雑' } }
  const relay = relayOf()
  run(relay, every(delta({ content: 'a' }) + chunk({ choices: [choice] }) + done, 40))
  expect(relay.failure?.message).toBe('Überlastet: 混雑')
})

test('of several choices each has to finish; at `[DONE]` each that has begun', () => {
  const choice = (index: number, text: string, finish: string | null = null) =>
    chunk({ choices: [{ index, delta: { content: text }, finish_reason: finish }] })
  const half = choice(0, 'a') + choice(1, 'b') + choice(0, '', 'stop')
  const relayFor = (fields: object) =>
    openaiChatForward.relay(
      'up-2026',
      JsonBody.read(Buffer.from(JSON.stringify({ stream_options: { include_usage: true }, ...fields }))),
    ) as OpenaiRelay
  for (const fields of [{ n: 2 }, { prompt: ['x', 'y'] }])
    for (const size of [1, 50, 1000]) {
      const cut = relayFor(fields)
      run(cut, every(half, size))
      expect([cut.failure?.kind, cut.terminated]).toEqual(['upstream-broken', false])
      const both = chunk({
        choices: [
          { index: 0, delta: {}, finish_reason: 'stop' },
          { index: 1, delta: {}, finish_reason: 'stop' },
        ],
      })
      for (const all of [half + choice(1, '', 'length'), both]) {
        const whole = relayFor(fields)
        expect([run(whole, every(all, size)), whole.failure]).toEqual([all + done, undefined])
      }
      // Some hosts say it of the same choice twice.
      const twice = relayFor(fields)
      run(twice, every(half + choice(0, '', 'stop'), size))
      expect([twice.failure?.kind, twice.terminated]).toEqual(['upstream-broken', false])
      const open = relayFor(fields)
      run(open, every(half + done, size))
      expect([open.failure?.kind, open.terminated]).toEqual(['upstream-broken', false])
      const fewer = relayFor(fields)
      const one = choice(0, 'a') + choice(0, '', 'stop')
      expect([run(fewer, every(one + done, size)), fewer.failure]).toEqual([one + done, undefined])
      const without = relayFor(fields)
      run(without, every(one, size))
      expect([without.failure?.kind, without.terminated]).toEqual(['upstream-broken', false])
    }
  for (const fields of [{ n: 1 }, { n: null }, { prompt: [1, 2, 3] }, { prompt: 'x', n: 1 }, {}])
    expect(run(relayFor(fields), every(choice(0, '', 'stop'), 9))).toEndWith(done)
})

test('a blank line ends an event, with any line ends around it', () => {
  for (const blank of ['\n\r\n', '\r\n\n', '\r\n\r\n']) {
    const mixed = whole
      .split('\n\n')
      .map((event, at) => event + (at % 2 === 0 ? blank : '\n\n'))
      .join('')
      .slice(0, -blank.length)
    for (let size = 1; size < 200; size += size < 20 ? 1 : 37) {
      const relay = relayOf({ publicModel: 'public', showUsage: false })
      const out = run(relay, every(mixed, size))
      expect([out.includes('"model":"up-2026"'), relay.usage?.inputTokens, relay.terminated]).toEqual([false, 5, true])
    }
  }
})

test('usage after `[DONE]` counts, and goes out before it to who asked for it', () => {
  const before = delta({ content: 'a' }) + delta({}, 'stop')
  for (const showUsage of [true, false])
    for (const size of [1, 7, 1000]) {
      const relay = relayOf({ showUsage })
      const late = `${before + done}: ping\n\ndata: rubbish\n\n${usageChunk}${delta({ content: 'late' })}`
      expect(run(relay, every(late, size))).toBe(before + (showUsage ? usageChunk : '') + done)
      expect([relay.failure, relay.usage]).toEqual([undefined, { inputTokens: 5, outputTokens: 3 }])
    }
  // Until the usage, or the end of the bytes, nothing says that the answer is complete.
  const relay = relayOf()
  relay.push(Buffer.from(before))
  expect([relay.complete, relay.quietMs]).toEqual([true, 3000])
  expect([relay.push(Buffer.from(done)).length, relay.terminated, relay.quietMs]).toEqual([0, false, 1000])
  expect([Buffer.from(relay.end()).toString(), relay.terminated, relay.usage]).toEqual([done, true, undefined])
})

test('content after its finish reason has to finish again', () => {
  const late = delta({ content: 'a' }) + delta({}, 'stop') + delta({ content: 'b' })
  for (const end of ['', done, usageChunk + done])
    for (const size of [1, 1000]) {
      const relay = relayOf()
      run(relay, every(late + end, size))
      expect([relay.failure?.kind, relay.terminated]).toEqual(['upstream-broken', false])
      const again = relayOf()
      run(again, every(late + delta({}, 'stop') + end, size))
      expect([again.failure, again.terminated]).toEqual([undefined, true])
    }
})

test('only what carries the answer on is a step; comments and empty deltas are none', () => {
  const relay = relayOf()
  const steps = [
    ': ping\n\n',
    delta({ role: 'assistant', content: '' }),
    delta({ content: 'a' }),
    delta({ reasoning_content: 'b' }),
    delta({ tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: '' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
    delta({ audio: { data: 'QUJD' } }),
    delta({}, 'stop'),
    usageChunk,
  ].map(event => {
    relay.push(Buffer.from(event))
    return [relay.received, relay.started, relay.steps]
  })
  expect(steps).toEqual([
    [false, false, 0],
    [true, false, 0],
    ...[1, 2, 3, 3, 4, 5, 6, 6].map(count => [true, true, count]),
  ])
  expect([relay.contentEvents, relay.contentCharacters]).toEqual([3, 4])
})

test("Azure's report of filters before the answer gets the id of the answer, cut anywhere", () => {
  const azure = (more: object) =>
    `data: ${JSON.stringify({ choices: [], created: 0, id: '', model: '', object: '', ...more })}\n\n`
  const filters = { prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] }
  const stream = azure(filters) + whole
  const expected =
    azure({ ...filters, id: 'c1', created: 1, model: 'public', object: 'chat.completion.chunk' }) +
    whole.replaceAll('"model":"up-2026"', '"model":"public"')
  for (let size = 1; size < 200; size++)
    expect(run(relayOf({ publicModel: 'public' }), every(stream, size))).toBe(expected)
  // A stream of nothing else is no answer.
  const empty = relayOf()
  expect(run(empty, cut(azure(filters) + done))).toBe('')
  expect(empty.failure?.kind).toBe('upstream-broken')
})

test.each(['event: ping\ndata: {}\n\n', 'event: ping\ndata: {"type":"ping"}\n\n', 'data: {"type": "ping"}\n\n'])(
  'a ping is no event of the answer, and no chunk for clients: %j',
  ping => {
    const relay = relayOf()
    expect(Buffer.from(relay.push(Buffer.from(ping))).toString()).toBe(': ping\n\n')
    expect(relay.received).toBe(false)
    expect(run(relayOf(), cut(ping + whole + ping))).toBe(`: ping\n\n${whole}`)
  },
)

test('which model answered is read where the client sees the public name, also after a chunk without a name', () => {
  const relay = relayOf({ publicModel: 'router' })
  const filters = chunk({ model: '', choices: [] })
  expect(run(relay, cut(filters + whole))).not.toContain('"model":"up-2026"')
  expect(relay.answeredModel).toBe('up-2026')
})
