import { expect, test } from 'bun:test'
import { closestMatch, isMisspelt } from './closest-match.ts'

test('letters inserted, left out, changed or swapped are seen through; what is further away is not guessed', () => {
  const names = ['api_key', 'api_base', 'model', 'weight']
  const cases: [string, string | undefined][] = [
    ['api_kye', 'api_key'],
    ['apikey', 'api_key'],
    ['Model', 'model'],
    ['models', 'model'],
    ['wieght', 'weight'],
    ['temperature', undefined],
    ['', undefined],
  ]
  for (const [word, meant] of cases) expect([word, closestMatch(word, names)]).toEqual([word, meant])
})

test('a word that lacks a part, or has one too many, is seen through where a single name fits', () => {
  const names = ['user_id', 'team_id', 'rpm_limit', 'tpm_limit', 'anthropic/claude-sonnet-4-5', 'gpt-5', 'gpt-5-mini-x']
  const cases: [string, string | undefined][] = [
    ['user', 'user_id'],
    ['claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['Claude-Sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['openrouter/gpt-5', 'gpt-5'],
    ['id', undefined],
    ['limit', undefined],
    ['sonnet', undefined],
    ['use', undefined],
    ['', undefined],
  ]
  for (const [word, meant] of cases) expect([word, closestMatch(word, names)]).toEqual([word, meant])
  expect(closestMatch('x_y', ['', 'x', 'a_b'])).toBe('x')
})

test('the nearest of several wins, as a distance counted in full has it', () => {
  const distance = (a: string, b: string): number => {
    const rows = Array.from({ length: a.length + 1 }, (_, i) =>
      Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : i)),
    )
    for (let i = 1; i <= a.length; i++)
      for (let j = 1; j <= b.length; j++) {
        const swapped =
          i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity
        rows[i]![j] = Math.min(
          rows[i - 1]![j]! + 1,
          rows[i]![j - 1]! + 1,
          rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
          swapped,
        )
      }
    return rows[a.length]![b.length]!
  }
  let seed = 7
  const below = (bound: number) => (seed = (seed * 48271) % 2147483647) % bound
  const word = () => Array.from({ length: below(12) }, () => 'abc'[below(3)]).join('')
  for (let round = 0; round < 2000; round++) {
    const [asked, names] = [word(), [word(), word(), word()]]
    const most = Math.min(Math.max(2, Math.floor(asked.length / 3)), 6)
    const best = Math.min(...names.map(name => distance(asked, name)))
    expect([asked, names, closestMatch(asked, names)]).toEqual([
      asked,
      names,
      best > most ? undefined : names.find(name => distance(asked, name) === best),
    ])
  }
})

test('a slip or two is a misspelling, another ending is a name of its own', () => {
  const known = ['num_retries', 'cache', 'supports_image_output']
  expect(['num_retires', 'num_retrys', 'Cahce', 'cachee'].filter(word => !isMisspelt(word, known))).toEqual([])
  expect(['cache_ttl', 'supports_image_input', 'retries', 'ttl', ''].filter(word => isMisspelt(word, known))).toEqual(
    [],
  )
})
