/** The OpenAPI document says what the gateway API specification says, and hangs together. */
import { expect, test } from 'bun:test'
import { endpoints } from './index.ts'
import { openapiDocument } from './openapi.ts'

type Json = Record<string, unknown>
interface Operation {
  readonly operationId: string
  readonly parameters: readonly { name: string; in: string }[]
  readonly responses: Readonly<Record<string, Json>>
  readonly requestBody?: { readonly required: boolean }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { properties?: Json }>> }
}

const document = JSON.parse(JSON.stringify(openapiDocument(endpoints, '0'))) as Document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ path, method, ...one })),
)

/** Every `$ref` under a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => (key === '$ref' ? [String(one)] : references(one)))
}

test('references lead somewhere, names differ, each step of a path is a parameter', () => {
  for (const reference of references(document)) {
    const found = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((at, part) => (at as Json | undefined)?.[part], document)
    expect([reference, typeof found]).toEqual([reference, 'object'])
  }
  expect(new Set(operations.map(one => one.operationId)).size).toBe(operations.length)
  for (const { path, parameters } of operations)
    expect(parameters.filter(one => one.in === 'path').map(one => `{${one.name}}`)).toEqual(
      path.match(/\{[^}]+\}/g) ?? [],
    )
})

test('chat completions list every error status of the specification', () => {
  const { responses } = document.paths['/compat/deployments/{model}/chat/completions']!.post!
  expect(Object.keys(responses)).toEqual([
    '200',
    '400',
    '401',
    '403',
    '404',
    '408',
    '422',
    '429',
    '500',
    '503',
    'default',
  ])
})

test('bodies have every field of the specification', () => {
  const fields = {
    ChatCompletionRequest:
      'model messages frequency_penalty logit_bias logprobs top_logprobs max_tokens n presence_penalty response_format seed service_tier stop stream_options temperature top_p tools tool_choice parallel_tool_calls function_call functions user stream metadata guardrails caching num_retries context_window_fallback_dict fallbacks chat_template_kwargs cache',
    EmbeddingsRequest:
      'model input timeout api_base api_version api_key api_type caching user custom_llm_provider proxy_call_id proxy_logging_obj logger_fn',
    CompletionRequest: 'model prompt max_tokens temperature',
    ModerationRequest: 'input model',
  }
  for (const [name, wanted] of Object.entries(fields))
    expect(Object.keys(document.components.schemas[name]!.properties!)).toEqual(
      expect.arrayContaining(wanted.split(' ')),
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
