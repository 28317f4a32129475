/** Clients, scripts and dashboards of LiteLLM go on: its headers of requests and answers, and fields that they read. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
let key: string
beforeAll(async () => {
  const entry = (name: string, model: string, upstreamKey = 'any') =>
    `  - { model_name: ${name}, litellm_params: { model: "${model}", api_base: "{simulator}/v1", api_key: ${upstreamKey} } }\n`
  const models = entry('gpt-4o', 'openai/gpt-4o') + entry('slow', 'openai/gpt-4o#slow;ms=20000')
  const failing = ['a', 'b', 'c'].map(one => entry('failing', 'openai/gpt-4o#status;code=500', one)).join('')
  const settings =
    'router_settings: { num_retries: 0 }\ngeneral_settings: { header_prefix: x-litellm }\n' +
    'settings: { cost_margin_config: { global: 0.5 } }\n'
  gateway = await startGateway({ config: `model_list:\n${models}${failing}${settings}` })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const chat = (headers: Record<string, string>, fields: Json = {}) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...fields }),
  })
const withKey = (headers: Record<string, string>, fields: Json = {}) =>
  chat({ authorization: `Bearer ${key}`, ...headers }, fields)

describe('the key in x-litellm-api-key', () => {
  test('counts, with and without Bearer, also beside the token of a vendor', async () => {
    for (const value of [key, `Bearer ${key}`, `bearer ${key}`]) {
      expect((await chat({ 'x-litellm-api-key': value })).status).toBe(200)
      const beside = { 'x-litellm-api-key': value, authorization: 'Bearer sk-ant-oat01-x', 'x-api-key': 'sk-ant-y' }
      expect((await chat(beside)).status).toBe(200)
    }
    const sent = JSON.stringify(gateway.simulator.truth.last())
    expect(sent).not.toContain('sk-ant-')
    expect(sent).not.toContain(key)
  })
  test('is not made up for by another that is valid', async () => {
    for (const value of ['sk-unknown-key-0000000000000000', 'Basic x', 'Bearer  '])
      expect((await withKey({ 'x-litellm-api-key': value })).status).toBe(401)
  })
})

describe('headers of control', () => {
  test('x-litellm-call-id comes back', async () => {
    const answer = await withKey({ 'x-litellm-call-id': 'call-of-mine' })
    expect(answer.headers.get('x-litellm-call-id')).toBe('call-of-mine')
  })
  test('x-litellm-timeout and, for streams, -stream-timeout end an attempt', async () => {
    expect((await withKey({ 'x-litellm-timeout': '0.2' }, { model: 'slow', timeout: 60 })).status).toBe(408)
    const both = { 'x-litellm-timeout': '600', 'x-litellm-stream-timeout': '0.2' }
    expect((await withKey(both, { model: 'slow', stream: true })).status).toBe(408)
  })
  test('x-litellm-num-retries asks for further attempts', async () => {
    const answer = await withKey({ 'x-litellm-num-retries': '2' }, { model: 'failing', num_retries: 0 })
    expect([answer.status, answer.headers.get('x-litellm-attempted-retries')]).toEqual([500, '2'])
  })
  test('x-litellm-customer-id and x-litellm-end-user-id name the customer', async () => {
    for (const name of ['x-litellm-customer-id', 'x-litellm-end-user-id']) {
      const answer = await withKey({ [name]: `of ${name}` }, { user: 'another' })
      const [row] = await gateway.rows(`&request_id=${answer.headers.get('x-request-id')}`)
      expect(row).toMatchObject({ end_user: `of ${name}` })
    }
  })
  test('values that are none are refused by the name of their header', async () => {
    for (const [name, value] of [
      ['x-litellm-call-id', 'with spaces'],
      ['x-litellm-timeout', 'soon'],
      ['x-litellm-timeout', '0'],
      ['x-litellm-num-retries', '-1'],
      ['x-litellm-num-retries', '11'],
      ['x-litellm-customer-id', 'x'.repeat(257)],
    ] as const) {
      const answer = await withKey({ [name]: value })
      const { error } = (await answer.json()) as { error: { message: string } }
      expect([answer.status, error.message]).toEqual([422, expect.stringContaining(name)])
    }
  })
})

test("answers have LiteLLM's headers of a call with its prefix", async () => {
  const { headers } = await withKey({})
  const numbers = ['overhead-duration-ms', 'response-duration-ms', 'response-cost', 'attempted-retries']
  for (const name of numbers) expect(headers.get(`x-litellm-${name}`)).toMatch(/^\d+(?:\.\d+)?$/)
  expect(headers.get('x-litellm-model-group')).toBe('gpt-4o')
  expect(headers.get('x-litellm-overhead-ms')).toBeNull()
  expect(headers.get('x-litellm-version')).toMatch(/^\d+\.\d+\.\d+/)
  expect(headers.get('x-litellm-max-retries')).toBe('0')
  const absent = ['key-rpm-limit', 'key-tpm-limit', 'key-max-budget', 'model-api-base', 'timeout']
  for (const name of absent) expect([name, headers.get(`x-litellm-${name}`)]).toEqual([name, null])
})

test('they have the limits of the key, what the client set, what the vendor charges, and the address for administrators', async () => {
  const limited = await gateway.key({ rpm_limit: 9, tpm_limit: 90_000, max_budget: 2.5 })
  const own = (
    await chat({ authorization: `Bearer ${limited}`, 'x-litellm-timeout': '30', 'x-litellm-num-retries': '1' })
  ).headers
  expect(own.get('x-litellm-key-rpm-limit')).toBe('9')
  expect(own.get('x-litellm-key-tpm-limit')).toBe('90000')
  expect(Number(own.get('x-litellm-key-max-budget'))).toBe(2.5)
  expect([own.get('x-litellm-timeout'), own.get('x-litellm-max-retries')]).toEqual(['30', '1'])
  const [cost, original, margin] = ['response-cost', 'response-cost-original', 'response-cost-margin-amount'].map(
    name => Number(own.get(`x-litellm-${name}`)),
  )
  expect(cost).toBeGreaterThan(original!)
  expect(original! + margin!).toBeCloseTo(cost!, 9)
  const { headers } = await chat({ authorization: `Bearer ${masterKey}` })
  expect(headers.get('x-litellm-model-api-base')).toBe(`${gateway.simulator.url.replace(/\/$/, '')}/v1`)
  const failed = await withKey({}, { model: 'failing' })
  expect([failed.status, Number(failed.headers.get('x-litellm-response-cost'))]).toEqual([500, 0])
})

async function admin(path: string, body?: Json): Promise<Json> {
  const answer = await gateway.admin(path, body)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Json
}

test('keys say what they have spent wherever they are shown', async () => {
  await admin('/user/new', { user_id: 'spender', auto_create_key: false })
  const made = await admin('/key/generate', { user_id: 'spender' })
  expect(made.spend).toBe(0)
  const { headers } = await chat({ authorization: `Bearer ${String(made.key)}` })
  const cost = Number(headers.get('x-litellm-response-cost'))
  expect(cost).toBeGreaterThan(0)
  expect((await gateway.rows(`&request_id=${headers.get('x-request-id')}`)).length).toBe(1)
  const { keys } = (await admin('/user/info?user_id=spender')) as { keys: Json[] }
  expect(keys.map(one => one.spend)).toEqual([cost])
  for (const path of ['/key/update', '/key/block', '/key/unblock'])
    expect((await admin(path, { key: made.token })).spend).toBe(cost)
})

test("the details of models have LiteLLM's names of provider, model and tokens", async () => {
  const { data } = (await admin('/model/info')) as { data: { model_name: string; model_info: Json }[] }
  const { model_info: info } = data.find(one => one.model_name === 'gpt-4o')!
  expect(info).toMatchObject({ litellm_provider: 'openai', key: 'gpt-4o', max_tokens: info.max_output_tokens })
})
