/** Vertex AI: addresses, tokens, Claude in its envelope, and the configuration that leads there. */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import { readSettings } from '../../config/read-settings.ts'
import { geminiGenerate } from '../../formats/index.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { Secret } from '../../lib/secret.ts'
import { SseSplitter } from '../../lib/sse.ts'
import { gemini } from '../gemini/index.ts'
import { providers } from '../index.ts'
import { vertex } from './index.ts'

const project = { vertex_project: 'my-project' }
const target = (model: string, options: Record<string, unknown> = project, more: Partial<Target> = {}): Target => ({
  provider: vertex,
  model,
  baseUrl: vertex.defaultBaseUrl!,
  apiKey: undefined,
  headers: {},
  options,
  ...more,
})
const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'public',
  stream: false,
  includeUsage: false,
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
  extra: { format: 'openai-chat', fields: {} },
  ...more,
})
const urlOf = (aim: Target, stream = false) => vertex.chat!.request(request({ stream }), aim).head.url

describe('addresses', () => {
  const rest = '/v1/projects/my-project/locations'
  const central = `https://us-central1-aiplatform.googleapis.com${rest}/us-central1`
  test.each([
    [
      'us-central1 unless said otherwise',
      target('gemini-2.5-pro'),
      `${central}/publishers/google/models/gemini-2.5-pro:generateContent`,
    ],
    [
      'global',
      target('gemini-2.5-pro', { ...project, vertex_location: 'global' }),
      `https://aiplatform.googleapis.com${rest}/global/publishers/google/models/gemini-2.5-pro:generateContent`,
    ],
    [
      'a multi-region',
      target('g', { ...project, vertex_location: 'eu' }),
      `https://aiplatform.eu.rep.googleapis.com${rest}/eu/publishers/google/models/g:generateContent`,
    ],
    [
      'Claude',
      target('claude-sonnet-4-5@20250929', { ...project, vertex_location: 'us-east5' }),
      `https://us-east5-aiplatform.googleapis.com${rest}/us-east5` +
        '/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
    ],
    ['a tuned model', target('1234567890'), `${central}/endpoints/1234567890:generateContent`],
    ['a name that tries to leave', target('../x?y'), `${central}/publishers/google/models/..%2Fx%3Fy:generateContent`],
    [
      'express mode',
      target('g', {}, { apiKey: new Secret('k') }),
      'https://aiplatform.googleapis.com/v1/publishers/google/models/g:generateContent',
    ],
    [
      'an address of its own',
      target('g', { ...project, api_version: 'v1beta1' }, { baseUrl: 'http://psc.internal' }),
      'http://psc.internal/v1beta1/projects/my-project/locations/us-central1' +
        '/publishers/google/models/g:generateContent',
    ],
  ])('%s', (_, aim, url) => {
    expect(urlOf(aim)).toBe(url)
  })

  test('streams are other actions; calls carry no ids; an API key is a header', () => {
    expect(urlOf(target('g'), true)).toEndWith('/g:streamGenerateContent?alt=sse')
    expect(urlOf(target('claude-x'), true)).toEndWith('/claude-x:streamRawPredict')
    const call = { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' } as const
    const { body } = vertex.chat!.request(
      request({ messages: [{ role: 'assistant', parts: [call] }] }),
      target('gemini-2.5-pro'),
    )
    expect((body as { contents: unknown[] }).contents[1]).toEqual({
      role: 'model',
      parts: [{ functionCall: { name: 'f', args: {} } }],
    })
    expect(
      vertex.speaks['gemini-generate']!(target('g', {}, { apiKey: new Secret('k') }), false).headers,
    ).toMatchObject({ 'x-goog-api-key': 'k' })
  })

  test("Claude does not speak Gemini's dialect", () => {
    expect(vertex.forwards!(target('claude-x'), 'gemini-generate')).toBe(false)
    expect(vertex.forwards!(target('gemini-x'), 'gemini-generate')).toBe(true)
    expect(() => vertex.speaks['gemini-generate']!(target('claude-x'), false)).toThrow(
      'not reached in the Gemini dialect',
    )
  })
})

test('the token of the identity goes out with its quota project; an API key needs none', () => {
  const call = { method: 'POST', url: '', headers: {}, body: [] } as const
  const credential = { kind: 'token', token: 't', quotaProject: 'q' } as const
  expect(vertex.authorize!(call, target('g'), { epochMs: 0, credential })).toEqual({
    authorization: 'Bearer t',
    'x-goog-user-project': 'q',
  })
  expect(vertex.authorize!(call, target('g', {}, { apiKey: new Secret('k') }), { epochMs: 0 })).toEqual({})
})

describe('Claude', () => {
  test('the model stands in the path, the version in the body', () => {
    const { body, dropped } = vertex.chat!.request(
      request({ stream: true, seed: 1 }),
      target('claude-x', { ...project, anthropic_beta: 'b' }),
    )
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true, messages: [{ role: 'user' }] })
    expect(body).not.toHaveProperty('model')
    expect(dropped).toContain('seed')
    const count = vertex.countTokens!.request(request(), target('claude-x', { ...project, anthropic_beta: 'b' }))
    expect([
      count.head.url.split('/').at(-1),
      Object.keys(count.body as object),
      count.head.headers['anthropic-beta'],
    ]).toEqual(['count-tokens:rawPredict', ['model', 'messages'], 'b'])
    expect([
      vertex.countTokens!.result({ input_tokens: 9 }, request()),
      vertex.countTokens!.result({ totalTokens: 8 }, request()),
    ]).toEqual([{ inputTokens: 9 }, { inputTokens: 8 }])
  })

  test("its answers are distinguished from Gemini's, whole and streamed at any cut", () => {
    const whole = {
      type: 'message',
      id: 'msg_1',
      model: 'claude-x',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'hé' }],
      usage: { input_tokens: 1, output_tokens: 2 },
    }
    const events = [
      {
        type: 'message_start',
        message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 1, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hé' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    const expected = [
      { type: 'start', id: 'msg_1', model: 'claude-x' },
      { type: 'text', choice: 0, text: 'hé' },
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
    ] as never
    expect(vertex.chat!.result(whole)).toMatchObject(expected)
    const bytes = Buffer.from(events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(''))
    for (const size of [1, 7, 100, bytes.length]) expect(streamed(bytes, size)).toMatchObject(expected)
    const gemini = Buffer.from('data: {"candidates":[{"content":{"parts":[{"text":"hé"}]},"finishReason":"STOP"}]}\n\n')
    for (const size of [1, 9]) expect(streamed(gemini, size)[1]).toEqual({ type: 'text', choice: 0, text: 'hé' })
  })

  function streamed(bytes: Uint8Array, size: number): ChatEvent[] {
    const splitter = new SseSplitter()
    const read = vertex.chat!.reader()
    const out: ChatEvent[] = []
    for (let at = 0; at < bytes.length; at += size)
      for (const frame of splitter.push(bytes.subarray(at, at + size))) out.push(...read(frame))
    return out
  }

  test('errors of both vendors', () => {
    expect(
      classify({
        host: 'vertex_ai',
        status: 529,
        body: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      }).kind,
    ).toBe('upstream-overloaded')
    expect(
      classify({
        host: 'vertex_ai',
        status: 404,
        body: [{ error: { code: 404, status: 'NOT_FOUND', message: 'Publisher Model was not found' } }],
      }).kind,
    ).toBe('model-not-found')
  })
})

test('embeddings by predict: nothing is cut without a word', () => {
  const embeddingsRequest = {
    model: 'm',
    inputs: ['a'],
    dimensions: 4,
    encoding: 'float',
    extra: { format: 'x', fields: { task_type: 'CLUSTERING' } },
  } as const
  const call = vertex.embeddings!.request({ ...embeddingsRequest, inputs: ['a'] }, target('text-embedding-005'))
  expect([call.head.url.split('/').at(-1), call.body]).toEqual([
    'text-embedding-005:predict',
    {
      instances: [{ content: 'a', task_type: 'CLUSTERING' }],
      parameters: { autoTruncate: false, outputDimensionality: 4 },
    },
  ])
  const body = {
    predictions: [
      { embeddings: { values: [1, 2], statistics: { token_count: 3, truncated: false } } },
      { embeddings: { values: [3, 4], statistics: { token_count: 4 } } },
    ],
  }
  expect(vertex.embeddings!.result(body, { ...embeddingsRequest, inputs: ['a', 'b'] })).toEqual({
    vectors: [Float32Array.from([1, 2]), Float32Array.from([3, 4])],
    usage: { inputTokens: 7, outputTokens: 0 },
  })
  expect(() => vertex.embeddings!.result({ predictions: [{}] }, { ...embeddingsRequest, inputs: ['a'] })).toThrow(
    'protocol',
  )
})

describe('configuration', () => {
  const read = (params: string, environment: Record<string, string> = {}) =>
    readSettings({
      text: `model_list:\n  - model_name: m\n    proxy_params: { model: vertex_ai/gemini-2.5-pro, ${params} }\n`,
      file: 'config.yaml',
      environment,
      providers,
    })
  const account = { type: 'service_account', project_id: 'key-project', client_email: 'e', private_key: 'canary-key' }

  const federated = (source: object) =>
    JSON.stringify({
      type: 'external_account',
      audience: 'a',
      subject_token_type: 't',
      token_url: 'https://sts.googleapis.com/v1/token',
      credential_source: source,
    })
  const impersonated = (source: object) =>
    JSON.stringify({
      type: 'impersonated_service_account',
      service_account_impersonation_url: 'https://iam.example/v1/projects/-/serviceAccounts/a@b:generateAccessToken',
      source_credentials: source,
    })

  test('what `gcloud` keeps comes after what is named, and the metadata server after both', () => {
    const home = mkdtempSync(`${tmpdir()}/vertex-home-`)
    const params = 'vertex_project: p'
    const identity = (environment: Record<string, string>) =>
      read(params, { HOME: home, ...environment }).settings!.deployments[0]!.target.identity
    expect(identity({ GCE_METADATA_HOST: '127.0.0.1:1' })).toEqual({
      cloud: 'google',
      source: 'host',
      metadataHost: '127.0.0.1:1',
    })
    mkdirSync(join(home, '.config/gcloud'), { recursive: true })
    const user = { type: 'authorized_user', client_id: 'i', client_secret: 's', refresh_token: 'r' }
    writeFileSync(join(home, '.config/gcloud/application_default_credentials.json'), JSON.stringify(user))
    expect(identity({})).toMatchObject({ source: 'host', credentials: new Secret(JSON.stringify(user)) })
    expect(identity({ VERTEXAI_CREDENTIALS: JSON.stringify(account) })).toMatchObject({ source: 'text' })
  })

  test('credentials from a file, a map or the environment; they are never shown', () => {
    const file = `${mkdtempSync(`${tmpdir()}/vertex-`)}/key.json`
    writeFileSync(file, JSON.stringify(account))
    const given: [string, Record<string, string>][] = [
      [`vertex_credentials: "${file}"`, {}],
      [`vertex_credentials: ${JSON.stringify(account)}`, {}],
      ['vertex_location: global', { GOOGLE_APPLICATION_CREDENTIALS: file }],
    ]
    for (const [params, environment] of given) {
      const { settings, mistakes } = read(params, environment)
      expect(mistakes).toEqual([])
      const { options, identity } = settings!.deployments[0]!.target
      expect([options, identity]).toMatchObject([
        { vertex_project: 'key-project' },
        { cloud: 'google', credentials: new Secret(JSON.stringify(account)) },
      ])
      expect(
        JSON.stringify(settings!.deployments[0], (_, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        ),
      ).not.toContain('canary-key')
    }
    // A new key is the same deployment.
    const ids = ['a', 'b'].map(
      key =>
        read(`vertex_credentials: ${JSON.stringify({ ...account, private_key: key })}`).settings!.deployments[0]!.id,
    )
    expect(ids[0]).toBe(ids[1]!)
  })

  test.each([
    ['', {}, 'no project: give `vertex_project`'],
    ['vertex_project: p, vertex_credentials: /no/such/file', {}, 'cannot be read'],
    ['vertex_project: p, vertex_credentials: { type: gdch_service_account }', {}, 'has a `type` that is not supported'],
    ['vertex_project: p, vertex_credentials: { type: external_account }', {}, 'has no audience, subject_token_type'],
    [`vertex_project: p, vertex_credentials: ${federated({ certificate: {} })}`, {}, 'client certificate (X.509)'],
    [
      `vertex_project: p, vertex_credentials: ${impersonated({ type: 'x' })}`,
      {},
      '`source_credentials` whose text has',
    ],
    ['vertex_project: p, vertex_credentials: { type: service_account, client_email: e }', {}, 'has no private_key'],
    ['vertex_project: p, vertex_location: "evil.example/x"', {}, 'must be a location'],
  ])('%s is a mistake', (params, environment, words) => {
    expect(read(params, environment).mistakes.join()).toContain(words)
  })

  test('an API key alone is enough', () => {
    const { settings, mistakes } = read('api_key: k')
    expect([mistakes, settings!.deployments[0]!.target.options]).toEqual([[], {}])
  })
})

describe('fields that Vertex AI refuses and Anthropic takes', () => {
  const fields = {
    diagnostics: { previous_message_id: null },
    speed: 'fast',
    fallbacks: 'default',
    context_management: { edits: [] },
    cache_control: { type: 'ephemeral' },
  }
  const sentTo = (model: string, options: object, extra: object = fields) => {
    const { body, dropped } = vertex.chat!.request(
      request({ extra: { format: 'anthropic-messages', fields: { ...extra } } }),
      target(model, { ...project, ...options }),
    )
    return { body: body as Record<string, unknown>, dropped: [...dropped].sort() }
  }

  test('are left out by name; all others go along', () => {
    const { body, dropped } = sentTo('claude-opus-4-8', {})
    expect(dropped).toEqual(['context_management', 'diagnostics', 'fallbacks', 'speed'])
    for (const name of dropped) expect(body).not.toHaveProperty(name)
    expect(body).toMatchObject({ cache_control: fields.cache_control })
  })

  test('are sent where the model, or a beta of the configuration, has them', () => {
    const beta = { anthropic_beta: 'other, context-management-2025-06-27' }
    const { body, dropped } = sentTo('claude-fable-5-2', beta)
    expect(dropped).toEqual(['diagnostics', 'fallbacks'])
    expect(body).toMatchObject({ speed: 'fast', context_management: fields.context_management })
  })

  test('are no loss where they ask for nothing', () => {
    const { body, dropped } = sentTo('claude-opus-4-8', {}, { speed: 'standard', diagnostics: null })
    expect([dropped, 'speed' in body, 'diagnostics' in body]).toEqual([[], false, false])
  })
})

test('turns without parts, which Vertex AI refuses, are left out of what is forwarded; digits stay', () => {
  const editsOf = (contents: string, provider = vertex) => {
    const body = JsonBody.read(Buffer.from(`{"contents":${contents}}`))
    return geminiGenerate.forward.edits(
      body,
      provider.rules!(target('gemini-x', project, { provider }), 'gemini-generate'),
    ).edits
  }
  const call = '{"role":"model","parts":[{"functionCall":{"name":"f","args":{"id":1234567890123456789,"1":1.0}}}]}'
  for (const empty of ['{"role":"model"}', '{"role":"model","parts":[]}', '{"role":"model","parts":null}'])
    expect(editsOf(`[${call},${empty}]`)).toEqual([{ set: 'contents', json: `[${call}]` }])
  // Google AI takes them.
  expect(editsOf(`[${call},{"role":"model"}]`, gemini)).toEqual([])
  for (const kept of [`[${call}]`, '[{"role":"user"}]', call]) expect(editsOf(kept)).toEqual([])
})
