/** What vendors charge beside tokens, and by which list: searches, maps, lifetimes of caches, routers, tiers. */
import { perMillion, perThousand } from './bill.ts'
import type { Bill } from './bill.ts'
import { converseAnswer, geminiAnswer, responsesAnswer } from './answers.ts'

/** The pages that have these prices; the figures are those that LiteLLM's list 1.110.2 gives for them on this day. */
const openaiPage = 'https://developers.openai.com/api/docs/pricing, by LiteLLM 1.110.2'
const openaiCaching = 'https://developers.openai.com/api/docs/guides/prompt-caching, by LiteLLM 1.110.2'
const googlePage = 'https://ai.google.dev/gemini-api/docs/pricing, by LiteLLM 1.110.2'
const routerPage =
  'https://learn.microsoft.com/en-us/azure/foundry/openai/concepts/model-router-faq, by LiteLLM 1.110.2'
const bedrockPage = 'https://aws.amazon.com/bedrock/pricing/, by LiteLLM 1.110.2'

type Given = Pick<Bill, 'name' | 'model' | 'lines'> & Partial<Bill>

const chat = (usage: object, given: Given, more: object = {}): Bill => ({
  provider: 'openai',
  wording: 'chat',
  page: openaiPage,
  answer: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: given.model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage,
    ...more,
  },
  ...given,
})

const responses = (usage: object, given: Given, more: object = {}): Bill => ({
  provider: 'openai',
  wording: 'responses',
  page: openaiPage,
  answer: responsesAnswer(usage, { model: given.model, ...more }),
  ...given,
})

const gemini = (usageMetadata: object, given: Given, groundingMetadata?: object): Bill => ({
  provider: 'gemini',
  wording: 'gemini',
  page: googlePage,
  answer: geminiAnswer(usageMetadata, groundingMetadata),
  ...given,
})

const converse = (usage: object, given: Given, more: object = {}): Bill => ({
  provider: 'bedrock',
  wording: 'converse',
  page: bedrockPage,
  answer: converseAnswer(usage, more),
  ...given,
})

const small = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 }
const tokens = { input_tokens: 328, output_tokens: 356, total_tokens: 684 }
const searched = (type: string) => ({
  tools: [{ type }],
  output: [{ id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } }],
})
const written = (twelveHours: number) => ({ cached_tokens: 500, cache_write_tokens: 1000, ...lifetimes(twelveHours) })
const lifetimes = (twelveHours: number) => ({
  cache_write_tokens_details: { ttl_30m_tokens: 1000 - twelveHours, ttl_12h_tokens: twelveHours },
})
const places = { groundingChunks: [{ maps: { uri: 'https://maps.google.com/1', title: 'A', placeId: 'p' } }] }
const prompt = { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 }
const long = { promptTokenCount: 200_001, candidatesTokenCount: 100, totalTokenCount: 200_101 }

/** Lifetimes of OpenAI's cache. */
const cacheBills: readonly Bill[] = [
  chat(
    { prompt_tokens: 2000, completion_tokens: 200, total_tokens: 2200, prompt_tokens_details: written(1000) },
    {
      name: 'writes for twelve hours',
      model: 'gpt-6-sol',
      page: openaiCaching,
      lines: [perMillion(500, '2.00'), perMillion(500, '0.20'), perMillion(1000, '5.00'), perMillion(200, '10.00')],
    },
  ),
  responses(
    { input_tokens: 2000, output_tokens: 200, total_tokens: 2200, input_tokens_details: written(400) },
    {
      name: 'writes of two lifetimes',
      model: 'gpt-6-sol',
      page: openaiCaching,
      lines: [
        perMillion(500, '2.00'),
        perMillion(500, '0.20'),
        perMillion(600, '2.50'),
        perMillion(400, '5.00'),
        perMillion(200, '10.00'),
      ],
    },
  ),
  chat(
    {
      prompt_tokens: 2000,
      completion_tokens: 200,
      total_tokens: 2200,
      prompt_tokens_details: written(1000),
    },
    {
      name: 'writes for twelve hours by the flexible service',
      model: 'gpt-6-sol',
      page: openaiCaching,
      lines: [perMillion(500, '1.00'), perMillion(500, '0.10'), perMillion(1000, '2.50'), perMillion(200, '5.00')],
    },
    { service_tier: 'flex' },
  ),
]

/** Searches of the web. */
const searchBills: readonly Bill[] = [
  chat(small, {
    name: 'a search model searches before each answer',
    model: 'gpt-4o-search-preview',
    lines: [perMillion(1000, '2.50'), perMillion(200, '10.00'), perThousand(1, '25.00')],
  }),
  chat(small, {
    name: 'a small search model',
    model: 'gpt-4o-mini-search-preview-2025-03-11',
    lines: [perMillion(1000, '0.15'), perMillion(200, '0.60'), perThousand(1, '25.00')],
  }),
  chat(small, {
    name: 'the search model of the fifth series',
    model: 'gpt-5-search-api',
    lines: [perMillion(1000, '1.25'), perMillion(200, '10.00'), perThousand(1, '10.00')],
  }),
  responses(
    tokens,
    {
      name: 'a search by the tool, of a model that does not reason',
      model: 'gpt-4.1',
      lines: [perMillion(328, '2.00'), perMillion(356, '8.00'), perThousand(1, '10.00')],
    },
    searched('web_search'),
  ),
  responses(
    tokens,
    {
      name: 'a search of a small model that does not reason',
      model: 'gpt-4o-mini-2024-07-18',
      lines: [perMillion(328, '0.15'), perMillion(356, '0.60'), perThousand(1, '10.00')],
    },
    searched('web_search'),
  ),
  responses(
    tokens,
    {
      name: 'a search by the preview tool, of a model that reasons',
      model: 'o4-mini',
      lines: [perMillion(328, '1.10'), perMillion(356, '4.40'), perThousand(1, '10.00')],
    },
    searched('web_search_preview_2025_03_11'),
  ),
]

/** Grounding by Google's maps, and tiers. */
const googleBills: readonly Bill[] = [
  gemini(
    prompt,
    {
      name: 'maps by the query',
      model: 'gemini-3-flash-preview',
      lines: [perMillion(1000, '0.50'), perMillion(100, '3.00'), perThousand(2, '14.00')],
    },
    { ...places, webSearchQueries: ['cafes near the river', 'open cafes', 'open cafes'] },
  ),
  gemini(
    prompt,
    {
      name: 'maps without a query in the answer',
      model: 'gemini-3.1-pro-preview',
      lines: [perMillion(1000, '2.00'), perMillion(100, '12.00'), perThousand(1, '14.00')],
    },
    places,
  ),
  gemini(
    prompt,
    {
      name: 'the web and maps in one answer',
      model: 'gemini-3-flash-preview',
      lines: [perMillion(1000, '0.50'), perMillion(100, '3.00'), perThousand(1, '14.00'), perThousand(1, '14.00')],
    },
    {
      groundingChunks: [...places.groundingChunks, { web: { uri: 'https://a.example', title: 'A' } }],
      webSearchQueries: ['cafes near the river'],
    },
  ),
  gemini(
    { ...long, serviceTier: 'flex' },
    {
      name: 'the flexible service above 200,000 tokens',
      model: 'gemini-2.5-pro',
      lines: [perMillion(200_001, '1.25'), perMillion(100, '7.50')],
    },
  ),
  gemini(
    { ...long, serviceTier: 'flex' },
    {
      name: 'the flexible service above 200,000 tokens, by the third series',
      model: 'gemini-3.1-pro-preview',
      lines: [perMillion(200_001, '2.00'), perMillion(100, '9.00')],
    },
  ),
]

/** Routers: a fee for the input, and the model that answered. */
const routed = (model: string, given: Given) =>
  chat(small, { ...given, provider: 'azure', page: routerPage }, { model })
const routerBills: readonly Bill[] = [
  routed('gpt-4.1-2025-04-14', {
    name: 'a router and the model that it chose',
    model: 'model-router',
    lines: [perMillion(1000, '0.14'), perMillion(1000, '2.00'), perMillion(200, '8.00')],
  }),
  routed('o4-mini-2025-04-16', {
    name: 'a router that chose a model that reasons',
    model: 'model-router',
    lines: [perMillion(1000, '0.14'), perMillion(1000, '1.10'), perMillion(200, '4.40')],
  }),
  routed('a-model-of-tomorrow', {
    name: 'a router that chose a model without a price',
    model: 'model-router',
    lines: null,
  }),
  {
    ...routed('gpt-4.1-2025-04-14', {
      name: 'a router of Foundry',
      model: 'model-router',
      lines: [perMillion(1000, '0.14'), perMillion(1000, '2.00'), perMillion(200, '8.00')],
    }),
    provider: 'azure_ai',
  },
]

/** Tiers of Amazon's. */
const amazonBills: readonly Bill[] = [
  converse(
    { inputTokens: 200_001, outputTokens: 100, totalTokens: 200_101 },
    {
      name: 'long context across regions',
      model: 'global.anthropic.claude-sonnet-4-5-20250929-v1:0',
      lines: [perMillion(200_001, '6.00'), perMillion(100, '22.50')],
    },
  ),
  converse(
    { inputTokens: 200_000, outputTokens: 100, totalTokens: 200_100 },
    {
      name: 'no long context yet',
      model: 'global.anthropic.claude-sonnet-4-5-20250929-v1:0',
      lines: [perMillion(200_000, '3.00'), perMillion(100, '15.00')],
    },
  ),
  converse(
    { inputTokens: 1000, outputTokens: 100, totalTokens: 1100 },
    {
      name: 'priority, of which a price of writes to the cache is not published',
      model: 'amazon.nova-pro-v1:0',
      lines: [perMillion(1000, '1.40'), perMillion(100, '5.60')],
    },
    { serviceTier: { type: 'priority' } },
  ),
  converse(
    { inputTokens: 500, outputTokens: 100, totalTokens: 1000, cacheReadInputTokens: 400 },
    {
      name: 'priority with reads of the cache',
      model: 'amazon.nova-pro-v1:0',
      lines: [perMillion(500, '1.40'), perMillion(400, '0.35'), perMillion(100, '5.60')],
    },
    { serviceTier: { type: 'priority' } },
  ),
  converse(
    { inputTokens: 500, outputTokens: 100, totalTokens: 1000, cacheWriteInputTokens: 400 },
    {
      name: 'priority with writes to the cache, whose price is not published',
      model: 'amazon.nova-pro-v1:0',
      lines: null,
    },
    { serviceTier: { type: 'priority' } },
  ),
]

export const serviceBills: readonly Bill[] = [
  ...cacheBills,
  ...searchBills,
  ...googleBills,
  ...routerBills,
  ...amazonBills,
]
