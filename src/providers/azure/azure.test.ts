/** Fixtures follow learn.microsoft.com: "Azure OpenAI REST API reference", "Content filtering", "Entra ID". */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { CloudIdentity } from '../../core/cloud-identity.ts'
import type { Target } from '../../core/provider.ts'
import { Secret } from '../../lib/secret.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { chatRequest, dataEvents, joined, readStream, targetOf } from '../../../tests/support/provider-rig.ts'
import { azure, azureAi } from './index.ts'

const resource = 'https://my.openai.azure.com'
const entra: CloudIdentity = {
  cloud: 'azure',
  authority: 'https://login.microsoftonline.com',
  scope: 'https://cognitiveservices.azure.com/.default',
  proof: { kind: 'managed-identity' },
}
const target = (more: Partial<Target> = {}) => targetOf(azure, { model: 'gpt 4o', baseUrl: resource, ...more })
const url = (dialect: keyof typeof azure.speaks, more: Partial<Target> = {}) =>
  azure.speaks[dialect]!(target(more), false).url

describe('addresses', () => {
  test('by deployment and dated version', () => {
    const at = `${resource}/openai/deployments/gpt%204o`
    expect(url('openai-chat')).toBe(`${at}/chat/completions?api-version=2024-10-21`)
    expect(url('openai-embeddings', { options: { api_version: '2025-04-01-preview' } })).toBe(
      `${at}/embeddings?api-version=2025-04-01-preview`,
    )
    expect(url('openai-images')).toBe(`${at}/images/generations?api-version=2024-10-21`)
    expect(url('openai-speech')).toBe(`${at}/audio/speech?api-version=2024-10-21`)
    expect(url('openai-completions', { baseUrl: `${resource}/openai` })).toBe(
      `${at}/completions?api-version=2024-10-21`,
    )
    expect(url('openai-chat', { baseUrl: `${resource}/openai/deployments/mine` })).toBe(
      `${resource}/openai/deployments/mine/chat/completions?api-version=2024-10-21`,
    )
    expect(url('openai-chat', { baseUrl: `${resource}/openai/deployments/mine/chat/completions` })).toBe(
      `${resource}/openai/deployments/mine/chat/completions?api-version=2024-10-21`,
    )
    expect(url('openai-chat', { baseUrl: 'https://apim.example/team/llm' })).toBe(
      'https://apim.example/team/llm/openai/deployments/gpt%204o/chat/completions?api-version=2024-10-21',
    )
  })

  test.each([
    [{ options: { api_version: 'v1' } }, ''],
    [{ options: { api_version: 'latest' } }, ''],
    [{ options: { api_version: 'preview' } }, '?api-version=preview'],
    [{ baseUrl: `${resource}/openai/v1`, options: { api_version: '2024-10-21' } }, ''],
  ])('the v1 form: %j', (more, query) => {
    expect(url('openai-chat', more)).toBe(`${resource}/openai/v1/chat/completions${query}`)
    expect(url('openai-responses', more)).toBe(`${resource}/openai/v1/responses${query}`)
  })

  test('responses stand beside the deployments, and in versions that lack them under v1', () => {
    expect(url('openai-responses', { options: { api_version: '2025-03-01-preview' } })).toBe(
      `${resource}/openai/responses?api-version=2025-03-01-preview`,
    )
    expect(url('openai-responses')).toBe(`${resource}/openai/v1/responses`)
  })

  test('forms bring their own content type; the key has its own header', () => {
    expect(azure.speaks['openai-transcriptions']!(target({ headers: { 'x-a': 'b' } }), false).headers).toEqual({
      'api-key': 'canary',
      'x-a': 'b',
    })
    expect(azure.speaks['openai-chat']!(target(), false).headers).toEqual({
      'content-type': 'application/json',
      'api-key': 'canary',
    })
    expect(
      azure.speaks['openai-chat']!(target({ options: { azure_ad_token: new Secret('jwt') } }), false).headers,
    ).toEqual({
      'content-type': 'application/json',
      authorization: 'Bearer jwt',
    })
  })
})

/** learn.microsoft.com, "Azure OpenAI API preview lifecycle" and "Azure OpenAI reasoning models". */
describe('what models and dated versions refuse', () => {
  const asked = { maxOutputTokens: 100, temperature: 0.5, stream: true, parallelToolCalls: false }
  const tools = [{ name: 'f', parameters: { type: 'object', properties: {} } }]
  const sent = (options: Target['options'], model = 'mine') => {
    const { body, dropped } = azure.chat!.request(chatRequest({ ...asked, tools }), target({ model, options }))
    const { messages: _, tools: __, model: ___, stream: ____, ...fields } = body as Record<string, unknown>
    return { fields, dropped }
  }
  const withUsage = { stream_options: { include_usage: true } }

  test.each<[string, Target['options'], Record<string, unknown>, string[]]>([
    [
      'before 2024-09-01',
      { api_version: '2024-06-01' },
      { max_tokens: 100, temperature: 0.5 },
      ['parallel_tool_calls'],
    ],
    [
      'since then',
      { api_version: '2024-09-01-preview' },
      { max_completion_tokens: 100, temperature: 0.5, parallel_tool_calls: false, ...withUsage },
      [],
    ],
    [
      'a reasoning model by `base_model`',
      { base_model: 'gpt-5' },
      { max_completion_tokens: 100, parallel_tool_calls: false, ...withUsage },
      ['temperature'],
    ],
    [
      'another model',
      { base_model: 'gpt-4o' },
      { max_completion_tokens: 100, temperature: 0.5, parallel_tool_calls: false, ...withUsage },
      [],
    ],
  ])('%s', (_, options, fields, dropped) => {
    expect(sent(options)).toEqual({ fields, dropped })
  })

  test('the same where the bytes are forwarded, by the name of the deployment too', () => {
    const body = JsonBody.read(Buffer.from('{"model":"m","max_tokens":5,"temperature":0.5,"seed":1}'))
    const rules = azure.rules!(target({ model: 'gpt-5-mini' }), 'openai-chat')
    const { edits, dropped } = openaiChat.forward.edits(body, rules)
    expect(Buffer.concat(body.edited(edits)).toString()).toBe('{"model":"m","seed":1,"max_completion_tokens":5}')
    expect(dropped).toEqual(['temperature'])
  })
})

describe('Entra ID', () => {
  const authorize = azure.authorize!
  const call = (over: Target) => ({ method: 'POST' as const, ...azure.speaks['openai-chat']!(over, false), body: [] })

  test('a token goes out instead of the key', () => {
    const over = target({ identity: entra })
    expect(call(over).headers).not.toHaveProperty('api-key')
    const credential = { kind: 'token', token: 'jwt' } as const
    expect(authorize(call(over), over, { epochMs: 0, credential })).toEqual({ authorization: 'Bearer jwt' })
  })

  test('a key needs no token; nothing at all is named with its remedy', () => {
    expect(authorize(call(target()), target(), { epochMs: 0 })).toEqual({})
    const bare = target({ apiKey: undefined })
    expect(() => authorize(call(bare), bare, { epochMs: 0 })).toThrow(
      'gives `api_key`, `tenant_id`, `client_id` and `client_secret`, or `azure_credential`',
    )
  })
})

describe('answers and errors', () => {
  const filtered = {
    hate: { filtered: true, severity: 'high' },
    jailbreak: { filtered: true, detected: true },
    violence: { filtered: false, severity: 'safe' },
  }

  test('what the content filter refused, and why', () => {
    const message = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: filtered }
    const body = { error: { message, type: null, param: 'prompt', code: 'content_filter', status: 400, innererror } }
    expect(classify({ host: 'azure', status: 400, body })).toEqual({
      kind: 'content-policy',
      message: `${message} (filtered: hate (high), jailbreak)`,
      code: 'content_filter',
      param: 'prompt',
    })
  })

  test.each([
    [
      404,
      { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
      'model-not-found',
    ],
    [401, { statusCode: 401, message: 'Access denied due to invalid subscription key' }, 'upstream-credentials'],
    [
      400,
      { error: { message: "This model's maximum context length is 8192 tokens", code: 'context_length_exceeded' } },
      'context-too-long',
    ],
    [400, { error: { code: 'unsupported', message: 'no', innererror: 1 } }, 'upstream-refused'],
    [429, { error: { code: '429', message: 'Requests have exceeded call rate limit' } }, 'upstream-rate-limited'],
    [400, 'plain', 'upstream-refused'],
  ])('%d %j is %s', (status, body, kind) => {
    expect(classify({ host: 'azure', status, body }).kind).toBe(kind as never)
  })

  test('a stream that begins with filter results begins with the answer; cut anywhere it is the whole answer', () => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: 'chatcmpl-1',
      created: 5,
      model: 'gpt-4o',
      choices: [{ index: 0, delta, finish_reason, content_filter_results: filtered }],
    })
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
    const stream =
      dataEvents([
        {
          choices: [],
          created: 0,
          id: '',
          model: '',
          object: '',
          prompt_filter_results: [{ prompt_index: 0, content_filter_results: filtered }],
        },
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'Hé' }),
        chunk({ content: 'llo' }),
        chunk({}, 'content_filter'),
        { id: 'chatcmpl-1', choices: [], usage },
      ]) + 'data: [DONE]\n\n'
    const whole = {
      id: 'chatcmpl-1',
      created: 5,
      model: 'gpt-4o',
      usage,
      choices: [{ index: 0, finish_reason: 'content_filter', message: { role: 'assistant', content: 'Héllo' } }],
    }
    const expected = joined(azure.chat!.result(whole))
    expect(expected).toContainEqual({ type: 'finish', choice: 0, reason: 'content-filter' })
    for (let size = 1; size < 250; size++) expect(readStream(azure.chat!, stream, size)).toEqual(expected)
  })

  test('the limit of the output has the newer name', () => {
    const { head, body } = azure.chat!.request(chatRequest({ maxOutputTokens: 7 }), target())
    expect(head.url).toContain('/deployments/gpt%204o/chat/completions')
    expect(body).toMatchObject({ model: 'gpt 4o', max_completion_tokens: 7 })
  })
})

describe('Azure AI Foundry', () => {
  const head = (baseUrl: string, more: Partial<Target> = {}) =>
    azureAi.speaks['openai-chat']!(targetOf(azureAi, { baseUrl, ...more }), false)

  test('a resource, its v1 form, and an endpoint of one model', () => {
    const foundry = {
      url: 'https://a.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview',
      headers: { 'content-type': 'application/json', 'api-key': 'canary', 'extra-parameters': 'pass-through' },
    }
    expect(head('https://a.services.ai.azure.com')).toEqual(foundry)
    expect(head('https://a.services.ai.azure.com/models')).toEqual(foundry)
    expect(head('https://a.services.ai.azure.com/openai/v1')).toEqual({
      url: 'https://a.services.ai.azure.com/openai/v1/chat/completions',
      headers: { 'content-type': 'application/json', 'api-key': 'canary' },
    })
    const endpoint = 'https://m.eastus2.models.ai.azure.com'
    expect(head(endpoint)).toEqual({
      url: `${endpoint}/chat/completions`,
      headers: { 'content-type': 'application/json', authorization: 'Bearer canary' },
    })
    expect(head(endpoint, { identity: entra }).headers).toEqual({ 'content-type': 'application/json' })
    expect(
      azureAi.speaks['openai-embeddings']!(
        targetOf(azureAi, { baseUrl: 'https://a.services.ai.azure.com', options: { api_version: '2025-01-01' } }),
        false,
      ).url,
    ).toBe('https://a.services.ai.azure.com/models/embeddings?api-version=2025-01-01')
  })
})
