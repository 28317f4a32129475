/** Bombs against a running gateway hold up neither it nor its memory. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway()
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const post = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })

/** The longest time that nothing else could run while `run` was at work, in milliseconds. */
async function longestBlockMs(run: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  await Bun.sleep(3)
  await run()
  await Bun.sleep(3)
  clearInterval(timer)
  return longest
}

describe('bombs', () => {
  const chat = (content: string) => `{"model":"chat-model","messages":[{"role":"user","content":${content}}]}`

  const bombs: Readonly<Record<string, [() => string | Uint8Array<ArrayBuffer>, number[]]>> = {
    'a million levels': [() => chat('['.repeat(1_000_000)), [400]],
    'two million elements': [() => chat(`[${'{},'.repeat(2_000_000)}1]`), [400]],
    'as many elements as are allowed': [
      () => chat(`[${'0,'.repeat(199_000)}1]`).replace('chat-model', 'claude-model'),
      [422],
    ],
    'a million fields': [() => `{${Array.from({ length: 1_000_000 }, (_, at) => `"${at}":1`).join(',')}}`, [400]],
    'a hundred thousand keys of one name': [() => `{"model":"chat-model"${',"a":1'.repeat(100_000)}}`, [400]],
    'the model twice': [() => '{"model":"chat-model","model":"claude-model","messages":[]}', [400]],
    'a string of sixty megabytes': [() => chat(`"${'x'.repeat(60_000_000)}"`), [200, 413]],
    'an image of twenty megabytes': [
      () => chat(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(20_000_000)}"}}]`),
      [200],
    ],
    'a number of a million digits': [
      () => `{"model":"chat-model","messages":[],"seed":${'9'.repeat(1_000_000)}}`,
      [400, 422],
    ],
    'half a string': [() => '{"model":"chat-model","messages":[{"role":"user","content":"', [400]],
    backslashes: [() => `{"model":"${'\\'.repeat(5_000_001)}`, [400]],
    'bytes that are no text': [
      () => new Uint8Array(Buffer.concat([Buffer.from('{"model":"'), Buffer.alloc(1000, 0xff), Buffer.from('"}')])),
      [400],
    ],
    'white space': [() => ' '.repeat(5_000_000), [400]],
    nothing: [() => '', [400]],
    'a list': [() => '[{"model":"chat-model"}]', [400]],
    'a NUL': [() => '{"model":"chat-model"\0}', [400]],
    'stop sequences without end': [
      () =>
        JSON.stringify({
          model: 'claude-model',
          messages: [{ role: 'user', content: 'x' }],
          stop: Array.from({ length: 60_000 }, (_, at) => `s${at}`),
        }),
      [400, 422],
    ],
  }

  test.each(Object.entries(bombs))(
    '%s',
    async (_name, [make, statuses]) => {
      const body = make()
      const memoryBefore = process.memoryUsage.rss()
      let best = Infinity
      for (let tries = 0; tries < 3 && best > 100; tries++) {
        best = Math.min(
          best,
          await longestBlockMs(async () => {
            const response = await post('/v1/chat/completions', body)
            expect(statuses).toContain(response.status)
            await response.text()
          }),
        )
      }
      // The client and the simulator share this loop, and read and write the large ones too.
      expect(best).toBeLessThan(body.length > 10_000_000 ? 1000 : 250)
      expect(process.memoryUsage.rss() - memoryBefore).toBeLessThan(600 * 1024 * 1024)
    },
    30_000,
  )

  test.each(['a', ' ', '1', '\u{1f600}', 'a b', '.,'].map(one => [one] as const))(
    'eight megabytes of %j are counted without a stop',
    async piece => {
      const body = JSON.stringify({ model: 'claude-model', prompt: piece.repeat(8_000_000 / Buffer.byteLength(piece)) })
      let best = Infinity
      for (let tries = 0; tries < 3 && best > 100; tries++)
        best = Math.min(
          best,
          await longestBlockMs(async () => {
            const response = await post('/utils/token_counter', body)
            expect(response.status).toBe(200)
            expect(((await response.json()) as { total_tokens: number }).total_tokens).toBeGreaterThanOrEqual(
              piece === ' ' ? 0 : 1_000,
            )
          }),
        )
      expect(best).toBeLessThan(400)
    },
    30_000,
  )
})
