import { afterEach, expect, test } from 'bun:test'
import { catalogueEntry, useOperatorList } from './catalogue.ts'
import { OperatorList } from './operator-list.ts'
import { builtInModels } from './price-list.ts'
import { catalogPrices } from './prices.ts'

afterEach(() => useOperatorList(undefined))

const input = (model: string, region: string) => catalogPrices('bedrock', model, region)?.input
const rowOf = (model: string, region: string) => catalogueEntry('bedrock', model, region)?.name
const perMillion = (dollars: number) => BigInt(Math.round(dollars * 1e9))

test('every row of a region is the price of its model there', () => {
  const rows = [...builtInModels('bedrock').keys()].filter(name => /^[a-z-]+-\d\//.test(name))
  expect(rows.length).toBeGreaterThan(120)
  for (const row of rows) {
    const [region = '', model = ''] = row.split('/')
    expect(rowOf(model, region)).toBe(row)
  }
})

test('the closest row counts: the region, then its geography, then the model', () => {
  const rows: [model: string, region: string, row: string][] = [
    ['minimax.minimax-m2.5', 'eu-west-2', 'eu-west-2/minimax.minimax-m2.5'],
    ['minimax.minimax-m2.5', 'us-west-1', 'minimax.minimax-m2.5'],
    ['amazon.nova-pro-v1:0', 'ap-south-1', 'apac.amazon.nova-pro-v1:0'],
    ['eu.amazon.nova-pro-v1:0', 'eu-west-1', 'eu.amazon.nova-pro-v1:0'],
    ['eu.minimax.minimax-m2.5', 'eu-west-2', 'eu-west-2/minimax.minimax-m2.5'],
    ['anthropic.claude-opus-4-6-v1', 'us-east-1', 'us.anthropic.claude-opus-4-6-v1'],
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'ap-southeast-2', 'au.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['anthropic.claude-sonnet-4-6', 'ap-northeast-1', 'jp.anthropic.claude-sonnet-4-6'],
  ]
  for (const [model, region, row] of rows) expect([model, region, rowOf(model, region)]).toEqual([model, region, row])
  expect(rowOf('global.amazon.nova-2-lite-v1:0', 'eu-west-1')).toBe('global.amazon.nova-2-lite-v1:0')
})

test('a region that no list has costs what the dearest of its continent does, and is marked', () => {
  const entry = catalogueEntry('bedrock', 'minimax.minimax-m2.5', 'eu-west-3')!
  expect([entry.name, [...entry.disputed].slice(0, 2)]).toEqual(['eu-west-2/minimax.minimax-m2.5', ['input', 'output']])
  expect(catalogueEntry('bedrock', 'minimax.minimax-m2.5', 'us-west-2')!.disputed.size).toBe(0)
})

test('Claude without a row of its region costs a tenth more than at the global endpoint', () => {
  expect(input('anthropic.claude-opus-4-6-v1', 'sa-east-1')).toBe(perMillion(5.5))
  expect(input('ca.anthropic.claude-opus-4-6-v1', 'ca-central-1')).toBe(perMillion(5.5))
  expect(input('global.anthropic.claude-opus-4-6-v1', 'sa-east-1')).toBe(perMillion(5))
  expect(input('anthropic.claude-v2:1', 'sa-east-1')).toBe(perMillion(8))
})

const listOf = (entries: object) => OperatorList.read(Buffer.from(JSON.stringify(entries)), 'prices.json')
const bedrock = { litellm_provider: 'bedrock_converse', output_cost_per_token: 0.000002 }

test("rows of a region in the operator's list are read, and win over what is less close", () => {
  useOperatorList(
    listOf({
      'bedrock/eu-west-2/minimax.minimax-m2.5': { ...bedrock, input_cost_per_token: 0.0000005 },
      'bedrock/eu-north-1/acme.big-v1:0': { ...bedrock, input_cost_per_token: 0.000007 },
      'minimax.minimax-m2.5': { ...bedrock, input_cost_per_token: 0.0000001 },
    }),
  )
  expect(input('minimax.minimax-m2.5', 'eu-west-2')).toBe(perMillion(0.5))
  expect(input('minimax.minimax-m2.5', 'us-east-2')).toBe(perMillion(0.1))
  expect(input('eu.acme.big-v1:0', 'eu-north-1')).toBe(perMillion(7))
  expect(input('acme.big-v1:0', 'eu-west-1')).toBeUndefined()
})

test("a built-in row of the region holds beside an operator's list that has the same price without a region", () => {
  const listed = { ...bedrock, input_cost_per_token: 0.0000003, output_cost_per_token: 0.0000012 }
  useOperatorList(listOf({ 'minimax.minimax-m2.5': listed }))
  expect(input('minimax.minimax-m2.5', 'eu-central-1')).toBe(perMillion(0.36))
  useOperatorList(listOf({ 'minimax.minimax-m2.5': { ...listed, input_cost_per_token: 0.00000025 } }))
  expect(input('minimax.minimax-m2.5', 'eu-central-1')).toBe(perMillion(0.25))
})
