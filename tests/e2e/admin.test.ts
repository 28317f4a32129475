/**
 * What operators and clients read beside the calls themselves: dates, pages of models, addresses, headers, refusals.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string) =>
  `  - { model_name: ${name}, proxy_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: canary }, model_info: { id: ${name} } }\n`
const config = `model_list:
${['one', 'two', 'three', 'four', 'five'].map(entry).join('')}
  - { model_name: hidden, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1", api_key: canary }, model_info: { id: hidden } }
router_settings: { num_retries: 2, fallbacks: [{ one: [two] }], allowed_fails: 1000, cooldown_time: 0 }
general_settings: { disable_local_models: true }
`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config })
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

type Json = Record<string, unknown>
interface Seen {
  status: number
  headers: Headers
  body: Json & {
    data: Json[]
    detail?: { loc: string[]; msg: string }[]
    error: { message: string; param: string | null }
  }
}
async function seen(response: Response | Promise<Response>): Promise<Seen> {
  const { status, headers } = await response
  return { status, headers, body: (await (await response).json()) as Seen['body'] }
}
const get = (path: string) => seen(gateway.admin(path))
const chat = (model: string) =>
  seen(gateway.admin('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'say: hi' }] }))

test('the ledger by dates: a day is whole, a time is exclusive, no zone is UTC', async () => {
  const { headers } = await chat('three')
  const id = headers.get('x-request-id')!
  await gateway.rows()
  const found = async (query: string) => {
    const { status, body } = await get(`/spend/logs/v2?request_id=${id}&${query}`)
    return status === 200 ? body.data.length : body.detail![0]!
  }
  const [row] = (await get(`/spend/logs/v2?request_id=${id}`)).body.data
  const ms = row!.started_at_ms as number
  const iso = (at: number) => new Date(at).toISOString()
  const day = (at: number) => iso(at).slice(0, 10)
  const dayMs = 86_400_000
  expect(await found(`start_date=${day(ms)}&end_date=${day(ms)}`)).toBe(1)
  expect(await found(`start_date=${day(ms - dayMs)}&end_date=${day(ms - dayMs)}`)).toBe(0)
  expect(await found(`end_date=${day(ms - dayMs)}`)).toBe(0)
  expect(await found(`start_date=${iso(ms)}&end_date=${iso(ms)}`)).toBe(0)
  expect(await found(`start_date=${iso(ms)}&end_date=${iso(ms + 1)}`)).toBe(1)
  expect(
    await found(
      `start_date=${iso(ms).replace('Z', '')}&end_date=${iso(ms + 1)
        .replace('Z', '')
        .replace('T', ' ')}`,
    ),
  ).toBe(1)
  // The same moment on another clock, as curl sends it without encoding.
  expect(await found(`start_date=${iso(ms + 7_200_000).replace('Z', '+02:00')}`)).toBe(1)
  expect(await found(`start_date=${day(ms)}&end_date=${day(ms - dayMs)}`)).toMatchObject({
    loc: ['query', 'end_date'],
    msg: 'is before start_date; swap them',
  })
  for (const wrong of ['2026-02-30', '11/21/2026', '2026', ''])
    expect(await found(`start_date=${wrong}`)).toMatchObject({
      loc: ['query', 'start_date'],
      msg: expect.stringContaining('must be a date of the calendar: 2026-11-21, 2026-11-21T08:00:00Z'),
    })
})

test("models in pages, as Anthropic's clients ask", async () => {
  const page = async (query: string) => {
    const { body } = await get(`/v1/models?${query}`)
    return [body.data.map(one => one.id).join(), body.has_more, body.first_id, body.last_id]
  }
  expect(await page('')).toEqual(['one,two,three,four,five,hidden', false, 'one', 'hidden'])
  expect(await page('limit=2')).toEqual(['one,two', true, 'one', 'two'])
  expect(await page('limit=2&after_id=two')).toEqual(['three,four', true, 'three', 'four'])
  expect(await page('limit=2&after_id=four')).toEqual(['five,hidden', false, 'five', 'hidden'])
  expect(await page('limit=2&before_id=four')).toEqual(['two,three', true, 'two', 'three'])
  expect(await page('limit=2&before_id=three')).toEqual(['one,two', false, 'one', 'two'])
  expect(await page('before_id=one')).toEqual(['', false, null, null])
  expect(await page('after_id=five&include_metadata=true')).toEqual(['hidden', false, 'hidden', 'hidden'])
  const refused = async (query: string) => {
    const { status, body } = await get(`/v1/models?${query}`)
    return [status, body.error.param]
  }
  expect(await refused('after_id=nobody')).toEqual([422, 'after_id'])
  expect(await refused('after_id=one&before_id=three')).toEqual([422, 'before_id'])
  for (const limit of ['0', '1001', 'x', '1.5']) expect(await refused(`limit=${limit}`)).toEqual([422, 'limit'])
  expect(await refused('limit=1&limit=2')).toEqual([422, 'limit'])
  const client = new Anthropic({ apiKey: await gateway.key(), baseURL: gateway.url, maxRetries: 0 })
  const ids: string[] = []
  for await (const model of client.models.list({ limit: 4 })) ids.push(model.id)
  expect(ids).toEqual(['one', 'two', 'three', 'four', 'five', 'hidden'])
})

test('a model is the same in the list and alone', async () => {
  const listed = (await get('/v1/models')).body.data.find(one => one.id === 'two')
  expect((await get('/v1/models/two')).body as Json).toEqual(listed!)
})

test('a deployment is named once', async () => {
  expect((await get('/model/info?proxy_model_id=one&proxy_model_id=two')).body.detail).toMatchObject([
    { loc: ['query', 'proxy_model_id'] },
  ])
  expect((await get('/model/info?proxy_model_id=one')).body.data.map(one => one.model_name)).toEqual(['one'])
})

test('retries are those of one model, fallbacks are counted apart', async () => {
  const counted = async () => {
    const { status, headers } = await chat('one')
    return [status, headers.get('x-proxy-attempted-retries'), headers.get('x-proxy-attempted-fallbacks')]
  }
  const fails = (name: string) =>
    gateway.simulator.script(request => request.model === name, {
      raw: { status: 500, body: '{"error":{"message":"broken"}}' },
    })
  expect(await counted()).toEqual([200, '0', '0'])
  fails('one')
  expect(await counted()).toEqual([200, '2', '1'])
  expect(gateway.simulator.truth.entries.length).toBe(5)
  fails('two')
  expect(await counted()).toEqual([500, '4', '1'])
})

test('the place of a mistake in the JSON is its own', async () => {
  const send = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
    seen(fetch(`${gateway.url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${masterKey}` }, body }))
  const bad = '{"model":"one","messages":[{"role":"user","content":"€"}],"seed":NaN}'
  const at = Buffer.byteLength(bad.slice(0, bad.indexOf('NaN')))
  for (const path of ['/v1/chat/completions', '/key/generate']) {
    const { status, body } = await send(path, bad)
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringMatching(new RegExp(`^the body is not valid JSON: .*\\(at byte ${at}\\)$`)),
    ])
  }
  const binary = Buffer.from('{"model":"one","messages":[],"user":"ab"}')
  binary[binary.length - 3] = 0xff
  expect((await send('/v1/chat/completions', binary)).body.error.message).toBe(
    `the body is not valid UTF-8 (at byte ${binary.length - 3})`,
  )
})

test('a path without the model that it should name is none', async () => {
  for (const path of ['/engines//chat/completions', '/openai/deployments//completions', '/v1/models//one']) {
    const { status, body } = await seen(gateway.admin(path, path.includes('models') ? undefined : { prompt: 'x' }))
    expect([path, status, body.error.message]).toEqual([path, 404, expect.stringContaining('see /docs')])
  }
})
