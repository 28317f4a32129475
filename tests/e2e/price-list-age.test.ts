/** How old the prices are: in the log at the start, in readiness and in the metrics. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'

type Json = Record<string, any>

const daySeconds = 86_400
let gateway: GatewayProcess | undefined
const folders: string[] = []
afterEach(async () => {
  await gateway?.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A gateway whose operator has a list, with its file's day `days` ago; and what it logs at its start. */
async function withList(list: Json, days: number): Promise<() => Json[]> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-price-age-'))
  folders.push(folder)
  const file = join(folder, 'prices.json')
  writeFileSync(
    file,
    JSON.stringify({ 'openai/own': { input_cost_per_token: 1e-6, output_cost_per_token: 0 }, ...list }),
  )
  const seconds = Date.now() / 1000 - days * daySeconds - 60
  utimesSync(file, seconds, seconds)
  const log = join(folder, 'log')
  const redirect = ['sh', '-c', `exec "$@" > ${log}`, 'sh']
  gateway = await startGatewayProcess(`prices: { source: "${file}" }\n`, { MODELGATE_LOG_LEVEL: 'info' }, redirect)
  return () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter(line => line.includes('the price list is old'))
      .map(line => JSON.parse(line) as Json)
}

const readiness = async () => ((await (await fetch(`${gateway!.url}/health/readiness`)).json()) as Json).price_list
async function ages(): Promise<Record<string, number>> {
  const text = await (await gateway!.admin('/metrics')).text()
  const found = [...text.matchAll(/^modelgate_price_list_age_seconds\{list="([^"]+)"\} (\d+)$/gm)]
  return Object.fromEntries(found.map(([, name, value]) => [name, Number(value)]))
}

test('a list whose file is older than thirty days is reported once, everywhere', async () => {
  const lines = await withList({}, 31)
  expect(lines()).toMatchObject([{ level: 'warn', list: 'operator', age_days: 31 }])
  expect(await readiness()).toMatchObject({ name: 'operator', age_days: 31, is_old: true })
  const { operator, 'built-in': builtIn } = await ages()
  expect(Math.floor(operator! / daySeconds)).toBe(31)
  expect(builtIn).toBeGreaterThanOrEqual(0)
})

test('a day inside of the list counts, and a fresh one is not reported', async () => {
  const day = new Date(Date.now() - 2 * daySeconds * 1000).toISOString().slice(0, 10)
  const lines = await withList({ updated_at: day }, 90)
  expect(lines()).toEqual([])
  expect(await readiness()).toEqual({ name: 'operator', date: day, age_days: 2, is_old: false })
})
