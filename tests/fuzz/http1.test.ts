import { afterAll, expect, test } from 'bun:test'
import { GatewayError } from '../../src/core/errors.ts'
import { createHttp1Transport } from '../../src/http/client/client.ts'
import { MalformedResponseError } from '../../src/http/client/response-head.ts'
import { ResponseParser } from '../../src/http/client/response-parser.ts'
import { rawUpstream, timeouts, until } from '../raw-upstream.ts'
import { mutate, split } from './bytes.ts'

const ok = 'HTTP/1.1 200 OK\r\n'

/** Valid answers of all framings: the corpus that splits and mutations start from. */
const corpus = [
  `${ok}content-type: application/json\r\ncontent-length: 17\r\n\r\n{"id":"chatcmpl"}`,
  `${ok}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n` +
    '13\r\ndata: {"a":"\u00e9\u00e8\n"}\n\n\r\nE;x=y\r\ndata: [DONE]\n\n\r\n0\r\nx-sum: 1\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n' +
    'HTTP/1.1 429 Too Many\r\nretry-after: 3\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nno',
  'HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n',
  'HTTP/1.0 200 OK\r\nserver: old\r\n\r\nuntil the end\r\n\r\n',
].map(text => Buffer.from(text, 'latin1'))

/** mulberry32: the same numbers in every run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** What a reader sees, in one string; `refused` when the parser refuses. Fails when events do not end. */
function outcome(pieces: readonly Buffer[]): string {
  const parser = new ResponseParser()
  const body: Uint8Array[] = []
  let ended = false
  let left = ''
  try {
    for (const piece of pieces) {
      if (ended) {
        left += piece.toString('latin1')
        continue
      }
      parser.feed(piece)
      for (let turns = 0; ; turns++) {
        if (turns > piece.length + 3) throw new Error('the parser does not advance')
        const event = parser.next()
        if (event === 'more') break
        if (event === 'body') {
          if (parser.piece.length === 0) throw new Error('an empty piece')
          body.push(parser.piece)
        }
        if (event === 'end') {
          ended = true
          left = piece.subarray(piece.length - parser.leftover).toString('latin1')
          break
        }
      }
    }
    if (!ended && parser.head) ended = parser.finish()
  } catch (thrown) {
    if (thrown instanceof MalformedResponseError) return 'refused'
    throw thrown
  }
  const names = [
    ...Buffer.concat(pieces)
      .toString('latin1')
      .matchAll(/^([^\s:]+):/gm),
  ].map(([, name]) => name!.toLowerCase())
  const headers = names.map(name => parser.head?.all(name))
  return JSON.stringify([parser.head ?? null, Buffer.concat(body).toString('latin1'), ended, left, headers])
}

test('every answer reads the same when it is cut in two at any byte, and byte by byte', () => {
  for (const bytes of corpus) {
    const expected = outcome([bytes])
    expect(expected).not.toBe('refused')
    expect(JSON.parse(expected)[2]).toBe(true)
    for (let cut = 1; cut < bytes.length; cut++)
      expect(outcome([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(expected)
    expect(outcome(Array.from(bytes, byte => Buffer.of(byte)))).toBe(expected)
  }
})

test('20,000 mutated answers: nothing but a refusal is thrown, and splits do not change the result', () => {
  const random = randomFrom(20261121)
  let refusals = 0
  for (let i = 0; i < 20_000; i++) {
    const bytes = mutate(corpus[i % corpus.length]!, random)
    const atOnce = outcome([bytes])
    const inParts = outcome(split(bytes, random, 30))
    if (atOnce !== inParts) throw new Error(`differs by split: ${JSON.stringify(bytes.toString('latin1'))}`)
    if (atOnce === 'refused') refusals++
  }
  expect(refusals).toBeWithin(5000, 19_000)
})

let answerNext: readonly Buffer[] = []
const upstream = await rawUpstream({
  onRequest(peer) {
    const pieces = answerNext
    for (const piece of pieces) peer.socket.write(piece)
    // Half of the answers need the end of the connection to be complete.
    setTimeout(() => peer.socket.end(), 1)
  },
})
const transport = createHttp1Transport()

afterAll(() => {
  transport.close()
  upstream.stop()
})

test('300 mutated answers over sockets: each ends in an answer or upstream-broken', async () => {
  const random = randomFrom(4711)
  const head = { url: `${upstream.url}/v1`, headers: {} }
  const limits = timeouts({ firstByteMs: 1000, idleMs: 1000 })
  let answers = 0
  let errors = 0
  for (let i = 0; i < 300; i++) {
    answerNext = split(mutate(corpus[i % corpus.length]!, random), random, 30)
    try {
      const response = await transport.send({ method: 'POST', head, body: [], timeouts: limits }).response
      await response.body.bytes(10_000)
      answers++
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      expect(thrown.kind).toBe('upstream-broken')
      errors++
    }
  }
  expect(answers + errors).toBe(300)
  expect(Math.min(answers, errors)).toBeGreaterThan(30)
  await until(() => transport.connections().idle === 0, 'ended connections are dropped')
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('endless heads, chunk lines, trailers and interim answers are cut off at a bound', () => {
  const endless: [string, string][] = [
    [ok, 'a: b\r\n'],
    [`${ok}a: `, 'x'.repeat(50)],
    ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [`${ok}transfer-encoding: chunked\r\n\r\n`, '0'],
    [`${ok}transfer-encoding: chunked\r\n\r\n1;`, 'x'.repeat(50)],
    [`${ok}transfer-encoding: chunked\r\n\r\n0\r\n`, 'a: b\r\n'],
  ]
  for (const [start, more] of endless) {
    const parser = new ResponseParser()
    let fed = 0
    const feed = (text: string): void => {
      parser.feed(Buffer.from(text))
      fed += text.length
      while (parser.next() !== 'more');
    }
    expect(() => {
      feed(start)
      while (fed < 1_000_000) feed(more)
    }).toThrow(MalformedResponseError)
    expect(fed).toBeLessThan(70_000)
  }
})
