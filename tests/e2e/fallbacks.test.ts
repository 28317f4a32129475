/** The fallbacks of the configuration, in the layout of LiteLLM's files, through the whole gateway. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readSettings } from '../../src/config/read-settings.ts'
import { providers } from '../../src/providers/index.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string) =>
  `  - model_name: ${name}\n    litellm_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: canary }\n    model_info: { id: ${name} }\n`
const list = `model_list:\n${['small', 'large', 'larger', 'lenient', 'spare', 'lonely'].map(entry).join('')}`
const config = `${list}
litellm_settings:
  context_window_fallbacks: [{ small: [large, larger] }, { spare: [larger] }]
  content_policy_fallbacks: [{ small: [spare] }]
  default_fallbacks: [spare]
router_settings:
  num_retries: 0
  allowed_fails: 1000
  model_group_alias: { tiny: small }
  content_policy_fallbacks: [{ small: [lenient] }]
  fallbacks: [{ large: [small] }]
`

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway({ config })))
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

const tooLong = { message: 'maximum context length is 10 tokens', code: 'context_length_exceeded' }
const filtered = { message: "refused by the provider's content policy", code: 'content_policy_violation' }
const refuses = (model: string, error: object, status = 400) =>
  gateway.simulator.script(request => request.model === model, { raw: { status, body: JSON.stringify({ error }) } })

async function ask(model: string, more: object = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi' }], ...more }),
  })
  await response.text()
  return [
    response.status,
    response.headers.get('x-proxy-model-id'),
    response.headers.get('x-proxy-attempted-fallbacks'),
  ]
}

for (const stream of [false, true])
  describe(stream ? 'streamed' : 'whole', () => {
    test('a conversation that is too long goes to context_window_fallbacks, in order', async () => {
      refuses('small', tooLong)
      expect(await ask('small', { stream })).toEqual([200, 'large', '1'])
      refuses('large', tooLong)
      expect(await ask('small', { stream })).toEqual([200, 'larger', '2'])
      expect(await ask('large', { stream })).toEqual([400, 'large', '0'])
    })

    test("what a provider's policy refuses goes to content_policy_fallbacks; router_settings win", async () => {
      refuses('small', filtered)
      expect(await ask('small', { stream })).toEqual([200, 'lenient', '1'])
      refuses('lenient', filtered)
      expect(await ask('small', { stream })).toEqual([400, 'lenient', '1'])
      refuses('lonely', filtered)
      expect(await ask('lonely', { stream })).toEqual([400, 'lonely', '0'])
    })

    test('each failure goes to the list of its kind', async () => {
      refuses('small', tooLong)
      refuses('large', filtered)
      expect(await ask('small', { stream })).toEqual([200, 'lenient', '2'])
      refuses('lenient', { message: 'broken' }, 500)
      expect(await ask('small', { stream })).toEqual([200, 'spare', '3'])
    })
  })

/** As hosts write it into an answer that began as a success. */
const inBand = (model: string, error: object, stream: boolean) =>
  gateway.simulator.script(request => request.model === model, {
    raw: {
      status: 200,
      headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
      body: stream ? `data: ${JSON.stringify({ error })}\n\n` : JSON.stringify({ error }),
    },
  })

test.each([
  ['whole', false],
  ['as the first event', true],
] as const)('an error inside of a 200 goes where that of a status line goes, %s', async (_, stream) => {
  inBand('small', { code: 400, message: tooLong.message }, stream)
  expect(await ask('small', { stream })).toEqual([200, 'large', '1'])
  inBand('small', filtered, stream)
  expect(await ask('small', { stream })).toEqual([200, 'lenient', '1'])
  inBand('larger', { code: 429, message: 'slow' }, stream)
  expect(await ask('larger', { stream })).toEqual([200, 'spare', '1'])
  inBand('spare', { code: 403, message: 'You do not have permission to access the File x1.' }, stream)
  expect(await ask('spare', { stream })).toEqual([403, 'spare', '0'])
  inBand('spare', { code: '422', message: 'n must be 1' }, stream)
  expect(await ask('spare', { stream })).toEqual([422, 'spare', '0'])
})

test('default_fallbacks are for models without a list of their own, and never the model itself', async () => {
  for (const model of ['lonely', 'large', 'spare']) refuses(model, { message: 'broken' }, 500)
  expect(await ask('lonely')).toEqual([500, 'spare', '1'])
  expect(await ask('large')).toEqual([200, 'small', '1'])
  expect(await ask('spare')).toEqual([500, 'spare', '0'])
})

test('an alias has the fallbacks of its model', async () => {
  refuses('small', tooLong)
  expect(await ask('tiny')).toEqual([200, 'large', '1'])
})

test("the client's context_window_fallback_dict replaces the operator's list", async () => {
  refuses('small', tooLong)
  expect(await ask('small', { context_window_fallback_dict: { small: 'lonely' } })).toEqual([200, 'lonely', '1'])
})

test('the model list shows each kind of fallbacks', async () => {
  const shown = async (query: string) => {
    const { data } = (await (await gateway.admin(`/v1/models?${query}`)).json()) as {
      data: { id: string; metadata?: { fallbacks: string[] } }[]
    }
    return Object.fromEntries(
      data
        .filter(({ id }) => ['small', 'large', 'spare', 'tiny'].includes(id))
        .map(one => [one.id, one.metadata?.fallbacks]),
    )
  }
  expect(await shown('')).toEqual({ small: undefined, large: undefined, spare: undefined, tiny: undefined })
  const general = { small: ['spare'], large: ['small'], spare: [], tiny: ['spare'] }
  expect(await shown('include_metadata=true')).toEqual(general)
  expect(await shown('include_metadata=true&fallback_type=general')).toEqual(general)
  expect(await shown('include_metadata=true&fallback_type=context_window')).toEqual({
    small: ['large', 'larger'],
    large: [],
    spare: ['larger'],
    tiny: ['large', 'larger'],
  })
  expect(await shown('include_metadata=true&fallback_type=content_policy')).toEqual({
    small: ['lenient'],
    large: [],
    spare: [],
    tiny: ['lenient'],
  })
})

test('names that do not exist are mistakes, whichever list they stand in', () => {
  const read = (more: string) =>
    readSettings({
      text: `${list.replaceAll('{simulator}', 'http://h.example')}${more}`,
      file: 'c.yaml',
      environment: {},
      providers,
    }).mistakes
  for (const field of ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks']) {
    expect(read(`router_settings: { ${field}: [{ small: [largr] }] }`)).toEqual([
      expect.stringContaining(`router_settings.${field}.0.small: no model is named \`largr\`, did you mean \`large\`?`),
    ])
    expect(read(`litellm_settings: { ${field}: [{ smal: [large] }] }`)).toEqual([
      expect.stringContaining('no model is named `smal`'),
    ])
  }
  expect(read('router_settings: { default_fallbacks: [largr] }')).toEqual([
    expect.stringContaining('router_settings.default_fallbacks: no model is named `largr`'),
  ])
})
