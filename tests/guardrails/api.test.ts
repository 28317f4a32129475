/** Guardrails by API, and which hold for a call: those of every call, of its key, team, model and request. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

type Json = Record<string, any>

let gateway: Gateway

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: plain
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: k }
  - model_name: guarded
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: k, guardrails: [of-model] }
  - model_name: hear
    proxy_params: { model: openai/whisper-1, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: audio_transcription }
guardrails:
${['of-all', 'of-key', 'of-team', 'of-model', 'of-request']
  .map(
    name =>
      `  - { guardrail_name: ${name}, litellm_params: { guardrail: words, mode: pre_call, words: [${name}-word], default_on: ${name === 'of-all'} } }`,
  )
  .join('\n')}
  - { guardrail_name: said, litellm_params: { guardrail: words, mode: post_call, words: [zanzibar], action: mask } }
router_settings: { num_retries: 0 }
`,
  })
})
afterAll(() => gateway?.stop())

async function chat(key: string, text: string, more: Json = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: text }], ...more }),
  })
  const body = (await response.json()) as Json
  return { status: response.status, applied: response.headers.get('x-proxy-applied-guardrails'), body }
}

async function send(method: string, path: string, body?: unknown, key = masterKey) {
  const init = {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  const response = await fetch(`${gateway.url}${path}`, init)
  return { status: response.status, body: (await response.json()) as Json }
}

describe('which hold', () => {
  test('those of every call, of the key, of its team, of the model and of the request, and no others', async () => {
    const team = (await send('POST', '/team/new', { guardrails: ['of-team'] })).body.team_id as string
    const bare = await gateway.key({})
    const key = await gateway.key({ guardrails: ['of-key'], team_id: team })
    expect((await chat(bare, 'hi')).applied).toBe('of-all')
    expect((await chat(key, 'hi')).applied).toBe('of-all,of-key,of-team')
    expect((await chat(bare, 'hi', { model: 'guarded' })).applied).toBe('of-all,of-model')
    expect((await chat(bare, 'hi', { guardrails: ['of-request'] })).applied).toBe('of-all,of-request')
    for (const name of ['of-all', 'of-key', 'of-team'])
      expect([name, (await chat(key, `${name}-word`)).status]).toEqual([name, 400])
    expect((await chat(bare, 'of-key-word')).status).toBe(200)
  })

  test('a request cannot switch off what is demanded, and hears of names that do not exist', async () => {
    const key = await gateway.key({ guardrails: ['of-key'] })
    expect((await chat(key, 'of-all-word', { guardrails: [] })).status).toBe(400)
    expect((await chat(key, 'of-key-word', { guardrails: ['of-request'], drop_params: true })).status).toBe(400)
    const unknown = await chat(key, 'hi', { guardrails: ['nope'] })
    expect([unknown.status, unknown.body.error.message]).toEqual([422, expect.stringContaining("'nope'")])
  })

  test('a key whose guardrail is gone makes no calls without it', async () => {
    const key = await gateway.key({ guardrails: ['gone'] })
    const refused = await chat(key, 'hi')
    expect([refused.status, refused.body.error.message]).toEqual([500, expect.stringContaining("'gone'")])
  })
})

describe('by API', () => {
  const params = {
    guardrail: 'words',
    mode: 'pre_call',
    words: ['pemba'],
    api_key: 'planted-guardrail-key',
    default_on: true,
  }

  test('made, used, changed and deleted, without a restart', async () => {
    const key = await gateway.key({})
    const made = await send('POST', '/guardrails', { guardrail: { guardrail_name: 'sent', litellm_params: params } })
    expect([made.status, made.body.guardrail_definition_location]).toEqual([200, 'db'])
    const path = `/guardrails/${made.body.guardrail_id}`
    expect((await chat(key, 'to Pemba')).status).toBe(400)
    expect(made.body.litellm_params.api_key).toBe('********')
    await send('PATCH', path, { guardrail: { litellm_params: { words: ['lamu'], api_key: '********' } } })
    expect([(await chat(key, 'to Pemba')).status, (await chat(key, 'to Lamu')).status]).toEqual([200, 400])
    const shown = await send('GET', `${path}/info`)
    expect(shown.body).toMatchObject({ guardrail_name: 'sent', version: 2, litellm_params: { words: ['lamu'] } })
    expect(JSON.stringify((await send('GET', '/v2/guardrails/list')).body)).not.toContain('planted')
    expect((await send('DELETE', path)).body).toMatchObject({ deleted: true })
    expect((await chat(key, 'to Lamu')).status).toBe(200)
    const audit = await send('GET', `/audit?table_name=guardrail&object_id=${made.body.guardrail_id}`)
    const rows = audit.body.audit_logs as Json[]
    expect(rows.map(one => [one.action, one.changed_by])).toEqual([
      ['deleted', 'master'],
      ['updated', 'master'],
      ['created', 'master'],
    ])
    expect(JSON.stringify(rows)).not.toContain('planted')
  })

  test('mistakes name the field, the problem and the remedy', async () => {
    for (const [fields, field, message] of [
      [{ guardrail: 'nope', mode: 'pre_call' }, 'guardrail.litellm_params.guardrail', 'must be'],
      [{ guardrail: 'words', mode: 'pre_call' }, 'guardrail.litellm_params.words', 'list the words'],
      [
        { guardrail: 'json_schema', mode: 'post_call', json_schema: { properties: { a: { maxlength: 3 } } } },
        'guardrail.litellm_params.json_schema.properties.a.maxlength',
        'is not a keyword of JSON Schema',
      ],
      [
        { guardrail: 'json_schema', mode: 'post_call', json_schema: { items: { pattern: '(?=a)b' } } },
        'guardrail.litellm_params.json_schema.items.pattern',
        'looks ahead or behind',
      ],
      [
        { guardrail: 'language', mode: 'pre_call', languages: ['en', 'sw'] },
        'guardrail.litellm_params.languages.1',
        'is not told from others',
      ],
      [
        { guardrail: 'regex', mode: 'pre_call', patterns: [{ name: 'A', pattern: '(?=a)b' }] },
        'guardrail.litellm_params.patterns.0.pattern',
        'looks ahead',
      ],
      ...[
        'http://169.254.169.254/latest',
        'http://2852039166/',
        'http://[::ffff:169.254.169.254]/',
        'http://metadata.google.internal',
        'http://[fd00:ec2::254]/',
      ].flatMap(
        at =>
          [
            [{ guardrail: 'webhook', mode: 'pre_call', api_base: at }, 'guardrail.litellm_params.api_base', 'own link'],
            [
              { guardrail: 'presidio', mode: 'pre_call', presidio_analyzer_api_base: at },
              'guardrail.litellm_params.presidio_analyzer_api_base',
              'own link',
            ],
          ] as const,
      ),
      [{ ...params, api_key: 'os.environ/HOME' }, 'guardrail.litellm_params.api_key', 'send the value'],
    ] as const) {
      const refused = await send('POST', '/guardrails', { guardrail: { guardrail_name: 'x', litellm_params: fields } })
      expect(refused).toMatchObject({
        status: 422,
        body: { error: { param: field, message: expect.stringContaining(message) } },
      })
    }
  })

  test('one of the file is changed in the file', async () => {
    expect((await send('DELETE', '/guardrails/of-all')).body.error.message).toContain('configuration file')
    const taken = { guardrail: { guardrail_name: 'of-all', litellm_params: params } }
    expect((await send('POST', '/guardrails', taken)).status).toBe(409)
  })

  test('keys without rights see names alone, and change nothing', async () => {
    const key = await gateway.key({})
    expect((await send('GET', '/guardrails/list', undefined, key)).body.guardrails).toHaveLength(6)
    expect((await send('GET', '/v2/guardrails/list', undefined, key)).status).toBe(403)
    expect((await send('DELETE', '/guardrails/of-all', undefined, key)).status).toBe(403)
  })
})

test('a trial on a sample says what a call would get', async () => {
  const ask = (guardrail_name: string, text: string) =>
    send('POST', '/guardrails/apply_guardrail', { guardrail_name, text })
  expect((await ask('said', 'to Zanzibar')).body).toEqual({
    response_text: 'to [WORD_1]',
    verdict: 'mask',
    reason: null,
    found: { WORD: 1 },
  })
  expect((await ask('of-all', 'of-all-word')).body).toMatchObject({ verdict: 'block', response_text: 'of-all-word' })
  expect((await ask('nope', 'x')).status).toBe(404)
})

for (const stream of ['true', 'false'])
  test(`what is said in a transcript is masked: stream ${stream}`, async () => {
    const text = 'We sailed to Zanzibar, and then on.'
    const raw =
      stream === 'true'
        ? {
            headers: { 'content-type': 'text/event-stream' },
            body: [...'We sailed to Zan', 'zibar, and then on.']
              .map(delta => `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`)
              .concat(`data: ${JSON.stringify({ type: 'transcript.text.done', text })}\n\n`)
              .join(''),
          }
        : { body: JSON.stringify({ text, words: [{ word: 'Zanzibar' }] }) }
    gateway.simulator.script({}, { raw, times: 1 })
    const form = new FormData()
    form.append('model', 'hear')
    form.append('stream', stream)
    form.append('file', new File([new Uint8Array(64)], 'a.wav'))
    const key = await gateway.key({ guardrails: ['said'] })
    const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    const answer = await response.text()
    expect([response.status, answer.toLowerCase().includes('zan')]).toEqual([200, false])
    expect(answer).toContain('We sailed to [WORD], and then on.')
  })
