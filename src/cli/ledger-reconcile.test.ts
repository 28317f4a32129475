/** The ledger beside the vendors' cost reports, served in the shapes that their pages document. */
import { afterEach, describe, expect, test } from 'bun:test'
import { exampleRow, ledgerRig, record } from '../store/ledger/ledger-fixture.ts'
import { runCommand } from './cli-fixture.ts'
import { dayMs } from '../lib/clock.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const firstMs = Date.parse('2026-11-20T00:00:00Z')
const asked: { url: URL; headers: Headers }[] = []

/** An upstream that answers with these pages, one a request. */
function vendor(pages: readonly object[]): string {
  asked.length = 0
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      asked.push({ url: new URL(request.url), headers: request.headers })
      return Response.json(pages[asked.length - 1] ?? { error: 'no more pages' })
    },
  })
  rig.cleanups.push(() => server.stop(true))
  return server.url.href
}

/** A call that the vendor charges 1.5 dollars for, one of 0.25 that the caller pays more for, one without a price. */
async function ledgerOf(provider: string) {
  const place = await rig.place()
  const ledger = await rig.open(place)
  const row = { provider, upstream_model: 'model-a', started_at_ms: firstMs + 5 }
  record(ledger, exampleRow({ ...row, cost_nano_usd: '1500000000' }))
  const terms = { price_terms: '0,1000000,0', list_cost_nano_usd: '250000000', cost_nano_usd: '500000000' }
  record(ledger, exampleRow({ ...row, ...terms, started_at_ms: firstMs + dayMs }))
  record(ledger, exampleRow({ ...row, upstream_model: 'model-b', cost_nano_usd: null }))
  record(ledger, exampleRow({ ...row, provider: 'another' }))
  record(ledger, exampleRow({ ...row, started_at_ms: firstMs - 1 }))
  await ledger.close()
  return (environment: Record<string, string>, ...words: string[]) =>
    runCommand(
      ['ledger', 'reconcile', '--provider', provider, '--from', '2026-11-20', '--to', '2026-11-21', ...words],
      { DATABASE_URL: place.databaseUrl, ...environment },
    )
}

const bucket = (day: number, results: object[]) => ({
  object: 'bucket',
  start_time: (firstMs + day * dayMs) / 1000,
  end_time: (firstMs + (day + 1) * dayMs) / 1000,
  results: results.map(one => ({ object: 'organization.costs.result', project_id: null, ...one })),
})
const line = (line_item: string, value: number | string) => ({ amount: { value, currency: 'usd' }, line_item })

describe('OpenAI', () => {
  test('lines of a model are added up over pages, and compared by day', async () => {
    const url = vendor([
      {
        object: 'page',
        data: [bucket(0, [line('model-a, input', 0.5), line('model-a, output', 1)])],
        has_more: true,
        next_page: 'page-2',
      },
      {
        object: 'page',
        data: [bucket(1, [line('model-a, input', '0.2500000004')]), bucket(1, [line('web search', 0.06)])],
        has_more: false,
        next_page: null,
      },
    ])
    const run = await ledgerOf('openai')
    const found = await run({ OPENAI_ADMIN_KEY: 'sk-admin-x' }, '--base-url', url, '--json', '--tolerance', '3.4')
    expect(JSON.parse(found.out)).toEqual({
      ok: true,
      total: { vendor: '1.81', ledger: '1.75', difference: '-0.06' },
      days: [
        { day: '2026-11-20', model: 'model-a', unpriced: 0, vendor: '1.5', ledger: '1.5', difference: '0' },
        { day: '2026-11-20', model: 'model-b', unpriced: 1, vendor: '0', ledger: '0', difference: '0' },
        { day: '2026-11-21', model: 'model-a', unpriced: 0, vendor: '0.25', ledger: '0.25', difference: '0' },
        { day: '2026-11-21', model: 'web search', unpriced: 0, vendor: '0.06', ledger: '0', difference: '-0.06' },
      ],
    })
    expect(found.code).toBe(0)
    expect(asked.map(one => one.headers.get('authorization'))).toEqual(['Bearer sk-admin-x', 'Bearer sk-admin-x'])
    const query = Object.fromEntries(asked[1]!.url.searchParams)
    expect(asked[1]!.url.pathname).toBe('/v1/organization/costs')
    expect(query).toMatchObject({ start_time: String(firstMs / 1000), bucket_width: '1d', page: 'page-2' })
    expect(query.end_time).toBe(String((firstMs + 2 * dayMs) / 1000))
  })

  test('a difference above the tolerance is exit code 1; an answer that is no report is an error', async () => {
    const report = { data: [bucket(0, [line('model-a, input', 2)])], has_more: false, next_page: null }
    const run = await ledgerOf('openai')
    const environment = { OPENAI_ADMIN_KEY: 'k' }
    const off = await run(environment, '--base-url', vendor([report]))
    expect(off.code).toBe(1)
    expect(off.out).toMatch(/\nall +2 +1\.75 +-0\.25/)
    const broken = await run(environment, '--base-url', vendor([{ error: 'x' }]))
    expect(broken).toMatchObject({ code: 1, error: expect.stringContaining('did not answer with a cost report') })
    const wrong = { data: [bucket(0, [line('model-a', 'much')])], has_more: false }
    expect((await run(environment, '--base-url', vendor([wrong]))).error).toContain('an amount that is no number: much')
    expect(await run({})).toMatchObject({ code: 2, error: expect.stringContaining('set OPENAI_ADMIN_KEY') })
  })
})

test('Anthropic: cents as decimal text, by model', async () => {
  const result = { currency: 'USD', cost_type: 'tokens', token_type: 'output_tokens', service_tier: 'standard' }
  const url = vendor([
    {
      data: [
        {
          starting_at: '2026-11-20T00:00:00Z',
          ending_at: '2026-11-21T00:00:00Z',
          results: [
            { ...result, model: 'model-a', amount: '149.9999' },
            { ...result, model: 'model-a', amount: '0.0001' },
            { ...result, cost_type: 'web_search', model: null, amount: '1' },
          ],
        },
      ],
      has_more: false,
      next_page: null,
    },
  ])
  const run = await ledgerOf('anthropic')
  const found = await run({ ANTHROPIC_ADMIN_API_KEY: 'sk-ant-admin' }, '--base-url', url, '--json')
  const { days } = JSON.parse(found.out) as { days: { model: string; vendor: string; difference: string }[] }
  expect(days.map(one => [one.model, one.vendor, one.difference])).toEqual([
    ['model-a', '1.5', '0'],
    ['model-b', '0', '0'],
    ['web_search', '0.01', '-0.01'],
    ['model-a', '0', '0.25'],
  ])
  expect(asked[0]!.headers.get('x-api-key')).toBe('sk-ant-admin')
  expect(Object.fromEntries(asked[0]!.url.searchParams)).toMatchObject({
    starting_at: '2026-11-20T00:00:00.000Z',
    ending_at: '2026-11-22T00:00:00.000Z',
    'group_by[]': 'description',
  })
})
