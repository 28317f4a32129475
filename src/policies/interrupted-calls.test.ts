/** What the row of a call says whose process was killed: its journal has the intent alone. */
import { afterEach, expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { LedgerIntent } from '../core/ledger/ledger-columns.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Policy } from '../core/policy.ts'
import { leaveJournal, ledgerRig } from '../store/ledger/ledger-fixture.ts'
import { encodeIntent } from '../store/ledger/journal/ledger-record.ts'
import { recordLedger } from './record-ledger.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const deployment = (input: bigint | undefined, provider = 'openai') => ({
  prices: input === undefined ? null : { input, output: 4n * input },
  target: { provider: { name: provider }, model: 'upstream-model' },
})
/** Two and three dollars a million tokens. */
const [two, three] = [deployment(2_000_000_000n), deployment(3_000_000_000n, 'azure')]

const call = (changes: object) =>
  ({
    ...{ id: '0195-killed', startedAtMs: 1_763_710_000_000, route: '/v1/chat/completions', operation: 'chat' },
    ...{ model: 'm', stream: true, knownInputTokens: undefined, taken: {}, body: { size: 4000 }, candidates: [two] },
    caller: { key: { id: 'key-1', userId: null, teamId: null, organizationId: null } },
    models: { settings: { priceTerms: null } },
    ...changes,
  }) as unknown as Call

/** The row that the next process makes of what the killed one had journalled. */
async function rowOfKilled(changes: object) {
  const intents: LedgerIntent[] = []
  const ledger: Partial<Ledger> = { begin: intent => void intents.push(intent) }
  const policy: Policy = recordLedger(ledger as Ledger, 'writer')
  await policy.admit!(call(changes))
  const place = await rig.place()
  const journal = leaveJournal(place.journal, [], { start: '1700000000000-1-dead' })
  for (const intent of intents) journal.append(encodeIntent(intent))
  const reader = await rig.open(place)
  const { rows } = await reader.query({ limit: 10 })
  expect([rows.length, rig.problems]).toEqual([1, []])
  const { outcome, usage_source: usage, input_tokens: input, output_tokens: output } = rows[0]!
  const { cost_nano_usd: cost, cost_source: source, budget_nano_usd: charged } = rows[0]!
  return { outcome, usage, input, output, cost, source, charged }
}

const interrupted = { outcome: 'interrupted', output: null, charged: null }
const unknown = { ...interrupted, usage: 'none', input: null, cost: null, source: null }

test('a killed call without a budget costs what its input costs at least, marked as estimated', async () => {
  const estimated = { ...interrupted, usage: 'estimated', input: 1000 }
  expect(await rowOfKilled({})).toEqual({ ...estimated, cost: '2000000', source: 'input' })
  expect(await rowOfKilled({ candidates: [three, two] })).toEqual({ ...estimated, cost: '2000000', source: 'input' })
})

test('a discount of the operator holds for what is estimated', async () => {
  const half = { discountPpm: 500_000, marginPpm: 0, fixedNanoUsd: 0n }
  const priceTerms = { global: half, providers: {}, organizations: {}, teams: {}, keys: {} }
  expect(await rowOfKilled({ models: { settings: { priceTerms } } })).toMatchObject({
    cost: '1000000',
    source: 'input',
  })
})

test('without a known price the tokens are estimated and the cost stays unknown', async () => {
  const tokens = { ...interrupted, usage: 'estimated', input: 1000, cost: null, source: null }
  expect(await rowOfKilled({ candidates: [two, deployment(undefined)] })).toEqual(tokens)
})

test('a large body whose texts were not counted, and what is not priced by its texts, have no estimate', async () => {
  expect(await rowOfKilled({ body: { size: 100_000 } })).toEqual(unknown)
  expect(await rowOfKilled({ operation: 'transcriptions' })).toEqual(unknown)
  expect(await rowOfKilled({ candidates: [] })).toEqual(unknown)
  // A limit of tokens has counted it.
  expect(await rowOfKilled({ body: { size: 100_000 }, knownInputTokens: 500 })).toMatchObject({
    ...{ usage: 'estimated', input: 500, cost: '1000000', source: 'input' },
  })
})

test('a call with a budget costs what it had reserved, and no estimate of its input stands beside that', async () => {
  const reserved = { nanoUsd: 9000, boundNanoUsd: 9000, budgets: { scopes: [], list: ['writer', '0 key:key-1'] } }
  expect(await rowOfKilled({ taken: { reserved } })).toEqual({
    ...unknown,
    cost: '9000',
    source: 'reserved',
    charged: '9000',
  })
})
