/** The row of a call has everything that its cost was computed from: row and prices give the same sum. */
import { usageOfRow } from '../pricing/ledger-usage.ts'
import { expect, test } from 'bun:test'
import { costNanoUsd } from '../pricing/cost.ts'
import type { Call, Settlement } from '../core/call.ts'
import type { LedgerIntent, LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Usage } from '../core/usage/usage.ts'
import { budgetScopesOf } from '../core/tenancy/budget-charge.ts'
import { budgetOf } from '../store/limits/budget-fixture.ts'
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
  cacheReadAudio: 20_000_000_061n,
  cacheReadImage: 4_000_000_067n,
  cacheReadExplicit: 100_000_139n,
  inputVideo: 9_000_000_071n,
  outputVideo: 90_000_000_073n,
  videoSecond: 400_000_000_079n,
  page: 1_000_000_000_083n,
  webSearch: 10_000_000_000_089n,
  groundingQuery: 14_000_000_000_097n,
  fileSearch: 2_500_000_000_101n,
  codeSession: 30_000_000_000_103n,
  cacheStorageTokenHour: 1_000_000_107n,
  audioSecondsMin: 10,
  variants: { flex: { input: 1_500_000_109n, output: 7_500_000_113n }, fast: { input: 5n, output: 7_000_000_127n } },
  regionPercent: { us: 110 },
}
/** Of the model that another one asked for help. */
const advisor: Prices = { input: 5_000_000_131n, output: 25_000_000_137n }
const terms = { atMs: 0, pricesOfModel: (model: string) => (model === 'advisor' ? advisor : null) }

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
  { inputTokens: 800, outputTokens: 9, cachedInputTokens: 500, inputAudioTokens: 300, cachedAudioTokens: 200 },
  { inputTokens: 800, outputTokens: 9, cachedInputTokens: 500, inputImageTokens: 300, cachedImageTokens: 200 },
  { inputTokens: 800, outputTokens: 900, inputVideoTokens: 300, outputVideoTokens: 200 },
  { inputTokens: 800, outputTokens: 9, cachedInputTokens: 500, explicitCachedTokens: 400 },
  { inputTokens: 0, outputTokens: 0, videoSeconds: 8.5 },
  { inputTokens: 0, outputTokens: 0, pages: 12 },
  { inputTokens: 10, outputTokens: 20, webSearches: 3, fileSearches: 2, codeSessions: 1 },
  { inputTokens: 10, outputTokens: 20, groundedPrompts: 1, groundingQueries: 4 },
  { inputTokens: 10, outputTokens: 20, cacheStorageTokenHours: 2500.5 },
  { inputTokens: 1000, outputTokens: 20, served: { serviceTier: 'flex' } },
  { inputTokens: 1000, outputTokens: 20, served: { serviceTier: 'standard', speed: 'fast', region: 'us' } },
  {
    inputTokens: 1000,
    outputTokens: 20,
    otherModels: [{ model: 'advisor', usage: { inputTokens: 700, outputTokens: 15 } }],
  },
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
    attempt: undefined,
    progress: { firstByteMs: -1, attempts: 1 },
    clientAddress: '',
    userAgent: '',
    tags: [],
    candidates: [],
    overrides: {},
    models: { settings: { priceListVersion: '2026-11-20' } },
    caller: { role: 'key', key: { id: 'k', alias: null, userId: null, teamId: null } },
  }
  const settlement = {
    call,
    outcome: 'success',
    status: 200,
    error: undefined,
    usage,
    usageSource: 'upstream',
    priceTerms: '',
    costNanoUsd,
    costSource: 'prices',
    durationMs: 1,
  } as unknown as Settlement
  recordLedger(ledger, 'w').settled!(settlement)
  expect(rows.length).toBe(1)
  return rows[0]!
}

test('every cost can be made again from the row alone', () => {
  for (const usage of usages) {
    const cost = costNanoUsd(usage, prices, terms)
    const row = rowOf(usage, cost)
    expect(cost).toBeGreaterThan(0n)
    expect(row.cost_nano_usd).toBe(String(cost))
    expect(costNanoUsd(usageOfRow(row), prices, terms)).toBe(cost)
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

test('an intent says what the call has reserved, also what a further attempt reserves, or another model', () => {
  const intents: LedgerIntent[] = []
  const ledger = { begin: intent => intents.push(intent) } as Pick<Ledger, 'begin'> as Ledger
  const [own, next, provider] = [budgetOf(9, { id: 'key:k' }), budgetOf(9, { id: 'key:k:model:n' }), budgetOf(9)]
  const budgets = budgetScopesOf('w', [own])
  const call = {
    ...{ id: '0195', startedAtMs: 1, route: '/v1/x', operation: 'chat', model: 'm', stream: false, candidates: [] },
    taken: {},
    caller: { role: 'key', key: { id: 'k', alias: null, userId: null, teamId: null, organizationId: null } },
  } as unknown as Call
  const policy = recordLedger(ledger, 'w')
  void policy.admit!(call)
  void policy.admitAttempt!(call)
  call.taken.reserved = { budgets, nanoUsd: 100, boundNanoUsd: 100 }
  void policy.admit!(call)
  call.taken.reserved = { ...call.taken.reserved, nanoUsd: 150 }
  void policy.admitAttempt!(call)
  call.taken.byModel = [{ model: 'n', scopes: [next], nanoUsd: 70, taken: [] }]
  void policy.admitModel!(call, 'n')
  call.taken.atProviders = [{ scopes: [{ ...provider, id: 'provider:p' }], nanoUsd: 100 }]
  void policy.admitAttempt!(call)
  expect(intents.map(one => [one.budget_nano_usd, one.budget_scopes])).toEqual([
    [null, null],
    ['100', ['w', '0 key:k']],
    ['150', ['w', '0 key:k']],
    ['150', ['w', '0 key:k', '0:70 key:k:model:n']],
    ['150', ['w', '0 key:k', '0:70 key:k:model:n', '0:100 provider:p']],
  ])
})
