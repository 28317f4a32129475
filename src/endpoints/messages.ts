/** Messages for Claude Code and Anthropic's SDKs. `?beta=true`, which they send with betas, changes nothing here. */
import type { Answer } from '../core/answer.ts'
import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { anthropicCountTokens, anthropicErrorBody, anthropicMessages } from '../formats/anthropic/index.ts'
import { json, jsonOrEvents } from './openapi/schema.ts'

const content = { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'object' } }] }
const inputFields = {
  model: { type: 'string' },
  messages: {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      required: ['role', 'content'],
      properties: { role: { enum: ['user', 'assistant', 'system'] }, content },
    },
  },
  system: content,
  tools: { type: 'array', items: { type: 'object' } },
  tool_choice: { type: 'object' },
  thinking: { type: 'object' },
  output_config: { type: 'object' },
}
const messagesRequest = {
  type: 'object',
  required: ['model', 'messages', 'max_tokens'],
  properties: {
    ...inputFields,
    max_tokens: { type: 'integer', minimum: 0 },
    stream: { type: 'boolean' },
    stop_sequences: { type: 'array', items: { type: 'string' } },
    temperature: { type: 'number', minimum: 0, maximum: 1 },
    top_p: { type: 'number', minimum: 0, maximum: 1 },
    top_k: { type: 'integer', minimum: 0 },
    metadata: { type: 'object', properties: { user_id: { type: ['string', 'null'] } } },
    service_tier: { type: 'string' },
  },
}
const query: EndpointDoc['query'] = { beta: { schema: { type: 'boolean' }, description: 'Accepted and ignored.' } }
const paths = (rest: string): string[] =>
  ['/v1/messages', '/messages', '/anthropic/v1/messages'].map(base => base + rest)

/** Anthropic's SDKs look for the id of the call in a header of its own name. */
async function named(request: HttpRequest, answer: Promise<Answer>): Promise<Answer> {
  const answered = await answer
  answered.headers['request-id'] = request.id
  return answered
}

/** platform.claude.com/docs/en/api/messages. Answers name the call in `request-id` too. */
export const messages: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: {
    operationId: 'createMessage',
    summary: "Create a message, in Anthropic's dialect",
    tag: 'Messages',
    query,
    request: messagesRequest,
    success: jsonOrEvents('Message', 'MessageStream'),
    callsModel: true,
    headers: ['request-id'],
  },
  errorBody: anthropicErrorBody,
  handle: (request, services, caller) =>
    named(request, services.callModel(request, caller!, { format: anthropicMessages, route: '/v1/messages' })),
}

/**
 * platform.claude.com/docs/en/api/messages-count-tokens. Where no upstream can count, an estimate, which a header says
 * it is.
 */
export const messagesCountTokens: Endpoint = {
  method: 'POST',
  paths: paths('/count_tokens'),
  auth: 'key',
  doc: {
    operationId: 'countMessageTokens',
    summary: "Count the tokens of a message's input, in Anthropic's dialect",
    tag: 'Messages',
    query,
    request: { type: 'object', required: ['model', 'messages'], properties: inputFields },
    success: json('MessageInputTokens'),
    callsModel: true,
    headers: ['request-id', 'x-token-count-source'],
  },
  errorBody: anthropicErrorBody,
  handle: (request, services, caller) =>
    named(
      request,
      services.callModel(request, caller!, { format: anthropicCountTokens, route: '/v1/messages/count_tokens' }),
    ),
}
