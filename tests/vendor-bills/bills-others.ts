/** Vendors with OpenAI's dialect that count in ways of their own, and Cohere. */
import { perMillion, perThousand } from './bill.ts'
import type { Bill } from './bill.ts'

const completion = (usage: object, more: object = {}) => ({
  id: 'chat-1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage,
  ...more,
})

type Made = Pick<Bill, 'name' | 'provider' | 'model' | 'page' | 'lines'> & Partial<Bill>
const chat = (usage: object, made: Made): Bill => ({ wording: 'chat', answer: completion(usage), ...made })

/** docs.x.ai, "Models and pricing" and "Tools pricing" (2026-11). */
const xai = { provider: 'xai', page: 'https://docs.x.ai/developers/pricing, 2026-11' }
const searchedOnX = (input: number, cached: number, output: number, searches: number, ticks: number) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'grok-4.3',
  output: [
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
    },
  ],
  usage: {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
    num_server_side_tools_used: searches,
    cost_in_usd_ticks: ticks,
    server_side_tool_usage_details: { web_search_calls: 0, x_search_calls: searches, code_interpreter_calls: 0 },
  },
})

const xaiBills: readonly Bill[] = [
  chat(
    {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 353,
      prompt_tokens_details: { text_tokens: 32, audio_tokens: 0, image_tokens: 0, cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 312, audio_tokens: 0 },
    },
    {
      ...xai,
      name: 'reasoning beside the output',
      model: 'grok-4.6',
      lines: [perMillion(26, '2.00'), perMillion(6, '0.50'), perMillion(321, '6.00')],
    },
  ),
  chat(
    { prompt_tokens: 200_000, completion_tokens: 10, total_tokens: 200_010 },
    {
      ...xai,
      name: 'a prompt of 200,000 tokens is long',
      model: 'grok-4.6',
      lines: [perMillion(200_000, '4.00'), perMillion(10, '12.00')],
    },
  ),
  chat(
    { prompt_tokens: 199_999, completion_tokens: 10, total_tokens: 200_009 },
    {
      ...xai,
      name: 'a prompt of 199,999 tokens is not',
      model: 'grok-4.6',
      lines: [perMillion(199_999, '2.00'), perMillion(10, '6.00')],
    },
  ),
  // Two real answers (with their bills in ticks of 10^-10 dollars): what xAI charged is what its list says.
  {
    ...xai,
    name: 'three searches of X, as billed',
    model: 'grok-4.3',
    wording: 'responses',
    answer: searchedOnX(7583, 3072, 3192, 3, 292_331_500),
    lines: [perMillion(4511, '1.25'), perMillion(3072, '0.20'), perMillion(3192, '2.50'), perThousand(3, '5.00')],
  },
  {
    ...xai,
    name: 'five searches of X, as billed',
    model: 'grok-4.3',
    wording: 'responses',
    answer: searchedOnX(12_190, 3072, 4801, 5, 490_144_000),
    lines: [perMillion(9118, '1.25'), perMillion(3072, '0.20'), perMillion(4801, '2.50'), perThousand(5, '5.00')],
  },
]

/** api-docs.deepseek.com, "Models & Pricing" (2026-11): peak hours on weekdays, 01:00-04:00 and 06:00-10:00 UTC. */
const deepseek = {
  provider: 'deepseek',
  model: 'deepseek-v4-pro',
  page: 'https://api-docs.deepseek.com/quick_start/pricing, 2026-11',
}
const hits = {
  prompt_tokens: 1000,
  prompt_cache_hit_tokens: 640,
  prompt_cache_miss_tokens: 360,
  completion_tokens: 200,
  total_tokens: 1200,
}
const deepseekBills: readonly Bill[] = [
  chat(hits, {
    ...deepseek,
    name: 'a hit of the cache off-peak',
    at: '2026-11-24T05:00:00Z',
    lines: [perMillion(360, '0.66'), perMillion(640, '0.022'), perMillion(200, '1.98')],
  }),
  chat(hits, {
    ...deepseek,
    name: 'peak hours',
    at: '2026-11-24T06:00:00Z',
    lines: [perMillion(360, '1.32'), perMillion(640, '0.044'), perMillion(200, '3.96')],
  }),
  chat(hits, {
    ...deepseek,
    name: 'the same hours on a Sunday',
    at: '2026-11-22T06:00:00Z',
    lines: [perMillion(360, '0.66'), perMillion(640, '0.022'), perMillion(200, '1.98')],
  }),
  chat(hits, { ...deepseek, name: 'a call into the peak hours', at: '2026-11-24T05:59:59Z', seconds: 5, lines: null }),
]

const mistral = {
  provider: 'mistral',
  page: 'https://mistral.ai/pricing and docs.mistral.ai, "Prompt caching", 2026-11',
}
const groq = { provider: 'groq', page: 'https://groq.com/pricing, 2026-11' }
const dashscope = {
  provider: 'dashscope',
  model: 'qwen3-max',
  page: 'https://www.alibabacloud.com/help/en/model-studio/models and context-cache, 2026-10',
}
const openrouter = { provider: 'openrouter', page: 'https://openrouter.ai/docs, "Usage accounting", 2026-11' }

export const otherBills: readonly Bill[] = [
  ...xaiBills,
  ...deepseekBills,
  chat(
    { prompt_tokens: 1000, completion_tokens: 34, total_tokens: 1034, num_cached_tokens: 800 },
    {
      ...mistral,
      name: 'a tenth for cached tokens',
      model: 'mistral-medium-latest',
      lines: [perMillion(200, '1.50'), perMillion(800, '0.15'), perMillion(34, '7.50')],
    },
  ),
  chat(
    { prompt_tokens: 1000, completion_tokens: 34, total_tokens: 1034, service_tier: 'priority' },
    { ...mistral, name: 'priority without a price', model: 'mistral-medium-latest', lines: null },
  ),
  chat(
    { prompt_tokens: 1190, completion_tokens: 21, total_tokens: 1211, cached_tokens: 1024 },
    {
      provider: 'moonshot',
      page: 'https://platform.moonshot.ai/docs/pricing/chat, 2026-11',
      name: 'cached tokens beside the totals',
      model: 'kimi-k2.5',
      lines: [perMillion(166, '0.60'), perMillion(1024, '0.10'), perMillion(21, '3.00')],
    },
  ),
  // The example of the guide "Context Cache", implicit cache.
  chat(
    {
      prompt_tokens: 3019,
      completion_tokens: 104,
      total_tokens: 3123,
      prompt_tokens_details: { cached_tokens: 2048 },
    },
    {
      ...dashscope,
      name: 'an implicit cache at a fifth',
      lines: [perMillion(971, '1.20'), perMillion(2048, '0.24'), perMillion(104, '6.00')],
    },
  ),
  chat(
    {
      prompt_tokens: 1605,
      completion_tokens: 187,
      total_tokens: 1792,
      prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 1581, cache_type: 'ephemeral' },
    },
    {
      ...dashscope,
      name: 'an explicit cache is written at 125 percent',
      lines: [perMillion(24, '1.20'), perMillion(1581, '1.50'), perMillion(187, '6.00')],
    },
  ),
  chat(
    {
      prompt_tokens: 1605,
      completion_tokens: 187,
      total_tokens: 1792,
      prompt_tokens_details: { cached_tokens: 1581, cache_creation_input_tokens: 0, cache_type: 'ephemeral' },
    },
    { ...dashscope, name: 'an explicit cache is read at a tenth, which the list does not have', lines: null },
  ),
  chat(
    { prompt_tokens: 32_001, completion_tokens: 100, total_tokens: 32_101 },
    { ...dashscope, name: 'above 32,000 tokens', lines: [perMillion(32_001, '2.40'), perMillion(100, '12.00')] },
  ),
  chat(
    {
      queue_time: 0.03,
      prompt_tokens: 4641,
      completion_tokens: 1817,
      total_tokens: 6458,
      prompt_tokens_details: { cached_tokens: 4608 },
    },
    {
      ...groq,
      name: 'half for cached tokens',
      model: 'openai/gpt-oss-120b',
      lines: [perMillion(33, '0.15'), perMillion(4608, '0.075'), perMillion(1817, '0.60')],
    },
  ),
  {
    ...groq,
    name: 'speech of three seconds is billed as ten',
    model: 'whisper-large-v3',
    wording: 'transcription',
    answer: { text: 'Hi', duration: 3 },
    lines: [[10, '0.111', 3600]],
  },
  // A real answer.
  chat(
    {
      prompt_tokens: 10_427,
      completion_tokens: 264,
      total_tokens: 10_691,
      cost: 0.0033789,
      is_byok: false,
      cost_details: { upstream_inference_cost: 0.0033789 },
    },
    { ...openrouter, name: 'what it charged', model: 'deepseek/deepseek-chat-v3.1', lines: [[1, '0.0033789', 1]] },
  ),
  chat(
    {
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      cost: 0.00018,
      is_byok: true,
      cost_details: { upstream_inference_cost: 0.0036 },
    },
    { ...openrouter, name: 'its fee, and what the own key costs', model: 'openai/gpt-4o', lines: [[1, '0.00378', 1]] },
  ),
  {
    provider: 'perplexity',
    page: 'https://docs.perplexity.ai, "Agent API", 2026-11',
    name: 'what it charged, searches included',
    model: 'perplexity/sonar',
    wording: 'responses',
    answer: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'perplexity/sonar',
      output: [
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 1200,
        output_tokens: 300,
        total_tokens: 1500,
        cost: {
          currency: 'USD',
          input_cost: 0.0003,
          output_cost: 0.00075,
          tool_calls_cost: 0.005,
          total_cost: 0.00605,
        },
      },
    },
    lines: [[1, '0.00605', 1]],
  },
  {
    provider: 'cohere',
    page: 'https://docs.cohere.com/docs/how-does-cohere-pricing-work, 2026-11',
    name: 'billed units, not tokens',
    model: 'command-r-08-2024',
    wording: 'cohere',
    answer: {
      id: 'c14c80c3-18eb-4519-9460-6c92edd8cfb4',
      finish_reason: 'COMPLETE',
      message: { role: 'assistant', content: [{ type: 'text', text: 'LLMs' }] },
      usage: {
        billed_units: { input_tokens: 5, output_tokens: 418 },
        tokens: { input_tokens: 71, output_tokens: 418 },
      },
    },
    lines: [perMillion(5, '0.15'), perMillion(418, '0.60')],
  },
]
