import { afterAll, expect, test } from 'bun:test'
import { GatewayError } from '../../src/core/errors.ts'
import { createHttp1Transport } from '../../src/http/client/client.ts'
import { MalformedResponseError } from '../../src/http/client/response-head.ts'
import { ResponseParser } from '../../src/http/client/response-parser.ts'
import { rawUpstream, timeouts } from '../support/upstreams/raw-upstream.ts'
import { mutate, randomFrom, split } from './bytes.ts'
import { answerOutcome } from './parsers.ts'
import { answerSeeds } from './seeds.ts'
import { until } from '../support/until.ts'

const ok = 'HTTP/1.1 200 OK\r\n'

test('every answer reads the same when it is cut in two at any byte, and byte by byte', () => {
  for (const bytes of answerSeeds) {
    const expected = answerOutcome([bytes])
    expect(expected).not.toBe('refused')
    expect(JSON.parse(expected)[2]).toBe(true)
    for (let cut = 1; cut < bytes.length; cut++)
      expect(answerOutcome([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(expected)
    expect(answerOutcome(Array.from(bytes, byte => Buffer.of(byte)))).toBe(expected)
  }
})

test('20,000 mutated answers: nothing but a refusal is thrown, and splits do not change the result', () => {
  const random = randomFrom(20261121)
  let refusals = 0
  for (let i = 0; i < 20_000; i++) {
    const bytes = mutate(answerSeeds[i % answerSeeds.length]!, random)
    const atOnce = answerOutcome([bytes])
    const inParts = answerOutcome(split(bytes, random, 30))
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

test('300 mutated answers over sockets: each ends in an answer or the error of a broken or closed upstream', async () => {
  const random = randomFrom(4711)
  const head = { url: `${upstream.url}/v1`, headers: {} }
  const limits = timeouts({ firstByteMs: 1000, idleMs: 1000 })
  let answers = 0
  let errors = 0
  for (let i = 0; i < 300; i++) {
    answerNext = split(mutate(answerSeeds[i % answerSeeds.length]!, random), random, 30)
    try {
      const response = await transport.send({ method: 'POST', head, body: [], timeouts: limits }).response
      await response.body.bytes(10_000)
      answers++
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      expect(thrown.kind).toBeOneOf(['upstream-broken', 'upstream-closed'])
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
