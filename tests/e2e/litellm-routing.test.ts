/** What LiteLLM's files say of routing, through the whole gateway. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, id: string, params = '') =>
  `  - model_name: ${name}\n    litellm_params: { model: custom_openai/${id}, api_base: "{simulator}/v1", api_key: canary${params} }\n    model_info: { id: ${id} }\n`
const config = `model_list:
${entry('rates', 'one-a-minute', ', rpm: 1')}\
${entry('rates', 'two-a-minute', ', rpm: 2, order: 1')}\
${entry('tokens', 'few-tokens', ', tpm: 40')}\
${entry('with-spare', 'limited', ', rpm: 1')}\
${entry('spare', 'spare')}\
${entry('strict', 'strict-1', ', order: 1')}\
${entry('strict', 'strict-2', ', order: 2')}\
${entry('patient', 'patient')}\
${entry('tagged', 'paid', ', tags: [paid, eu]')}\
${entry('tagged', 'free', ', tags: [free]')}\
${entry('tagged', 'usual', ', tags: [default]')}\
${entry('reserved', 'reserved', ', tags: [paid]')}\
${entry('open', 'untagged')}
router_settings:
  enable_tag_filtering: true
  retry_policy: { BadRequestErrorRetries: 1, InternalServerErrorRetries: 0 }
  model_group_retry_policy: { patient: { RateLimitErrorRetries: 2, BadRequestErrorRetries: 1 } }
  num_retries: 1
  enable_pre_call_checks: true
  fallbacks: [{ with-spare: [spare] }]
`

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway({ config })))
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

async function ask(model: string, more: object = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}`, ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi' }], ...more }),
  })
  const body = await response.text()
  return { status: response.status, id: response.headers.get('x-proxy-model-id'), headers: response.headers, body }
}

const places = async (model: string, calls: number) => {
  const answers = []
  for (let at = 0; at < calls; at++) answers.push(await ask(model, { stream: at % 2 === 1 }))
  return answers.map(one => one.id ?? one.status)
}

test('a deployment at its rpm is not chosen; when none is left the answer is 429 with the time to wait', async () => {
  expect(await places('rates', 3)).toEqual(['one-a-minute', 'two-a-minute', 'two-a-minute'])
  const { status, headers, body } = await ask('rates')
  expect(status).toBe(429)
  expect(Number(headers.get('retry-after'))).toBeWithin(50, 62)
  expect(JSON.parse(body).error).toMatchObject({
    type: 'rate_limit_error',
    message: "every deployment of 'rates' is at its limit of requests or tokens a minute; try again later",
  })
  // Its own id is no way around.
  expect((await ask('one-a-minute')).status).toBe(429)
})

test('a group is shown with what its deployments take together, where each has a limit', async () => {
  const response = await fetch(`${gateway.url}/model_group/info`, { headers: { authorization: `Bearer ${masterKey}` } })
  const { data } = (await response.json()) as { data: { model_group: string; rpm: unknown; tpm: unknown }[] }
  const of = (name: string) => data.filter(one => one.model_group === name).map(({ rpm, tpm }) => ({ rpm, tpm }))
  expect([of('rates'), of('tokens'), of('spare')]).toEqual([
    [{ rpm: 3, tpm: null }],
    [{ rpm: null, tpm: 40 }],
    [{ rpm: null, tpm: null }],
  ])
})

test('a deployment at its tpm is passed over by what its answers have used', async () => {
  const long = { messages: [{ role: 'user', content: `say: ${'word '.repeat(60)}` }] }
  expect((await ask('tokens', long)).id).toBe('few-tokens')
  expect((await ask('tokens')).status).toBe(429)
})

test('calls at a limit go to the fallbacks of their model, and an attempt that was not made counts nowhere', async () => {
  expect(await places('with-spare', 3)).toEqual(['limited', 'spare', 'spare'])
  const { headers } = await ask('with-spare')
  expect(headers.get('x-proxy-attempted-retries')).toBe('0')
})

const refuses = (model: string, status: number, headers: Record<string, string> = {}) =>
  gateway.simulator.script(request => request.model === model, {
    raw: { status, headers, body: JSON.stringify({ error: { message: 'not now' } }) },
    times: 1,
  })
const attempts = ({ status, id, headers }: Awaited<ReturnType<typeof ask>>) => [
  status,
  id,
  headers.get('x-proxy-attempted-retries'),
]

test('attempts after the first are those that the kind of error has', async () => {
  refuses('strict-1', 400)
  expect(attempts(await ask('strict'))).toEqual([200, 'strict-2', '1'])
  refuses('strict-1', 500)
  // The operator's word counts before the client's.
  expect(attempts(await ask('strict', { num_retries: 3 }))).toEqual([500, 'strict-1', '0'])
  // A kind without a count has that of all errors.
  refuses('strict-1', 503)
  expect(attempts(await ask('strict'))).toEqual([200, 'strict-2', '1'])
})

test('a model may have attempts of its own; one whose provider asks for a wait is asked again after it', async () => {
  refuses('patient', 429, { 'retry-after-ms': '20' })
  expect(attempts(await ask('patient'))).toEqual([200, 'patient', '1'])
  refuses('patient', 400)
  expect(attempts(await ask('patient'))).toEqual([200, 'patient', '1'])
})

test('tags of the body, of the header and of the key choose the deployment; `default` takes what no other is for', async () => {
  const at = async (more: object, headers = {}) => (await ask('tagged', more, headers)).id
  expect([
    await at({ metadata: { tags: ['paid'] } }),
    await at({ tags: ['eu', 'other'] }),
    await at({}, { 'x-litellm-tags': 'free' }),
    await at({ tags: ['unheard-of'] }),
    await at({}),
  ]).toEqual(['paid', 'paid', 'free', 'usual', 'usual'])
  const tagged = { authorization: `Bearer ${await gateway.key({ metadata: { tags: ['free'] } })}` }
  expect(await at({}, tagged)).toBe('free')
})

test('models of a tag choose deployments as their own tags do, by public name or id', async () => {
  const at = async (model: string, tags: string[]) => (await ask(model, { tags })).id
  const made = await gateway.admin('/tag/new', { name: 'chosen', models: ['free', 'open'] })
  expect(((await made.json()) as { tag: { models: string[] } }).tag.models).toEqual(['free', 'open'])
  expect([await at('tagged', ['chosen']), await at('open', ['chosen'])]).toEqual(['free', 'untagged'])
  await gateway.admin('/tag/update', { name: 'chosen', models: ['paid'] })
  expect(await at('tagged', ['chosen'])).toBe('paid')
  await gateway.admin('/tag/delete', { name: 'chosen' })
  expect(await at('tagged', ['chosen'])).toBe('usual')
})

test('without a deployment for its tags a call is refused by name; calls without tags go to any, and ids are exact', async () => {
  const { status, body } = await ask('reserved', { tags: ['free'] })
  expect([status, JSON.parse(body).error]).toEqual([
    403,
    expect.objectContaining({
      code: 'model_not_allowed',
      message: expect.stringContaining("no deployment of 'reserved' is for the tags of this call ('free')"),
    }),
  ])
  expect((await ask('reserved')).id).toBe('reserved')
  expect((await ask('open', { tags: ['free'] })).status).toBe(403)
  expect((await ask('untagged', { tags: ['free'] })).id).toBe('untagged')
})
