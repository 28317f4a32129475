import { expect, test } from 'bun:test'
import { emptyRow } from './ledger-columns.ts'
import { sumsBy, sumsOf, turnsOf } from './session-report.ts'
import type { SessionRow } from './session-report.ts'

const row = (fields: Partial<SessionRow> = {}): SessionRow => ({
  ...emptyRow,
  outcome: 'success',
  model: 'm',
  deployment_id: 'a',
  route: '/v1/chat/completions',
  attempts: 1,
  input_tokens: 5000,
  cached_input_tokens: 4000,
  cost_nano_usd: '10',
  ...fields,
})
const breaks = (...rows: SessionRow[]) => turnsOf(rows).map(turn => turn.breaks)

test('a turn says what is unlike the one before that was answered', () => {
  expect(breaks(row(), row())).toEqual([[], []])
  expect(breaks(row(), row({ deployment_id: 'b' }))).toEqual([[], ['deployment']])
  expect(breaks(row(), row({ model: 'n', deployment_id: 'b' }))).toEqual([[], ['model']])
  expect(breaks(row(), row({ cached_input_tokens: null }))).toEqual([[], ['cold']])
  expect(breaks(row(), row({ cached_input_tokens: null, input_tokens: 900 }))).toEqual([[], []])
  expect(breaks(row({ cached_input_tokens: null }), row({ cached_input_tokens: 0 }))).toEqual([[], []])
  expect(breaks(row({ route: '/v1/responses/compact' }))).toEqual([['compaction']])
  const failed = row({ outcome: 'error', deployment_id: 'b' })
  expect(breaks(row(), failed, row({ outcome: 'upstream_cut' }), row({ outcome: 'client_closed' }), row())).toEqual([
    [],
    ['failed'],
    ['cut'],
    ['left'],
    [],
  ])
})

test('sums leave out what is not known, and count it', () => {
  const rows = [row(), row({ cost_nano_usd: null }), row({ cost_nano_usd: null, attempts: 0, outcome: 'error' })]
  expect(sumsOf(rows)).toMatchObject({ calls: 3, failed: 1, input_tokens: 15_000, costNanoUsd: 10n, unpriced: 1 })
  expect(sumsBy([...rows, row({ model: 'dear', cost_nano_usd: '99' })], one => one.model)).toMatchObject([
    { name: 'dear', calls: 1 },
    { name: 'm', calls: 3 },
  ])
})
