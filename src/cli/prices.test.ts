/** `modelgate prices ...` */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useOperatorList } from '../config/prices/catalogue.ts'
import { runCommand } from './cli-fixture.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-prices-'))
})
afterEach(() => {
  useOperatorList(undefined)
  rmSync(folder, { recursive: true, force: true })
})

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const run = (...words: string[]) => runCommand(['prices', ...words], {})
const list = JSON.stringify({
  'gpt-5.5': { litellm_provider: 'openai', input_cost_per_token: 7e-6, output_cost_per_token: 3e-5 },
  'openai/gpt-next': { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
})

test('explain shows every price with what it holds for, and the lists it is from', async () => {
  const { code, out } = await run('explain', 'openai/gpt-5.5')
  expect(code).toBe(0)
  expect(out).toContain('row openai/gpt-5.5, of genai-prices, model-prices, litellm')
  expect(out).toMatch(/^input +\$5\.00 for a million +genai-prices, model-prices, litellm$/m)
  expect(out).toMatch(/^output +\$75\.00 for a million +priority +genai-prices, model-prices, litellm$/m)
  expect(out).toMatch(/^input +\$10\.00 for a million +from 272,001 input tokens +genai-prices, .+ litellm$/m)
  const json = JSON.parse((await run('explain', 'gpt-5.5', '--json')).out) as { price_source: string }[]
  expect(json[0]).toMatchObject({ upstream: 'openai/gpt-5.5', price_source: 'catalogue', row: 'openai/gpt-5.5' })
})

test('explain shows of a configured model what the configuration says', async () => {
  const config = file(
    'config.yaml',
    'model_list:\n  - model_name: mine\n    proxy_params: { model: azure/my-deployment, api_key: k, ' +
      'api_base: "https://x.openai.azure.com", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }\n' +
      '    model_info: { base_model: azure/gpt-4o }\n',
  )
  const { code, out } = await run('explain', 'mine', '--config', config)
  expect(code).toBe(0)
  expect(out).toContain('source: the configuration, over price list')
  expect(out).toContain('row azure/gpt-4o')
  expect(out).toMatch(/^input +\$1\.00 for a million$/m)
})

/** Names of Bedrock as configurations, lists and AWS write them: [name, its row, its place]. */
test.each([
  ['bedrock/amazon.nova-pro-v1:0', 'bedrock/us.amazon.nova-pro-v1:0', 'us-east-1'],
  ['amazon.nova-pro-v1:0', 'bedrock/us.amazon.nova-pro-v1:0', 'us-east-1'],
  ['bedrock/us-gov-west-1/amazon.nova-pro-v1:0', 'bedrock/us-gov-west-1/amazon.nova-pro-v1:0', 'us-gov-west-1'],
  ['bedrock/eu-west-2/minimax.minimax-m2.5', 'bedrock/eu-west-2/minimax.minimax-m2.5', 'eu-west-2'],
  ['bedrock/converse/us.amazon.nova-pro-v1:0', 'bedrock/us.amazon.nova-pro-v1:0', 'us-east-1'],
  ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'eu-west-1'],
  [
    'arn:aws:bedrock:eu-west-3:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'eu-west-3',
  ],
  [
    'bedrock/arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-pro-v1:0',
    'bedrock/us-gov-west-1/amazon.nova-pro-v1:0',
    'us-gov-west-1',
  ],
])('explain of %s is by the row %s in %s', async (name, row, place) => {
  const { code, out, error } = await run('explain', name, '--json')
  expect([code, error]).toEqual([0, ''])
  expect(JSON.parse(out)).toMatchObject([{ row, place, prices: expect.arrayContaining([expect.anything()]) }])
})

test('explain of a Claude in a region of Bedrock has its tenth more, and an ARN that hides its model says so', async () => {
  const input = async (name: string): Promise<number> => {
    const [{ prices }] = JSON.parse((await run('explain', name, '--json')).out) as [
      { prices: { unit: string; when: string; dollars: number }[] },
    ]
    return prices.find(one => one.unit === 'input' && one.when === '')!.dollars
  }
  expect(await input('bedrock/us-east-1/anthropic.claude-sonnet-4-5-20250929-v1:0')).toBe(3.3)
  expect(await input('bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0')).toBe(3)
  expect(await run('explain', 'bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/abc')).toMatchObject({
    code: 1,
    error: expect.stringContaining('does not name its model; configure it with `model_info.base_model`'),
  })
})

test('explain of a model without a price is a failure that says so', async () => {
  expect(await run('explain', 'deepseek/deepseek-chat')).toMatchObject({
    code: 1,
    out: expect.stringContaining('no price is known: calls cost null'),
  })
  expect(await run('explain', 'openai/gpt-5.5x')).toMatchObject({
    code: 1,
    error: expect.stringContaining("did you mean 'openai/gpt-5.5'?"),
  })
  expect((await run('explain')).code).toBe(2)
})

test('diff shows on what a list differs from the built-in one', async () => {
  const path = file('prices.json', list)
  const { code, out } = await run('diff', path)
  expect(code).toBe(0)
  expect(out).toMatch(/^openai\/gpt-5\.5 +input +\$5\.00 for a million +\$7\.00 for a million$/m)
  expect(out).toMatch(/^openai\/gpt-5\.5 +cacheRead +\$0\.50 for a million +unknown$/m)
  expect(out).not.toMatch(/ output /)
  const config = file('config.yaml', 'prices: { source: prices.json }\n')
  expect((await run('diff', '--config', config)).out).toBe(out)
  expect((await run('diff')).code).toBe(2)
})

test('update writes the list where there is none, and over a damaged one', async () => {
  const from = file('from.json', list)
  const config = file('config.yaml', 'prices: { source: prices.json }\n')
  const target = join(folder, 'prices.json')
  for (const present of [undefined, '{"damaged', '[]', '']) {
    if (present !== undefined) writeFileSync(target, present)
    expect((await run('update', '--from', from, '--config', config)).code).toBe(0)
    expect(readFileSync(target, 'utf8')).toBe(list)
    writeFileSync(target, list)
  }
  writeFileSync(target, '{"damaged')
  const failed = await run('explain', 'openai/gpt-5.5', '--config', config)
  expect([failed.code, failed.error]).toEqual([1, expect.stringContaining('`modelgate prices update` brings a list')])
})

test('update writes the list where the configuration reads it, or nothing', async () => {
  const from = file('from.json', list)
  const target = file('prices.json', JSON.stringify({ 'openai/old': { input_cost_per_token: 1e-6 } }))
  const config = file('config.yaml', 'prices: { source: prices.json }\n')
  const { code, out } = await run('update', '--from', from, '--config', config)
  expect([code, out]).toEqual([0, expect.stringContaining(`${target}: 2 models with a price, SHA-256 `)])
  expect(readFileSync(target, 'utf8')).toBe(list)
  const pinned = await run('update', '--from', from, '--config', config, '--sha256', '0'.repeat(64))
  expect([pinned.code, pinned.error]).toEqual([1, expect.stringContaining('and `sha256` is another')])
  expect((await run('update', '--from', file('bad.json', '{'), '--config', config)).code).toBe(1)
  expect(readFileSync(target, 'utf8')).toBe(list)
  expect(readdirSync(folder).sort()).toEqual(['bad.json', 'config.yaml', 'from.json', 'prices.json'])
})
