/** `prices` of the configuration: read with the file, and again when the list changes. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providers } from '../../providers/index.ts'
import type { ReloadReport } from '../serve-options.ts'
import { ConfigError, openSettings } from '../settings-source.ts'
import type { SettingsSource } from '../settings-source.ts'
import { operatorListInForce, useOperatorList } from './catalogue.ts'

// The file is looked at every two seconds.

let folder: string
const open: SettingsSource[] = []
const list = (price: number) =>
  JSON.stringify({ 'openai/own': { input_cost_per_token: price, output_cost_per_token: 0 } })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-prices-'))
})
afterEach(() => {
  for (const source of open.splice(0)) source.close()
  useOperatorList(undefined)
  rmSync(folder, { recursive: true, force: true })
})

async function source(prices: string): Promise<SettingsSource> {
  const file = join(folder, 'config.yaml')
  const models =
    'model_list:\n  - { model_name: own, proxy_params: { model: openai/own, api_key: k } }\n' +
    '  - { model_name: any/*, proxy_params: { model: openai/*, api_key: k } }\n'
  writeFileSync(file, `${models}prices: ${prices}\n`)
  const opened = await openSettings({ configFile: file, environment: {}, providers })
  open.push(opened)
  return opened
}

const inputPrice = (opened: SettingsSource) => opened.current().deployments[0]!.prices?.input

/** The next report of a watched source. */
function nextOf(opened: SettingsSource): () => Promise<ReloadReport> {
  const seen: ReloadReport[] = []
  opened.watch(report => seen.push(report))
  return async () => {
    for (let turn = 0; turn < 500 && seen.length === 0; turn++) await Bun.sleep(20)
    const [report] = seen.splice(0, 1)
    if (!report) throw new Error('nothing was reported within 10 s')
    return report
  }
}

/** Skips the report of the configuration file, which is read once when it begins to be watched. */
async function until(next: () => Promise<ReloadReport>, holds: () => boolean): Promise<void> {
  while (!holds()) await next()
}

test('a file beside the configuration is read with it, and again when it changes', async () => {
  const file = join(folder, 'prices.json')
  writeFileSync(file, list(1e-6))
  const opened = await source('{ source: prices.json }')
  expect(inputPrice(opened)).toBe(1_000_000_000n)
  const next = nextOf(opened)
  await Bun.sleep(0)
  writeFileSync(file, list(2e-6))
  await until(next, () => inputPrice(opened) === 2_000_000_000n)
  // A list with a mistake changes nothing.
  writeFileSync(file, '{')
  const report = await next()
  expect(report).toEqual({
    applied: false,
    problems: [expect.stringMatching(/config\.yaml:4:19 prices\.source: prices\.json: is no JSON/)],
  })
  expect([inputPrice(opened), operatorListInForce()!.priced]).toEqual([2_000_000_000n, 1])
})

test('a list is of the day that it says, else of the day of its file', async () => {
  const file = join(folder, 'prices.json')
  const names = (opened: SettingsSource) => opened.current().priceLists.map(one => one.name)
  writeFileSync(file, list(1e-6))
  utimesSync(file, 1_700_000_000, 1_700_000_000)
  const byFile = await source('{ source: prices.json }')
  expect([names(byFile), byFile.current().priceLists[0]!.datedMs]).toEqual([
    ['operator', 'built-in'],
    1_700_000_000_000,
  ])
  writeFileSync(file, JSON.stringify({ updated_at: '2026-10-01', ...JSON.parse(list(1e-6)) }))
  expect((await source('{ source: prices.json }')).current().priceLists[0]!.datedMs).toBe(Date.parse('2026-10-01'))
  writeFileSync(file, JSON.stringify({ updated_at: 'yesterday', ...JSON.parse(list(1e-6)) }))
  await expect(source('{ source: prices.json }')).rejects.toThrow('`updated_at` must be a day such as 2026-11-29')
})

test('a configuration whose list is missing or not the pinned one is refused', async () => {
  await expect(source('{ source: none.json }')).rejects.toThrow(ConfigError)
  writeFileSync(join(folder, 'prices.json'), list(1e-6))
  await expect(source(`{ source: prices.json, sha256: ${'ab'.repeat(32)} }`)).rejects.toThrow('and `sha256` is another')
  await expect(source('{ source: "http://prices.example.com/list.json" }')).rejects.toThrow('an address with https://')
  expect(operatorListInForce()).toBeUndefined()
})

test('a list at an address is brought before serving, and until then the built-in prices hold', async () => {
  const modified = 'Sun, 01 Nov 2026 00:00:00 GMT'
  let answer = () => new Response(list(3e-6), { headers: { 'last-modified': modified } })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => answer() })
  try {
    const opened = await source(`{ source: "${server.url.href}list.json" }`)
    expect(inputPrice(opened)).toBeUndefined()
    expect(opened.current().warnings[0]).toContain('prices.source: is read when the gateway runs')
    expect(await opened.fetchPrices()).toEqual({ applied: true, problems: [] })
    expect(inputPrice(opened)).toBe(3_000_000_000n)
    expect(opened.current().priceLists[0]).toEqual({ name: 'operator', datedMs: Date.parse(modified) })
    expect(await opened.fetchPrices()).toBeUndefined()
    answer = () => new Response('gone', { status: 404 })
    expect(await opened.fetchPrices()).toEqual({
      applied: false,
      problems: [expect.stringMatching(/^prices: http.*list\.json could not be read: it answered with status 404; /)],
    })
    expect(inputPrice(opened)).toBe(3_000_000_000n)
  } finally {
    await server.stop(true)
  }
})
