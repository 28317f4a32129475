import { expect, test } from 'bun:test'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import { usageOfRow } from './ledger-usage.ts'

/** Columns that are not given are null, as where nothing was counted. */
const rowOf = (given: Partial<LedgerRow>): LedgerRow =>
  new Proxy(given as LedgerRow, { get: (row, name) => row[name as keyof LedgerRow] ?? null })

test('what a row has not counted is not in the usage, and a zero that was counted is', () => {
  expect(usageOfRow(rowOf({ input_tokens: 7, output_tokens: 0 }))).toEqual({ inputTokens: 7, outputTokens: 0 })
})

test('sound and video are seconds again, and how a call was served is told where the row has it', () => {
  const usage = usageOfRow(
    rowOf({ input_tokens: 1, audio_microseconds: 1_500_000, video_microseconds: 250_000, inference_geo: 'us' }),
  )
  expect(usage).toMatchObject({ audioSeconds: 1.5, videoSeconds: 0.25, served: { region: 'us' } })
})

test('what other models of the call used comes back as it was written', () => {
  const others = [{ model: 'judge', usage: { inputTokens: 3 } }]
  expect(usageOfRow(rowOf({ input_tokens: 1, other_model_usage: JSON.stringify(others) })).otherModels).toEqual(
    others as never,
  )
})
