import { afterEach, expect, test } from 'bun:test'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { catalogueEntry, priceListVersion, useOperatorList } from './catalogue.ts'
import { OperatorList } from './operator-list.ts'
import type { ListPins } from './operator-list.ts'
import { builtInList } from './price-list.ts'

afterEach(() => useOperatorList(undefined))

const entries = {
  sample_spec: { input_cost_per_token: 0 },
  'gpt-9': { litellm_provider: 'openai', input_cost_per_token: 1e-6, output_cost_per_token: 4e-6, mode: 'chat' },
  'azure/gpt-9': { litellm_provider: 'azure', input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
  'together_ai/acme/Big-1': { input_cost_per_token: '3e-6', output_cost_per_token: 3e-6, max_input_tokens: 1000 },
  'house-model': { input_cost_per_token: 5e-6, output_cost_per_token: 5e-6, supports_vision: true },
  'gpt-5.5': { litellm_provider: 'openai', input_cost_per_token: 0, output_cost_per_token: 0, max_output_tokens: 7 },
}
const bytesOf = (list: unknown) => Buffer.from(JSON.stringify(list))
const read = (list: unknown, pins?: ListPins, signature?: string) =>
  OperatorList.read(bytesOf(list), 'prices.json', pins, signature)
const input = (provider: string, model: string) => catalogueEntry(provider, model)?.prices?.input

test('its models win over the built-in list, by provider and name', () => {
  useOperatorList(read(entries))
  expect(input('openai', 'gpt-9')).toBe(1_000_000_000n)
  expect(input('openai', 'gpt-9-2027-01-01')).toBe(1_000_000_000n)
  expect(input('azure', 'gpt-9')).toBe(2_000_000_000n)
  expect(input('groq', 'gpt-9')).toBeUndefined()
  expect(input('together_ai', 'acme/Big-1')).toBe(3_000_000_000n)
  expect(input('deepinfra', 'acme/Big-1')).toBeUndefined()
  expect(input('custom_openai', 'house-model')).toBe(5_000_000_000n)
  expect(catalogueEntry('together_ai', 'acme/Big-1')!.capabilities).toEqual({ max_input_tokens: 1000 })
  expect(catalogueEntry('openai', 'gpt-9')!.lists).toEqual(['prices.json'])
})

test('an entry without a price leaves the built-in one, and states its limits', () => {
  useOperatorList(read(entries))
  const entry = catalogueEntry('openai', 'gpt-5.5')!
  expect([entry.prices!.input, entry.capabilities.max_output_tokens]).toEqual([5_000_000_000n, 7])
  expect(entry.lists).toEqual(['genai-prices', 'model-prices', 'litellm'])
})

test('the version names both lists', () => {
  const { version } = builtInList()
  expect(priceListVersion()).toBe(version)
  const list = read(entries)
  useOperatorList(list)
  expect(priceListVersion()).toBe(`${version}+${list.sha256.slice(0, 12)}`)
  expect(list.sha256).toBe(createHash('sha256').update(bytesOf(entries)).digest('hex'))
})

test('what a dearer variant lacks is unknown, a cheaper one keeps the standard price', () => {
  const variants = {
    input_cost_per_token: 2e-6,
    output_cost_per_token: 8e-6,
    cache_read_input_token_cost: 2e-7,
    input_cost_per_token_priority: 4e-6,
    output_cost_per_token_priority: 1.6e-5,
    input_cost_per_token_flex: 1e-6,
    output_cost_per_token_flex: 4e-6,
  }
  useOperatorList(read({ 'openai/gpt-9': variants }))
  expect(catalogueEntry('openai', 'gpt-9')!.prices!.variants).toEqual({
    flex: { input: 1_000_000_000n, output: 4_000_000_000n, cacheRead: 200_000_000n },
    priority: { input: 4_000_000_000n, output: 16_000_000_000n, unknown: ['cacheRead'] },
  })
})

test('what is no list is refused with the reason', () => {
  const wrong = (bytes: string) => () => OperatorList.read(Buffer.from(bytes), 'prices.json')
  expect(wrong('{')).toThrow(/^prices\.json: is no JSON: .*; give a file in LiteLLM's shape$/)
  expect(wrong('[]')).toThrow('must be an object of entries')
  expect(wrong('{"a":{"mode":"chat"}}')).toThrow('has no model with a price')
})

test('a pinned list has the hash, a signed one the signature', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64')
  const signature = sign(null, bytesOf(entries), privateKey).toString('base64')
  const sha256 = createHash('sha256').update(bytesOf(entries)).digest('hex').toUpperCase()
  expect(read(entries, { sha256, publicKey: key }, `${signature}\n`).priced).toBe(4)
  expect(() => read({ ...entries, more: {} }, { sha256 })).toThrow('and `sha256` is another')
  for (const other of [undefined, '', Buffer.from('x').toString('base64')])
    expect(() => read(entries, { publicKey: key }, other)).toThrow('its signature (prices.json.sig) is not one by')
  expect(() => read({ ...entries, more: {} }, { publicKey: key }, signature)).toThrow('is not one by `public_key`')
})
