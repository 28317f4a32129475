import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { parseFault, splitModel, UnknownFault } from './fault.ts'
import { faultKinds, startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { postJson, bodyOf, chat, eventsOf, post, rawExchange, keptOpenMs } from '../testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 3 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const kept = (fault: string, more: object = {}, said?: string) =>
  rawExchange(simulator, chat(fault, more, said), keptOpenMs)
/** With `connection: close`, so that the test need not wait for a timeout. */
const closing = (sent: string) => sent.replace('host: x', 'host: x\r\nconnection: close')
const raw = (fault: string, more: object = {}, said?: string) =>
  rawExchange(simulator, closing(chat(fault, more, said)), fault.startsWith('hang') ? keptOpenMs : undefined)
const stream = { stream: true }
const truth = () => simulator.truth.last()!

describe('asking for a fault', () => {
  test('by suffix, by value, in brackets, by header; the header has precedence', () => {
    const values = (spec: string) => [parseFault(spec).name, parseFault(spec).number('at'), parseFault(spec).tokenMs]
    expect(values('cut')).toEqual(['cut', 3, 0])
    for (const spec of ['cut;at=5;token-ms=2', 'cut=5;token-ms=2', 'cut(at=5,token-ms=2)', 'cut ; at = 5; token-ms=2'])
      expect(values(spec)).toEqual(['cut', 5, 2])
    expect(parseFault('token-ms=20').tokenMs).toBe(20)
    expect(parseFault('redirect;to=http://a/?b=c').text('to')).toBe('http://a/?b=c')
    expect(splitModel('a/b#cut;at=1')).toEqual({ model: 'a/b', spec: 'cut;at=1' })
  })

  test('is documented for every fault', async () => {
    const page = await Bun.file(`${import.meta.dir}/../../docs/simulator.md`).text()
    for (const [name, { params, about }] of Object.entries(faultKinds)) {
      const row = page.split('\n').find(line => line.startsWith(`| \`${name}\` |`))
      expect(row).toContain(about)
      for (const param of Object.keys(params)) expect(row).toContain(param)
    }
  })

  test('unknown faults and parameters are refused with a list of all', async () => {
    for (const spec of ['nope', '', 'cut;att=1', 'cut;at=x', 'cut;at=-1', 'hang=3', '__proto__', 'toString'])
      expect(() => parseFault(spec)).toThrow(UnknownFault)
    const body = { model: 'sim#nope', messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const { status, text } = await postJson(simulator, path, body)
      expect(status).toBe(400)
      for (const name of Object.keys(faultKinds)) expect(text).toContain(name)
    }
    const byHeader = await postJson(simulator, { path: '/v1/models', headers: { 'x-simulate': 'status;code=503' } }, {})
    expect(byHeader.status).toBe(503)
    expect(truth().fault).toBe('status;code=503')
  })
})

describe('before the headers', () => {
  test('refuse ends with FIN, reset with RST, both without a byte', async () => {
    const refused = await raw('refuse')
    expect([refused.end, refused.bytes.length, truth().finished]).toEqual(['fin', 0, 'refused'])
    const reset = await raw('reset')
    expect([reset.end, reset.bytes.length, truth().finished]).toEqual(['rst', 0, 'refused'])
    expect(truth().status).toBeUndefined()
  })

  test('hang sends nothing, and records when the client leaves', async () => {
    const hung = await raw('hang', stream)
    expect([hung.end, hung.bytes.length]).toEqual(['open', 0])
    await Bun.sleep(20)
    expect(truth()).toMatchObject({
      finished: 'client-closed',
      billable: { inputTokens: 0, outputTokens: 0 },
    })
  })

  test('slow waits before the first byte', async () => {
    const startMs = performance.now()
    await postJson(simulator, '/v1/chat/completions', {
      model: 'sim#slow;ms=60',
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(performance.now() - startMs).toBeGreaterThan(58)
  })
})

describe('in the middle of a stream', () => {
  const faults: [string, string, boolean][] = [
    ['cut;at=4', 'fin', false],
    ['cut-chunked;at=4', 'fin', false],
    ['cut-reset;at=4', 'rst', false],
    ['cut-close-delimited;at=4', 'rst', false],
    ['cut-close-delimited;at=4;how=fin', 'fin', true],
    ['cut-clean;at=4', 'fin', true],
    ['hang-mid;at=4', 'open', false],
    ['bad-chunk;at=4', 'fin', false],
  ]
  for (const [fault, end, isWhole] of faults)
    test(`${fault}: exactly four events, then ${end}`, async () => {
      const result = await raw(fault, stream)
      const body = bodyOf(result)
      expect(result.end).toBe(end as typeof result.end)
      expect(body.isWhole).toBe(isWhole)
      expect(eventsOf(body.body.toString()).length).toBe(4)
      expect(truth()).toMatchObject({
        eventsSent: 4,
        tokensSent: 3,
        billable: { inputTokens: 3, outputTokens: 3 },
      })
      await Bun.sleep(5)
      expect(truth().finished).toBe(fault.startsWith('hang') ? 'client-closed' : 'cut')
    })

  test('bytes of the next event follow if requested; its chunk header announces the whole event', async () => {
    const { body, isWhole } = bodyOf(await raw('cut;at=2;bytes=9', stream))
    expect(isWhole).toBe(false)
    expect(body.toString().split('\n\n').at(-1)).toBe('data: {"i')
  })

  test('cut-chunked without a position sends everything but the last chunk', async () => {
    const { body, isWhole } = bodyOf(await raw('cut-chunked', stream))
    expect([isWhole, eventsOf(body.toString()).at(-1)]).toEqual([false, '[DONE]'])
    expect(truth().finished).toBe('cut')
  })

  test('errors are at the requested position', async () => {
    for (const [fault, events] of [
      ['error-first', 1],
      ['error-in-stream;at=4', 5],
    ] as const) {
      const { body, isWhole } = bodyOf(await raw(fault, stream))
      const seen = eventsOf(body.toString())
      expect([isWhole, seen.length, seen.at(-1).error.type]).toEqual([true, events, 'server_error'])
      expect(truth().finished).toBe('cut')
    }
    expect((await raw('error-in-stream')).text).toStartWith('HTTP/1.1 500 ')
  })

  test('no-done and no-finish each remove one event', async () => {
    const events = async (fault: string, more = {}) =>
      eventsOf(bodyOf(await raw(fault, { ...stream, ...more })).body.toString())
    const noDone = await events('no-done')
    expect(noDone.at(-1).choices[0].finish_reason).toBe('stop')
    const noFinish = await events('no-finish')
    expect(noFinish.at(-1)).toBe('[DONE]')
    expect(JSON.stringify(noFinish)).not.toContain('"finish_reason":"')
    const options = { stream_options: { include_usage: true } }
    expect(JSON.stringify(await events('no-usage', options))).not.toContain('usage')
    expect((await events('bad-usage', options)).at(-2).usage.prompt_tokens).toBe(-1)
    expect(truth().billable).toEqual({ inputTokens: 3, outputTokens: 10 })
  })
})

describe('after the last event', () => {
  test('hang-end: all events are sent and counted, but the body stays open', async () => {
    const result = await raw('hang-end', stream)
    const body = bodyOf(result)
    const events = eventsOf(body.body.toString())
    expect([result.end, body.isWhole, String(events.at(-1)).includes('[DONE]')]).toEqual(['open', false, true])
    expect(truth()).toMatchObject({ finished: 'complete', eventsSent: events.length })
  })

  test('hang-end;ms: the body ends later', async () => {
    const startMs = performance.now()
    const result = await rawExchange(simulator, closing(chat('hang-end;ms=60', stream)))
    expect([result.end, bodyOf(result).isWhole, performance.now() - startMs > 58]).toEqual(['fin', true, true])
  })
})

describe('non-streamed responses', () => {
  test('half of the body, and the end of each fault', async () => {
    const good = bodyOf(await raw('')).body.length
    for (const [fault, end] of [
      ['cut', 'fin'],
      ['cut-reset', 'rst'],
      ['hang-mid', 'open'],
      ['cut-close-delimited', 'rst'],
    ] as const) {
      const result = await raw(fault)
      expect([result.end, bodyOf(result).body.length]).toEqual([end, good >> 1])
      expect(truth().tokensSent).toBe(0)
    }
    const clean = bodyOf(await raw('cut-clean'))
    expect([clean.isWhole, clean.body.length]).toEqual([true, good >> 1])
    const unended = bodyOf(await raw('cut-chunked'))
    expect([unended.isWhole, unended.body.length]).toEqual([false, good])
  })

  test('content-length is wrong by the requested amount', async () => {
    const good = bodyOf(await raw('')).body
    const short = await raw('length-short;by=4')
    expect(bodyOf(short).head).toContain(`content-length: ${good.length - 4}`)
    expect(short.bytes.subarray(short.bytes.indexOf('\r\n\r\n') + 4)).toEqual(good)
    const long = await raw('length-long;by=4')
    expect([long.end, bodyOf(long).isWhole]).toEqual(['fin', false])
    expect((await raw('length-long', stream)).text).toContain('text/event-stream')
    expect(truth().finished).toBe('cut')
  })

  test('truncated JSON has correct framing', async () => {
    const { body, isWhole } = bodyOf(await raw('truncated-json'))
    expect(isWhole).toBe(true)
    expect(() => JSON.parse(body.toString())).toThrow()
    const events = bodyOf(await raw('truncated-json', stream))
      .body.toString()
      .split('\n\n')
    const broken = events
      .filter(event => event.startsWith('data: {'))
      .filter(event => {
        try {
          return !JSON.parse(event.slice(6))
        } catch {
          return true
        }
      })
    expect(broken.length).toBe(1)
  })

  test('faults of the response head', async () => {
    expect((await raw('bad-status-line')).text).toStartWith('HTP/one')
    expect((await raw('status-999')).text).toStartWith('HTTP/1.1 999 ')
    expect((await raw('many-headers;count=500')).text.match(/^x-many-/gm)?.length).toBe(500)
    expect(bodyOf(await raw('huge-headers;bytes=300000')).head.length).toBeGreaterThan(300_000)
    expect((await raw('bad-chunk')).text).toContain('\r\n\r\nnot-a-size\r\n')
  })

  test('usage can be missing or invalid, in both dialects', async () => {
    const ask400 = async (path: string, model: string) =>
      JSON.parse(
        (await postJson(simulator, path, { model, max_tokens: 50, messages: [{ role: 'user', content: 'x' }] })).text,
      )
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      expect((await ask400(path, 'sim#no-usage')).usage).toBeUndefined()
      const [first] = Object.values((await ask400(path, 'sim#bad-usage;kind=huge')).usage)
      expect(first).toBe(1e300)
      expect(Object.values((await ask400(path, 'sim#bad-usage;kind=text')).usage)[0]).toBe('many')
    }
  })
})

describe('bytes', () => {
  test('invalid UTF-8 is inside the text, streamed or not', async () => {
    for (const more of [{}, stream]) {
      const { body } = bodyOf(await raw('invalid-utf8', more))
      expect(body.includes(Buffer.of(0xff, 0xfe, 0xc0, 0x80))).toBe(true)
      expect(() => new TextDecoder('utf-8', { fatal: true }).decode(body)).toThrow()
    }
  })

  test('split-utf8 makes every byte a chunk and loses none', async () => {
    for (const more of [{}, stream]) {
      const said = 'say: Grüße ✓ 😀'
      const whole = bodyOf(await raw('', more, said)).body
      const result = await raw('split-utf8', more, said)
      const { head, body } = bodyOf(result)
      expect(body).toEqual(whole)
      // A chunk of one byte takes six, the last chunk five.
      expect(result.bytes.length).toBe(head.length + 4 + whole.length * 6 + 5)
      expect(result.pieces.length).toBeGreaterThan(100)
    }
  })

  test('drip keeps its rate', async () => {
    const { text, tookMs } = await rawExchange(simulator, closing(chat('drip;ms=0.2', {}, 'say: a')))
    expect(text).toContain('"content":"a"')
    expect(tookMs).toBeGreaterThan(100)
  })

  test('a giant event has the requested size and is valid', async () => {
    for (const more of [{}, stream]) {
      const result = await raw('giant-event;bytes=3000000', more, 'say: a')
      const { body, isWhole } = bodyOf(result)
      expect(isWhole).toBe(true)
      const objects = 'stream' in more ? eventsOf(body.toString()) : [JSON.parse(body.toString())]
      expect(objects.filter(one => one.padding?.length === 3_000_000).length).toBe(1)
    }
  })
})

describe('statuses', () => {
  test('429 with its retry headers', async () => {
    const headers = async (fault: string) => bodyOf(await raw(fault)).head
    expect(await headers('429')).toContain('retry-after: 1\r\n')
    for (const absurd of ['1e9', '-1', 'x', 'Wed, 21 Oct 2099 07:28:00 GMT'])
      expect(await headers(`429;retry-after=${absurd}`)).toContain(`retry-after: ${absurd}\r\n`)
    const ms = await headers('429;retry-after=;retry-after-ms=250')
    expect(ms).toContain('retry-after-ms: 250\r\n')
    expect(ms).not.toContain('retry-after: ')
    expect((await raw('429;kind=quota')).text).toContain('insufficient_quota')
    expect((await raw('status;code=400;kind=context-length')).text).toContain('context_length_exceeded')
  })

  test('HTML pages, and redirects whose target answers', async () => {
    const page = await raw('html-error')
    expect(page.text).toStartWith('HTTP/1.1 502 Bad Gateway\r\n')
    expect(page.text).toContain('\r\ncontent-type: text/html')
    expect(page.text).not.toContain('request-id')
    expect(bodyOf(await raw('redirect;to=http://elsewhere/x')).head).toContain('location: http://elsewhere/x')
    const followed = await postJson(simulator, '/v1/chat/completions', {
      model: 'sim#redirect',
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(followed.status).toBe(200)
    expect(truth().path).toBe('/redirected/v1/chat/completions')
  })

  test('flaky fails at the requested rate, for the same requests with the same seed', async () => {
    const run = async () => {
      simulator.reset()
      const statuses: number[] = []
      for (let at = 0; at < 60; at++)
        statuses.push(
          (
            await postJson(simulator, '/v1/chat/completions', {
              model: 'sim#flaky;p=0.5;code=503',
              messages: [{ role: 'user', content: 'x' }],
            })
          ).status,
        )
      return statuses
    }
    const statuses = await run()
    const failed = statuses.filter(status => status === 503).length
    expect(failed).toBeGreaterThan(15)
    expect(failed).toBeLessThan(45)
    expect(await run()).toEqual(statuses)
    expect((await raw('flaky;p=1;code=0')).end).toBe('rst')
  })
})

describe('keep-alive connections', () => {
  test('reset-idle closes it after its time, or on the next bytes', async () => {
    const idle = await kept('reset-idle;ms=30')
    expect([idle.end, bodyOf(idle).isWhole]).toEqual(['fin', true])
    expect(idle.tookMs).toBeGreaterThan(28)
    expect((await kept('reset-idle;ms=30;how=rst')).end).toBe('rst')
    const next = await rawExchange(simulator, [chat('reset-idle;when=next;how=rst'), ...Array(20).fill(''), chat('')])
    expect([next.end, next.text.match(/HTTP\/1.1 200/g)?.length]).toEqual(['rst', 1])
    const stays = await kept('reset-idle;when=next')
    expect(stays.end).toBe('open')
  })

  test('unsolicited sends a response without a request, at once or later', async () => {
    for (const fault of ['unsolicited', 'unsolicited;ms=30']) {
      const { text, end } = await kept(fault, {}, 'say: mine')
      expect(text.match(/HTTP\/1.1 200/g)?.length).toBe(2)
      expect(text.indexOf('POISON')).toBeGreaterThan(text.indexOf('mine'))
      expect(end).toBe('open')
    }
  })

  test('half-close sends FIN after a complete response', async () => {
    const result = await kept('half-close')
    expect([result.end, bodyOf(result).isWhole]).toEqual(['fin', true])
  })

  test('pipelined requests are answered in order', async () => {
    const { text } = await rawExchange(
      simulator,
      chat('slow;ms=20', {}, 'say: first') + chat('', stream, 'say: next') + post('/v1/nope', {}),
      keptOpenMs,
    )
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '404'])
    expect(text.indexOf('first')).toBeLessThan(text.indexOf('next'))
  })
})
