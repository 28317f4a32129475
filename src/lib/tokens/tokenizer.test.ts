import { afterAll, expect, test } from 'bun:test'
import * as cl100k from 'gpt-tokenizer/encoding/cl100k_base'
import * as o200k from 'gpt-tokenizer/encoding/o200k_base'
import { until } from '../../../tests/support/until.ts'
import { encodingOf, Tokenizer } from './tokenizer.ts'

const tokenizer = new Tokenizer()
afterAll(() => tokenizer.stop())

/** OpenAI Cookbook, "How to count tokens with tiktoken", section 5. */
test('texts have as many tokens as their vocabulary says', async () => {
  const texts = ['antidisestablishmentarianism', '2 + 2 = 4', 'お誕生日おめでとう', '', '<|endoftext|>']
  expect(await tokenizer.count('o200k_base', texts, 'key')).toEqual([6, 7, 8, 0, 7])
  expect((await tokenizer.count('cl100k_base', texts, 'key'))!.slice(0, 3)).toEqual([6, 7, 9])
})

test('token ids become their text again, each input by itself', async () => {
  const texts = ['2 + 2 = 4', 'お誕生日おめでとう 🧈', 'a\u{feff}b <|endoftext|>']
  for (const [encoding, { encode }] of [['o200k_base', o200k] as const, ['cl100k_base', cl100k] as const]) {
    const inputs = texts.map(text => encode(text, { disallowedSpecial: new Set() }))
    expect(await tokenizer.decode(encoding, inputs, 'key')).toEqual({ kind: 'decoded', texts })
  }
  const butter = cl100k.encode('🧈')
  const cut = [butter.slice(0, -1), cl100k.encode('next'), [100257]]
  expect(await tokenizer.decode('cl100k_base', cut, 'key')).toEqual({
    kind: 'decoded',
    texts: [expect.stringMatching(/^\ufffd+$/) as string, 'next', '<|endoftext|>'],
  })
})

test('ids beyond the vocabulary, in its gaps, or with too much text are said to be so', async () => {
  for (const id of [100256, 100261, 2 ** 31])
    expect(await tokenizer.decode('cl100k_base', [[1], [2, id]], 'key')).toEqual({
      kind: 'unknown-id',
      input: 1,
      at: 1,
      id,
    })
  const small = new Tokenizer({ charactersMax: 10, waitingMax: 4 })
  const [five] = cl100k.encode('hello')
  expect(await small.decode('cl100k_base', [[five!], [five!]], 'key')).toMatchObject({ kind: 'decoded' })
  expect(await small.decode('cl100k_base', [[five!], [five!, 0]], 'key')).toEqual({
    kind: 'too-long',
    charactersMax: 10,
  })
  const asked = [1, 2, 3, 4].map(() => small.decode('cl100k_base', [[0]], 'key'))
  expect((await Promise.all(asked)).map(one => one?.kind)).toEqual(['decoded', 'decoded', 'decoded', undefined])
  small.stop()
  expect(await small.decode('cl100k_base', [[0]], 'key')).toBeUndefined()
})

test('questions asked at once are answered in turn, each with its own counts', async () => {
  const asked = Array.from({ length: 10 }, (_, at) => tokenizer.count('o200k_base', [' a'.repeat(at), 'x'], 'key'))
  expect(await Promise.all(asked)).toEqual(asked.map((_, at) => [at, 1]))
})

test('too much, too slow or too many: no count, and the next one works', async () => {
  const small = new Tokenizer({ charactersMax: 300_000, countMs: 100, waitingMax: 4 })
  expect(await small.count('o200k_base', ['x'.repeat(300_001)], 'key')).toBeUndefined()
  expect(small.loaded).toBe(false)
  // Without a space there is nothing to cut it at: this would take a minute.
  expect(await small.count('o200k_base', ['x'.repeat(300_000)], 'key')).toBeUndefined()
  expect(small.loaded).toBe(false)
  expect(await Promise.all([1, 2, 3, 4].map(() => small.count('o200k_base', ['x'], 'key')))).toEqual([
    [1],
    [1],
    [1],
    undefined,
  ])
  small.stop()
})

test('a key that asks much neither fills the queue nor goes before others', async () => {
  const shared = new Tokenizer()
  const order: string[] = []
  const ask = (owner: string) =>
    shared.count('o200k_base', [owner], owner).then(counts => counts && void order.push(owner))
  const greedy = Array.from({ length: 100 }, () => ask('greedy'))
  const modest = ['one', 'two', 'one'].map(ask)
  await Promise.all([...greedy, ...modest])
  expect(order.slice(0, 6)).toEqual(['greedy', 'greedy', 'one', 'two', 'greedy', 'one'])
  // One is counted while half of the places are taken.
  expect(order.filter(owner => owner === 'greedy').length).toBe(17)
  shared.stop()
})

test('a measure counts each vocabulary, long runs in parts, and is not begun for one who waits no longer', async () => {
  const texts = ['2 + 2 = 4', 'x'.repeat(1000), 'お誕生日おめでとう']
  const waiting = { owner: 'key', waitMs: 60_000 }
  const measure = (await tokenizer.measure(['o200k_base', 'cl100k_base'], texts, waiting))!
  const exact = (await tokenizer.count('o200k_base', texts, 'key'))!.reduce((sum, one) => sum + one, 0)
  expect(measure.tokens.o200k_base).toBeWithin(exact, exact + 17)
  expect(measure.tokens.cl100k_base).toBeGreaterThan(7 + 9)
  expect(measure.bytes).toMatchObject({ dense: 1009, eastern: 27, word: 0 })
  expect((await tokenizer.measure([], texts, waiting))!.tokens).toEqual({})
  const [long, late, next] = await Promise.all([
    tokenizer.measure(['o200k_base'], ['a longer text of many words, '.repeat(30_000)], waiting),
    tokenizer.measure(['o200k_base'], texts, { owner: 'key', waitMs: 0 }),
    tokenizer.measure(['o200k_base'], ['a'], waiting),
  ])
  expect([long !== undefined, late, next?.tokens]).toEqual([true, undefined, { o200k_base: 1 }])
})

test('the thread ends when it is idle, and when it is stopped', async () => {
  const brief = new Tokenizer({ idleMs: 20 })
  expect(await brief.count('o200k_base', ['x'], 'key')).toEqual([1])
  expect(brief.loaded).toBe(true)
  await until(() => !brief.loaded, 'the thread ends')
  const waiting = brief.count('o200k_base', ['x'], 'key')
  brief.stop()
  expect(await waiting).toBeUndefined()
  expect(await brief.count('o200k_base', ['x'], 'key')).toBeUndefined()
})

test('models by their vocabulary', () => {
  const o200k = [
    'gpt-4o',
    'openai/gpt-4o-mini',
    'gpt-4.1-nano',
    'gpt-5',
    'gpt-5.2-codex',
    'o1',
    'o3-mini',
    'O4-mini',
    'gpt-oss-120b',
    'ft:gpt-4o:acme::x',
    'openai/gpt-5:free',
  ]
  const cl100k = ['gpt-4', 'gpt-4-turbo', 'gpt-3.5-turbo', 'gpt-35-turbo', 'text-embedding-3-large', 'davinci-002']
  const unknown = [
    'claude-sonnet-4-5',
    'gemini-2.5-pro',
    'llama-3',
    'gpt-2',
    'gpt-neo',
    'o',
    'o2d',
    'gpt-45',
    'phi-4',
    'omni',
    '',
  ]
  expect(o200k.filter(name => encodingOf(name) !== 'o200k_base')).toEqual([])
  expect(cl100k.filter(name => encodingOf(name) !== 'cl100k_base')).toEqual([])
  expect(unknown.filter(name => encodingOf(name) !== undefined)).toEqual([])
})
