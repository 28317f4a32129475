/** The row of a call has everything that its cost was computed from: row and prices give the same sum. */
import { expect, test } from 'bun:test'
import { costNanoUsd } from '../accounts/cost.ts'
import type { Settlement } from '../core/call.ts'
import type { LedgerRow } from '../core/ledger-columns.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Prices, Usage } from '../core/usage.ts'
import { recordLedger } from './record-ledger.ts'

/** Nano-dollars for a million; no two alike, so that no unit can be billed as another. */
const prices: Prices = {
  input: 3_000_000_007n,
  output: 15_000_000_011n,
  cacheRead: 300_000_013n,
  cacheWrite: 3_750_000_017n,
  cacheWriteOneHour: 6_000_000_019n,
  inputAudio: 40_000_000_023n,
  outputAudio: 80_000_000_029n,
  inputImage: 8_000_000_031n,
  outputImage: 32_000_000_037n,
  reasoning: 17_000_000_041n,
  image: 40_000_000_000_043n,
  character: 15_000_000_047n,
  audioSecond: 100_000_000_053n,
  searchUnit: 2_000_000_000_059n,
  audioSecondsMin: 10,
}

/** What was used, in turn by tokens, by their kinds, and by everything that is no token. */
const usages: readonly Usage[] = [
  { inputTokens: 12, outputTokens: 34 },
  {
    inputTokens: 900,
    outputTokens: 80,
    cachedInputTokens: 300,
    cacheWriteTokens: 200,
    cacheWriteOneHourTokens: 150,
    reasoningTokens: 20,
  },
  { inputTokens: 100, outputTokens: 50, inputAudioTokens: 60, outputAudioTokens: 40 },
  { inputTokens: 600, outputTokens: 1056, inputImageTokens: 560, outputImageTokens: 1056, images: 1 },
  { inputTokens: 10, outputTokens: 20, images: 4 },
  { inputTokens: 0, outputTokens: 0, images: 3 },
  { inputTokens: 0, outputTokens: 0, characters: 4096 },
  { inputTokens: 0, outputTokens: 0, audioSeconds: 12.345678 },
  { inputTokens: 0, outputTokens: 0, audioSeconds: 0.1 + 0.2 },
  { inputTokens: 0, outputTokens: 0, audioSeconds: 10 / 3 + 10 },
  { inputTokens: 0, outputTokens: 0, searchUnits: 2 },
  { inputTokens: 40, outputTokens: 0, searchUnits: 0.5 },
]

function rowOf(usage: Usage | undefined, costNanoUsd: bigint | null): LedgerRow {
  const rows: LedgerRow[] = []
  const ledger = { settle: row => rows.push(row) } as Pick<Ledger, 'settle'> as Ledger
  const call = {
    id: '0195',
    startedAtMs: 1_763_710_000_000,
    route: '/v1/x',
    operation: 'speech',
    model: 'm',
    endUser: '',
    stream: false,
    usageSource: 'upstream',
    usage,
    deployment: undefined,
    firstByteMs: -1,
    attempts: 1,
    clientAddress: '',
    userAgent: '',
    caller: { role: 'key', key: { id: 'k', alias: null, userId: null, teamId: null } },
  }
  const settlement = {
    call,
    outcome: 'success',
    status: 200,
    error: undefined,
    costNanoUsd,
    durationMs: 1,
  } as unknown as Settlement
  recordLedger(ledger).settled!(settlement)
  expect(rows.length).toBe(1)
  return rows[0]!
}

/** The usage, read back from the row alone. */
function usageOf(row: LedgerRow): Usage {
  const counts: Record<string, number | null> = {
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cacheWriteOneHourTokens: row.cache_write_one_hour_tokens,
    reasoningTokens: row.reasoning_tokens,
    inputAudioTokens: row.input_audio_tokens,
    outputAudioTokens: row.output_audio_tokens,
    inputImageTokens: row.input_image_tokens,
    outputImageTokens: row.output_image_tokens,
    searchUnits: row.search_units,
    images: row.images,
    characters: row.characters,
    audioSeconds: row.audio_microseconds === null ? null : row.audio_microseconds / 1e6,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null)) as unknown as Usage
}

test('every cost can be made again from the row alone', () => {
  for (const usage of usages) {
    const cost = costNanoUsd(usage, prices, 0)
    const row = rowOf(usage, cost)
    expect(cost).toBeGreaterThan(0n)
    expect(row.cost_nano_usd).toBe(String(cost))
    expect(costNanoUsd(usageOf(row), prices, 0)).toBe(cost)
  }
})

test('audio is whole microseconds; what was not counted is null, what was none is 0', () => {
  expect(rowOf({ inputTokens: 0, outputTokens: 0, audioSeconds: 0.1 + 0.2 }, null).audio_microseconds).toBe(300_000)
  expect(rowOf({ inputTokens: 0, outputTokens: 0, audioSeconds: 0, images: 0 }, null)).toMatchObject({
    audio_microseconds: 0,
    images: 0,
    characters: null,
  })
  for (const usage of [undefined, { inputTokens: 1, outputTokens: 2 }])
    expect(rowOf(usage, null)).toMatchObject({
      input_tokens: usage ? 1 : null,
      cache_write_one_hour_tokens: null,
      input_audio_tokens: null,
      output_audio_tokens: null,
      input_image_tokens: null,
      output_image_tokens: null,
      images: null,
      audio_microseconds: null,
      characters: null,
      search_units: null,
    })
})
