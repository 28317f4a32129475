/** What a guardrail costs: one of patterns on a question of 2 KB. */
import { expect, test } from 'bun:test'
import { linearPattern } from '../lib/linear-regex/index.ts'
import { Scanner } from './scanner.ts'

test('a pattern on a text of 2 KB takes at most 15 microseconds', () => {
  const pattern = linearPattern('\\b(?:TCK|INC)-[0-9]{4,8}\\b')
  const scanner = new Scanner([{ name: 'TICKET', guardrail: 'g', pattern, action: 'block' }])
  const text = 'The weather in the north stays cold, and 12 ships wait for TCKs in the harbour of 1848. '
    .repeat(24)
    .slice(0, 2048)
  const rounds: number[] = []
  for (let round = 0; round < 30; round++) {
    const from = performance.now()
    for (let at = 0; at < 200; at++) if (scanner.findAll(text).length > 0) throw new Error('it holds no ticket')
    rounds.push(((performance.now() - from) / 200) * 1000)
  }
  // The fastest round: what else runs on the machine is not the pattern's.
  const fastestUs = Math.min(...rounds)
  expect(fastestUs).toBeLessThan(15)
})
