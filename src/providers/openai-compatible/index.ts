/** Turns one row of the catalogue into a provider. */
import type { Target } from '../../core/deployment.ts'
import type { CallHead, Dialect, Provider } from '../../core/provider.ts'
import { generalFault } from '../fault.ts'
import { embeddingsBody, embeddingsResult } from './embeddings.ts'
import { chatReader, chatResult } from './read.ts'
import { chatBody } from './request.ts'
import type { CompatibleRow } from './row.ts'

const chatParams = [
  'messages', 'model', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'max_tokens',
  'max_completion_tokens', 'n', 'presence_penalty', 'response_format', 'seed', 'service_tier', 'stop', 'stream',
  'stream_options', 'temperature', 'top_p', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions',
  'function_call', 'user', 'metadata', 'reasoning_effort',
]

/** `https://api.openai.com/v1` + `/chat/completions`, with the key and what the operator configured. */
export function compatibleHead(target: Target, path: string): CallHead {
  const { organization, project } = target.options
  return {
    url: `${target.baseUrl}${path}`,
    headers: {
      'content-type': 'application/json',
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...(typeof organization === 'string' && { 'openai-organization': organization }),
      ...(typeof project === 'string' && { 'openai-project': project }),
      ...target.headers,
    },
  }
}

export function openaiCompatible(name: string, row: CompatibleRow): Provider {
  const speaks: Partial<Record<Dialect, (target: Target) => CallHead>> = {
    'openai-chat': target => compatibleHead(target, '/chat/completions'),
  }
  if (row.completions) speaks['openai-completions'] = target => compatibleHead(target, '/completions')
  if (row.embeddings !== false) speaks['openai-embeddings'] = target => compatibleHead(target, '/embeddings')
  return {
    name,
    ...(row.baseUrl !== undefined && { defaultBaseUrl: row.baseUrl }),
    apiKeyEnv: row.apiKeyEnv,
    ...(row.keyless && { keyless: true }),
    speaks,
    ...(row.quirks && { quirks: row.quirks }),
    chat: {
      request: (request, target) => ({
        head: compatibleHead(target, '/chat/completions'),
        ...chatBody(request, target, row),
      }),
      result: chatResult,
      reader: chatReader,
    },
    ...(row.embeddings !== false && {
      embeddings: {
        request: (request, target) => ({
          head: compatibleHead(target, '/embeddings'),
          body: embeddingsBody(request, target.model),
          dropped: [],
        }),
        result: embeddingsResult,
      },
    }),
    fault: generalFault,
    chatParams: chatParams.filter(param => !row.quirks?.drop?.includes(param)),
  }
}
