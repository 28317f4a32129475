/** The document holds together, is OpenAPI 3.1, has every route, and types every answer. */
import { expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { ApiDocument } from '../../../tests/support/api-document.ts'
import { descriptionProblem } from '../../../tests/support/descriptions.ts'
import { z } from 'zod'
import { allEndpoints } from '../index.ts'
import { openapiDocument } from './document.ts'

const endpoints = await allEndpoints()

type Json = Record<string, unknown>

const text = JSON.stringify(await openapiDocument(endpoints, { version: '0', headerPrefix: 'x-proxy', rootPath: '' }))
const document = JSON.parse(text) as ApiDocument
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ path, method, ...one })),
)

/** Every `$ref` under a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => (key === '$ref' ? [String(one)] : references(one)))
}

test('it is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator()
  const result = await validator.validate(JSON.parse(text) as Json)
  expect([result.valid, result.errors, validator.version]).toEqual([true, undefined, '3.1'])
  const wrong = JSON.parse(text) as { paths: Json }
  wrong.paths['/x'] = { get: { parameters: [{ name: 'a' }] } }
  expect((await new Validator().validate(wrong)).valid).toBe(false)
})

/** Every description under a value, that of a field named so left out. */
function descriptions(value: unknown, isNames = false): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'description' && typeof one === 'string' && !isNames ? [one] : descriptions(one, key === 'properties'),
  )
}

test('each description can be read alone: it is a sentence', () => {
  const { components, paths } = document
  const all = new Set(descriptions([Object.values(components), paths]))
  expect(all.size).toBeGreaterThan(500)
  expect([...all].flatMap(text => (descriptionProblem(text) ? [`${text} ${descriptionProblem(text)}`] : []))).toEqual(
    [],
  )
})

test('it has every route of the router, and no other', () => {
  const routes = endpoints.flatMap(({ method, paths }) => paths.map(path => `${method} ${path.replaceAll('+}', '}')}`))
  expect(new Set(routes).size).toBe(routes.length)
  expect(operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(routes.sort())
})

test('references lead somewhere, every component is used, each step of a path is a parameter', () => {
  const used = new Set(references(document))
  for (const one of used) {
    const found = one
      .slice(2)
      .split('/')
      .reduce<unknown>((at, part) => (at as Json | undefined)?.[part], document)
    expect([one, typeof found]).toEqual([one, 'object'])
  }
  const { schemas, responses, headers } = document.components
  for (const [kind, components] of Object.entries({ schemas, responses, headers }))
    expect(Object.keys(components).filter(name => !used.has(`#/components/${kind}/${name}`))).toEqual([])
  for (const { path, parameters } of operations)
    expect(parameters.filter(one => one.in === 'path').map(one => `{${one.name}}`)).toEqual(
      path.match(/\{[^}]+\}/g) ?? [],
    )
})

test('operation ids are words in camel case, each once; tags are described', () => {
  const ids = operations.map(one => one.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter(id => !/^[a-z][A-Za-z0-9]{4,60}$/.test(id))).toEqual([])
  const idAt = (path: string, method = 'post') => document.paths[path]![method]!.operationId
  expect([
    idAt('/v1/chat/completions'),
    idAt('/chat/completions'),
    idAt('/openai/v1/chat/completions'),
    idAt('/compat/deployments/{model}/chat/completions'),
    idAt('/v1beta/models/{model}:generateContent'),
    idAt('/gemini/v1/models/{model}:generateContent'),
    idAt('/v1/models', 'get'),
    idAt('/openai/models', 'get'),
    idAt('/health/liveness', 'get'),
  ]).toEqual([
    'createChatCompletion',
    'createChatCompletionAtRoot',
    'createChatCompletionAtOpenaiV1',
    'createChatCompletionAtCompatDeployments',
    'generateContent',
    'generateContentAtGeminiV1',
    'listModels',
    'listModelsAtOpenai',
    'checkLivelinessAtHealthLiveness',
  ])
  const tags = new Set(document.tags.map(one => one.name))
  expect([...new Set(operations.flatMap(one => one.tags))].sort()).toEqual([...tags].sort())
})

/** A schema that says nothing about what is in an object or a list. */
function isUntyped(schema: Json): boolean {
  if (schema.$ref !== undefined || schema.const !== undefined || schema.enum !== undefined) return false
  if (Array.isArray(schema.anyOf)) return schema.anyOf.some(one => isUntyped(one as Json))
  if (schema.type === 'array') return schema.items === undefined
  if (schema.type === 'object') return schema.properties === undefined && schema.additionalProperties === undefined
  return schema.type === undefined
}

/** The documented answer of a success, of whichever status. */
const successOf = ({ responses }: { responses: Json }) => responses[200] ?? responses[201] ?? responses[204]

test('endpoints name what makes the schema of a request, not the schema', () => {
  const made = endpoints.flatMap(({ doc }) => [doc.request, doc.query]).filter(one => one instanceof z.ZodType)
  expect(made).toEqual([])
})

test('every success has a typed body; only redirects, and actions that do not exist, have none', () => {
  const silent = operations.filter(one => successOf(one) === undefined).map(one => one.path)
  expect(silent.sort()).toEqual([
    '/gemini/models/{model}',
    '/gemini/v1/models/{model}',
    '/gemini/v1beta/models/{model}',
    '/models/{model_id}',
    '/sso/callback',
    '/sso/callback/{provider}',
    '/sso/key/generate',
    '/sso/logout',
    '/v1/models/{model_id}',
    '/v1beta/models/{model}',
  ])
  for (const { path, responses } of operations) {
    const { content } = (successOf({ responses }) ?? {}) as { content?: Record<string, { schema: Json }> }
    for (const [type, { schema }] of Object.entries(content ?? {})) {
      const isJson = type === 'application/json' || type === 'text/event-stream'
      expect([path, type, isUntyped(schema)]).toEqual([path, type, false])
      if (isJson) expect([path, type, references(schema).length > 0]).toEqual([path, type, true])
    }
  }
  const answers = new Set(operations.flatMap(one => references(successOf(one) ?? {})))
  for (const name of answers) {
    const schema = document.components.schemas[name.split('/').at(-1)!]
    if (schema) expect([name, isUntyped(schema)]).toEqual([name, false])
  }
})

test('calls that can stream say so', () => {
  const streaming = operations
    .filter(one => (one.responses[200] as { content?: Json } | undefined)?.content?.['text/event-stream'])
    .map(one => one.operationId.replace(/At[A-Z].*/, ''))
  expect([...new Set(streaming)].sort()).toEqual([
    'createChatCompletion',
    'createCompletion',
    'createImage',
    'createMessage',
    'createResponse',
    'createRun',
    'createSpeech',
    'createThreadAndRun',
    'createTranscription',
    'editImage',
    'followConversationAnswer',
    'followSpendLogs',
    'getResponse',
    'sendMcpMessage',
    'streamGenerateContent',
    'submitToolOutputs',
  ])
})

test('failures are in the dialect of the path', () => {
  const schemaOf = (path: string, status: number) => {
    const { $ref } = document.paths[path]!.post!.responses[status] as { $ref: string }
    return references(document.components.responses[$ref.split('/').at(-1)!]!.content)
  }
  const names = (name: string) => [`#/components/schemas/${name}`]
  for (const status of [401, 403, 404, 429, 503]) {
    expect(schemaOf('/v1/chat/completions', status)).toEqual(names('Error'))
    expect(schemaOf('/v1/messages', status)).toEqual(names('AnthropicError'))
    expect(schemaOf('/v1beta/models/{model}:generateContent', status)).toEqual(names('GeminiError'))
    expect(schemaOf('/v2/rerank', status)).toEqual(names('RerankError'))
  }
  expect(schemaOf('/v1/chat/completions', 422)).toEqual(names('ValidationError'))
  const { responses } = document.paths['/compat/deployments/{model}/chat/completions']!.post!
  expect(Object.keys(responses)).toEqual('200 400 401 403 404 408 413 415 422 429 500 502 503 default'.split(' '))
})

test('a key goes into six headers, and on paths of Gemini into the query too', () => {
  const schemes = (path: string) => document.paths[path]!.post!.security.flatMap(one => Object.keys(one))
  expect(schemes('/v1/chat/completions')).toEqual([
    'bearer',
    'xApiKey',
    'apiKey',
    'xGoogApiKey',
    'xLitellmApiKey',
    'xProxyApiKey',
  ])
  expect(schemes('/v1beta/models/{model}:generateContent')).toContain('keyParameter')
  expect(document.components.securitySchemes).toMatchObject({
    bearer: { type: 'http', scheme: 'bearer' },
    xApiKey: { in: 'header', name: 'x-api-key' },
    apiKey: { in: 'header', name: 'api-key' },
    xGoogApiKey: { in: 'header', name: 'x-goog-api-key' },
    keyParameter: { in: 'query', name: 'key' },
  })
  expect(document.paths['/metrics']!.get!.security).toEqual([])
})

test('headers about a call have the configured prefix', async () => {
  const headersWith = async (headerPrefix: string) => {
    const { paths } = (await openapiDocument(endpoints, { version: '0', headerPrefix, rootPath: '' })) as ApiDocument
    return Object.keys(paths['/v1/chat/completions']!.post!.responses[200]!.headers as Json)
  }
  expect(await headersWith('x-own')).toEqual(
    expect.arrayContaining(['x-request-id', 'x-own-model-id', 'x-own-response-cost', 'x-ratelimit-reset-tokens']),
  )
  expect((await headersWith('x-own')).filter(name => name.startsWith('x-proxy'))).toEqual([])
})

test('bodies have every field that clients may send', () => {
  const fields = {
    ChatCompletionRequest: [
      'model messages frequency_penalty logit_bias logprobs top_logprobs max_tokens n presence_penalty',
      'response_format seed service_tier stop stream_options temperature top_p tools tool_choice parallel_tool_calls',
      'function_call functions user stream metadata guardrails caching num_retries context_window_fallback_dict',
      'fallbacks chat_template_kwargs cache',
    ],
    EmbeddingsRequest: [
      'model input timeout api_base api_version api_key api_type caching user custom_llm_provider proxy_call_id',
      'proxy_logging_obj logger_fn',
    ],
    CompletionRequest: ['model prompt max_tokens temperature'],
    ModerationRequest: ['input model'],
  }
  for (const [name, wanted] of Object.entries(fields))
    expect(Object.keys(document.components.schemas[name]!.properties as Json)).toEqual(
      expect.arrayContaining(wanted.join(' ').split(' ')),
    )
})

test('a body that may be left out is not called required', () => {
  const required = (path: string) => document.paths[path]!.post!.requestBody!.required
  for (const path of ['/threads', '/v1/threads', '/threads/{thread_id}', '/assistants/{assistant_id}', '/key/generate'])
    expect([path, required(path)]).toEqual([path, false])
  for (const path of [
    '/assistants',
    '/threads/{thread_id}/messages',
    '/threads/{thread_id}/runs',
    '/key/update',
    '/v1/chat/completions',
    '/v1/embeddings',
    '/v1/audio/transcriptions',
  ])
    expect([path, required(path)]).toEqual([path, true])
})
