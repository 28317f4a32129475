/**
 * Perplexity's Agent API: the names of its Sonar models, which ended with its chat API, in the words of the Agent API
 * (one model, and a preset for how much it searches and reasons; the preset alone would leave the choice of the model
 * to the host), and what it does not take of OpenAI's Responses.
 */
import type { ResponsesRule } from './chat.ts'
import type { Source } from './source.ts'

/** Where these are listed, with the same mapping in github.com/hex/llm-perplexity/pull/27. */
export const sonarSource: Source = { url: 'https://github.com/vercel/ai/issues/18988', readOn: '2026-11-23' }

const sonar = (preset: string) => ({ model: 'perplexity/sonar', preset })

/** The fields of a Response by the older name of the model. Other names are sent as they are. */
export const sonarModels: Readonly<Record<string, { readonly model: string; readonly preset: string }>> = {
  sonar: sonar('fast'),
  'sonar-pro': sonar('low'),
  'sonar-reasoning': sonar('medium'),
  'sonar-reasoning-pro': sonar('medium'),
  'sonar-deep-research': sonar('high'),
}

/**
 * The types of perplexityai 0.46 (`perplexity/types/response_create_params.py`, made from its OpenAPI document) have
 * none of these. `text` is `response_format` there, and its only form is a schema.
 */
export const agentApi: ResponsesRule = {
  source: { url: 'https://docs.perplexity.ai/api-reference/', readOn: '2026-11-23' },
  unsupported: [
    'include',
    'temperature',
    'top_p',
    'top_logprobs',
    'parallel_tool_calls',
    'user',
    'metadata',
    'service_tier',
    'max_tool_calls',
    'prompt',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'safety_identifier',
    'stream_options',
    'truncation',
    'context_management',
    'moderation',
  ],
  efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'],
  chatFormat: true,
  toolChoice: false,
  plainInput: true,
}
