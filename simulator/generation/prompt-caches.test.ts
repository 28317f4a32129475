import { expect, test } from 'bun:test'
import { PromptCaches } from './prompt-caches.ts'
import type { CachedPrompt } from './prompt-caches.ts'

const words = (letter: string, tokens: number): string => letter.repeat(tokens * 4)
const user = (text: string): object => ({ role: 'user', content: text })

function caches() {
  const clock = { nowMs: 0 }
  const made = new PromptCaches(() => clock.nowMs)
  const use = (body: object, more: Partial<CachedPrompt> = {}) =>
    made.use({ account: 'k', model: 'm', body: body as never, inputTokens: 10_000, isMarked: false, ...more })
  return { clock, use, marked: (body: object) => use(body, { isMarked: true }) }
}

test('a prompt is found again by its blocks, by the same account and model, for five minutes after its last use', () => {
  const { clock, use } = caches()
  const turn = { messages: [user(words('a', 4000))] }
  expect(use(turn).cachedTokens).toBe(0)
  expect(use({ messages: [...turn.messages, user(words('b', 4000))] }).cachedTokens).toBeGreaterThan(4900)
  expect(use(turn, { account: 'other' }).cachedTokens).toBe(0)
  expect(use(turn, { model: 'other' }).cachedTokens).toBe(0)
  clock.nowMs = 299_000
  expect(use(turn).cachedTokens).toBeGreaterThan(9000)
  clock.nowMs += 299_000
  expect(use(turn).cachedTokens).toBeGreaterThan(9000)
  clock.nowMs += 301_000
  expect(use(turn).cachedTokens).toBe(0)
})

test('what is shorter than 1,024 tokens is not cached, and what differs at its beginning is not found', () => {
  const { use } = caches()
  const short = { messages: [user(words('a', 1000))] }
  use(short)
  expect(use(short).cachedTokens).toBe(0)
  use({ messages: [user('one'), user(words('a', 3000))] })
  expect(use({ messages: [user('two'), user(words('a', 3000))] }).cachedTokens).toBe(0)
})

const mark = (text: string, ttl?: string) => ({ type: 'text', text, cache_control: { type: 'ephemeral', ttl } })

test('only what is marked is kept: for five minutes or an hour', () => {
  const { clock, marked } = caches()
  const body = (ttl?: string) => ({
    system: [mark(words('s', 2000), ttl)],
    messages: [{ role: 'user', content: [{ type: 'text', text: words('a', 2000) }] }],
  })
  const first = marked(body('1h'))
  expect(first.cachedTokens).toBe(0)
  expect(first.cacheWriteTokens).toBeGreaterThan(4900)
  expect(first.cacheWriteOneHourTokens).toBe(first.cacheWriteTokens)
  clock.nowMs = 3_599_000
  expect(marked(body('1h'))).toEqual({
    cachedTokens: first.cacheWriteTokens,
    cacheWriteTokens: 0,
    cacheWriteOneHourTokens: 0,
  })
  clock.nowMs += 3_601_000
  const short = marked(body())
  expect([short.cachedTokens, short.cacheWriteOneHourTokens]).toEqual([0, 0])
  clock.nowMs += 301_000
  expect(marked(body()).cachedTokens).toBe(0)
})

test('a mark finds what was kept up to twenty blocks before it', () => {
  const found = (between: number): number => {
    const { marked } = caches()
    const start = { type: 'text', text: words('s', 2000) }
    marked({ messages: [{ role: 'user', content: [mark(words('s', 2000))] }] })
    const more = Array.from({ length: between }, (_, at) => ({ type: 'text', text: `block ${at}` }))
    return marked({ messages: [{ role: 'user', content: [start, ...more, mark('end')] }] }).cachedTokens
  }
  expect(found(19)).toBeGreaterThan(9000)
  expect(found(20)).toBe(0)
})

test('more than four marks are refused', () => {
  const { marked } = caches()
  const content = Array.from({ length: 5 }, () => mark('x'))
  expect(() => marked({ messages: [{ role: 'user', content }] })).toThrow('A maximum of 4 blocks')
})
