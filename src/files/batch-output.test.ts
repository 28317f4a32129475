/** A batch whose cost does not follow from its totals is priced line by line. */
import { expect, test } from 'bun:test'
import type { AnswerSink, AnswerStream } from '../core/answer.ts'
import type { Deployment } from '../core/deployment.ts'
import type { EndedCall, Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileCall } from '../core/objects/files.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Client } from '../core/request.ts'
import type { Json } from '../lib/json/json-values.ts'
import { refreshedBatch } from './batch-state.ts'

/** developers.openai.com, "Pricing", batch (2026-11): gpt-5.4, and gpt-4.1-mini. */
const tiered: Prices = {
  input: 2_500_000_000n,
  output: 15_000_000_000n,
  variants: {
    batch: {
      input: 1_250_000_000n,
      output: 7_500_000_000n,
      tiers: [{ fromInputTokens: 272_001, prices: { input: 2_500_000_000n, output: 11_250_000_000n } }],
    },
  },
}
const small: Prices = { input: 1n, output: 1n, variants: { batch: { input: 200_000_000n, output: 800_000_000n } } }

const line = (id: string, model: string, input: number, output: number): string =>
  JSON.stringify({
    custom_id: id,
    response: {
      status_code: 200,
      body: { object: 'chat.completion', model, usage: { prompt_tokens: input, completion_tokens: output } },
    },
    error: null,
  })
const failed = JSON.stringify({ custom_id: 'f', response: { status_code: 400, body: { error: {} } }, error: null })

interface Made {
  readonly file: string | undefined
  /** Thrown in the place of the file. */
  readonly failure?: GatewayError
  /** After so many bytes the upstream closes the connection. */
  readonly cutAt?: number
  /** Of the batch as its upstream reports it. */
  readonly fields?: Json
  readonly nowMs?: number
  readonly models?: Readonly<Record<string, Prices | null>>
  readonly usage?: Json
}

/** In pieces that cut lines and characters. */
function streamOf(text: string, cutAt = Infinity): AnswerStream {
  const bytes = Buffer.from(text).subarray(0, cutAt)
  return {
    pipe(sink: AnswerSink) {
      for (let at = 0; at < bytes.length; at += 7) sink.write(bytes.subarray(at, at + 7))
      if (bytes.length < text.length) sink.abort()
      else sink.end()
    },
    resume() {},
    cancel() {},
  }
}

async function look({ file, models = { 'gpt-5.4': tiered }, usage, failure, cutAt, fields, nowMs = 2000 }: Made) {
  const ended: EndedCall[] = []
  const calls: FileCall[] = []
  const account = { name: 'up', files: { head: () => ({ url: 'https://up', headers: {} }) } }
  const all = Object.entries(models).map(
    ([model, prices], at) =>
      ({ id: `d${at}`, target: { provider: account, model, options: {} }, prices }) as unknown as Deployment,
  )
  const names = Object.keys(models)
  const services = {
    clock: { epochMs: () => nowMs },
    current: {
      settings: { deployments: all },
      models: { ofTeam: () => ({ resolve: (name: string) => [all[names.indexOf(name)]!] }) },
    },
    keys: { find: async () => undefined },
    tenants: { compile: async (key: object) => ({ role: 'key', key }) },
    files: {
      leaseBatch: async () => true,
      update: async () => true,
      batchSettled: async () => true,
      put: async (made: FileRecord) => made,
      findUpstream: async () => undefined,
    },
    fileCalls: {
      async content(call: FileCall) {
        calls.push(call)
        if (failure) throw failure
        if (file === undefined) throw new GatewayError('upstream-refused', 'gone')
        return { stream: streamOf(file, cutAt), contentType: undefined, over: Promise.resolve('success') }
      },
    },
    ledger: { query: async () => ({ rows: [], nextCursor: null }), flush: async () => true },
    limiter: { stored() {} },
    settleEnded: (one: EndedCall) => void ended.push(one),
  } as unknown as Services
  const record = {
    id: 'batch_0195',
    kind: 'batch',
    keyId: 'k',
    deploymentId: 'd0',
    upstreamId: 'up',
    models: names,
    createdAtMs: 1000,
    body: { output_file_id: 'file-known' },
    recorded: false,
    owner: null,
  } as unknown as FileRecord
  const client: Client = { clientAddress: '', left: false, onLeft: () => {} }
  const answer = { id: 'up', status: 'completed', output_file_id: 'file-up/1', ...(usage && { usage }), ...fields }
  const shown = await refreshedBatch(services, record, answer, { request: client })
  return { shown, ended, paths: calls.map(call => call.path) }
}

async function settled(made: Made) {
  const { ended, paths } = await look(made)
  return { cost: ended[0]!.costNanoUsd, usage: ended[0]!.usage, paths }
}

const totals = (input: number, output: number) => ({ input_tokens: input, output_tokens: output })
const file = `${line('a', 'gpt-5.4-2026-03-05', 200_000, 100)}\n${line('b', 'gpt-5.4', 100_000, 900)}\n`

test('each request has the tier of its own length, not that of the sum', async () => {
  const { cost, usage, paths } = await settled({ file, usage: totals(300_000, 1000) })
  expect(cost).toBe(300_000n * 1250n + 1000n * 7500n)
  expect(usage).toMatchObject({ inputTokens: 300_000, outputTokens: 1000, served: { serviceTier: 'batch' } })
  expect(paths).toEqual(['/files/file-up%2F1/content'])
})

test('a request beyond the edge has the long price', async () => {
  const long = `${line('a', 'gpt-5.4', 272_001, 10)}\n${failed}\n${line('b', 'gpt-5.4', 10, 10)}`
  const { cost } = await settled({ file: long, usage: totals(272_011, 20) })
  expect(cost).toBe(272_001n * 2500n + 10n * 11_250n + 10n * 1250n + 10n * 7500n)
})

test('several models: each line at the prices of its own', async () => {
  const models = { 'gpt-5.4': tiered, 'gpt-4.1-mini': small }
  const both = `${line('a', 'gpt-5.4', 1000, 10)}\n${line('b', 'gpt-4.1-mini-2025-04-14', 2000, 20)}\n`
  const { cost } = await settled({ file: both, models, usage: totals(3000, 30) })
  expect(cost).toBe(1000n * 1250n + 10n * 7500n + 2000n * 200n + 20n * 800n)
  const other = `${both}${line('c', 'gpt-4.1-nano', 1, 1)}\n`
  expect((await settled({ file: other, models, usage: totals(3001, 31) })).cost).toBeNull()
})

test('usage that the batch does not report is that of its lines', async () => {
  const { cost, usage } = await settled({ file })
  expect(usage).toMatchObject({ inputTokens: 300_000, outputTokens: 1000 })
  expect(cost).toBe(300_000n * 1250n + 1000n * 7500n)
})

test('where the cost follows from the sum no file is read', async () => {
  const { cost, paths } = await settled({ file, usage: totals(1000, 10) })
  expect(cost).toBe(1000n * 1250n + 10n * 7500n)
  expect(paths).toEqual([])
})

test('a file that cannot be read leaves the cost unknown, and the usage as reported', async () => {
  for (const broken of [undefined, 'no json\n', '[1]\n'])
    expect(await settled({ file: broken, usage: totals(300_000, 1000) })).toMatchObject({
      cost: null,
      usage: { inputTokens: 300_000 },
    })
})

test.each([
  ['the connection is cut in the file', { file, cutAt: 150 }],
  ['the upstream is overloaded', { file, failure: new GatewayError('upstream-overloaded', 'later') }],
  ['lines are missing', { file, fields: { request_counts: { completed: 3 } } }],
] as const)('%s: the batch is shown, and settled by a later look', async (_, made) => {
  const now = { ...made, usage: totals(300_000, 1000) }
  const { ended, shown } = await look(now)
  expect([ended, shown.status]).toEqual([[], 'completed'])
  expect(await settled({ ...now, nowMs: 40 * 3_600_000 })).toMatchObject({
    cost: null,
    usage: { inputTokens: 300_000 },
  })
  expect((await settled({ ...now, cutAt: Infinity, failure: undefined!, fields: {} })).cost).not.toBeNull()
})

test('an answer that stands twice in the file is charged once', async () => {
  expect((await settled({ file: file + file })).cost).toBe(300_000n * 1250n + 1000n * 7500n)
})

const answerOf = (id: string, usage?: Json): string =>
  JSON.stringify({ custom_id: id, response: { status_code: 200, body: { model: 'gpt-5.4', ...(usage && { usage }) } } })

test.each([
  ['none', undefined],
  ['a negative one', { prompt_tokens: -5, completion_tokens: 5 }],
  ['a fractional one', { prompt_tokens: 1.5, completion_tokens: 5 }],
  ['one as a text', { prompt_tokens: '10', completion_tokens: 5 }],
])('the cost of an answer whose usage is missing or a lie is not nothing: %s', async (_, usage) => {
  const lying = `${file}${answerOf('c', usage)}\n`
  expect(await settled({ file: lying })).toMatchObject({ cost: null, usage: { inputTokens: 300_000 } })
  const free = { 'gpt-5.4': { input: 0n, output: 0n } }
  expect((await settled({ file: lying, models: free })).cost).toBe(0n)
})

test('a sum of zeros beside answers is none: the lines are read', async () => {
  const zeros = { usage: totals(0, 0), models: { 'gpt-4.1-mini': small } }
  const one = line('a', 'gpt-4.1-mini', 1000, 10)
  expect(await settled({ file: one, ...zeros })).toMatchObject({
    cost: 1000n * 200n + 10n * 800n,
    usage: { inputTokens: 1000, outputTokens: 10 },
  })
  expect((await settled({ file: failed, ...zeros, fields: { request_counts: { completed: 0 } } })).cost).toBe(0n)
  for (const body of [{ error: { code: 429, message: 'slow' } }, { type: 'error', error: { message: 'no' } }]) {
    const refused = JSON.stringify({ custom_id: 'g', response: { status_code: 200, body }, error: null })
    expect((await settled({ file: refused, ...zeros, fields: { request_counts: { completed: 0 } } })).cost).toBe(0n)
  }
})
