import { expect, test } from 'bun:test'
import { runRepeatedRequests } from './repeated-requests.ts'

test('duplicates under kill -9 reach the upstream once, and are billed once', async () => {
  const result = await runRepeatedRequests({ requests: 80, copies: 3, kills: 2 })
  expect(result).toMatchObject({ askedTwice: 0, different: 0, billedTwice: 0, kills: 2 })
  expect(result.answered + result.lost).toBe(80)
  expect(result.answered).toBeGreaterThan(0)
}, 120_000)
