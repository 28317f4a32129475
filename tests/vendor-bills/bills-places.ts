/** Calls that cost what they do because of where they are computed, in several tiers of service. */
import { perMillion } from './bill.ts'
import type { Bill, BillLine } from './bill.ts'
import { converseAnswer } from './answers.ts'

/** The page that has the price of each region; the figures are those that LiteLLM's list 1.110.2 gives for it. */
const amazonPage = 'https://aws.amazon.com/bedrock/pricing, on-demand, by region, by LiteLLM 1.110.2'

const converse = (usage: object, tier?: string) =>
  converseAnswer(usage, tier === undefined ? {} : { serviceTier: { type: tier } })

const plainUsage = { inputTokens: 1000, outputTokens: 200, totalTokens: 1200 }
const lines = (input: string, output: string): BillLine[] => [perMillion(1000, input), perMillion(200, output)]

type Made = readonly [name: string, model: string, region: string, lines: BillLine[], more?: Partial<Bill>]

const amazon = ([name, model, region, owed, more = {}]: Made): Bill => ({
  name,
  provider: 'bedrock',
  model,
  wording: 'converse',
  answer: converse(plainUsage),
  options: { aws_region_name: region },
  page: amazonPage,
  lines: owed,
  ...more,
})

const amazonBills: readonly Bill[] = (
  [
    ['a region of the United States', 'minimax.minimax-m2.5', 'us-east-1', lines('0.30', '1.20')],
    ['Frankfurt costs a fifth more', 'minimax.minimax-m2.5', 'eu-central-1', lines('0.36', '1.44')],
    ['London costs more than Frankfurt', 'minimax.minimax-m2.5', 'eu-west-2', lines('0.47', '1.86')],
    ['Tokyo', 'deepseek.v3.2', 'ap-northeast-1', lines('0.74', '2.22')],
    [
      'Tokyo, served as a priority',
      'deepseek.v3.2',
      'ap-northeast-1',
      lines('1.295', '3.885'),
      { answer: converse(plainUsage, 'priority') },
    ],
    [
      'Tokyo, served when there is room',
      'deepseek.v3.2',
      'ap-northeast-1',
      lines('0.37', '1.11'),
      { answer: converse(plainUsage, 'flex') },
    ],
    ['a batch in London', 'minimax.minimax-m2.5', 'eu-west-2', lines('0.235', '0.93'), { inBatch: true }],
    ['Sao Paulo', 'meta.llama3-70b-instruct-v1:0', 'sa-east-1', lines('4.45', '5.88')],
    ['Paris', 'mistral.mistral-large-2402-v1:0', 'eu-west-3', lines('5.20', '15.60')],
    ['GovCloud', 'anthropic.claude-sonnet-5-5', 'us-gov-west-1', lines('2.40', '12.00')],
    ['GovCloud, open weights', 'openai.gpt-oss-120b-1:0', 'us-gov-east-1', lines('0.18', '0.72')],
    ['GovCloud, Nova', 'amazon.nova-lite-v1:0', 'us-gov-west-1', lines('0.072', '0.288')],
    [
      'GovCloud, read from and written to the cache',
      'anthropic.claude-haiku-4-5-20251001-v1:0',
      'us-gov-west-1',
      [perMillion(1000, '1.20'), perMillion(2048, '0.12'), perMillion(500, '1.50'), perMillion(200, '6.00')],
      {
        answer: converse({
          inputTokens: 1000,
          outputTokens: 200,
          totalTokens: 3748,
          cacheReadInputTokens: 2048,
          cacheWriteInputTokens: 500,
        }),
      },
    ],
    // Two lists have $0.069 and $0.078.
    ['a profile of Europe, on which lists differ', 'eu.amazon.nova-lite-v1:0', 'eu-central-1', lines('0.078', '0.312')],
    ['a region whose profile has a price', 'amazon.nova-pro-v1:0', 'ap-south-1', lines('0.84', '3.36')],
    ['Claude in its region', 'anthropic.claude-opus-4-6-v1', 'us-east-1', lines('5.50', '27.50')],
    ['Claude in Frankfurt', 'anthropic.claude-haiku-4-5-20251001-v1:0', 'eu-central-1', lines('1.10', '5.50')],
    ['Claude wherever there is room', 'global.anthropic.claude-opus-4-6-v1', 'eu-west-1', lines('5.00', '25.00')],
    ['Claude before 4.5 in Tokyo', 'anthropic.claude-v2:1', 'ap-northeast-1', lines('8.00', '24.00')],
    // No list has Paris: London is the dearest of Europe.
    ['a region that no list has', 'minimax.minimax-m2.5', 'eu-west-3', lines('0.47', '1.86')],
  ] as const satisfies readonly Made[]
).map(amazon)

const google = {
  provider: 'vertex_ai',
  page: 'https://cloud.google.com/vertex-ai/generative-ai/pricing, non-global endpoints, by LiteLLM 1.110.2',
}

const gemini = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 200, totalTokenCount: 1200 },
  modelVersion: 'gemini',
}

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1000, output_tokens: 200 },
}

const completion = (prompt: number, more: object = {}) => ({
  id: 'chat-1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: prompt, completion_tokens: 200, total_tokens: prompt + 200 },
  ...more,
})

const europe = { vertex_project: 'p', vertex_location: 'europe-west4' }

/** Bills of the hosts whose region stands in the deployment. */
export const placeBills: readonly Bill[] = [
  ...amazonBills,
  {
    ...google,
    name: 'Gemini behind a private endpoint of a region',
    model: 'gemini-3.5-flash',
    wording: 'gemini',
    answer: gemini,
    options: europe,
    baseUrl: 'https://vertex.internal.example',
    percent: 110,
    lines: lines('1.50', '9.00'),
  },
  {
    ...google,
    name: 'Gemini behind a private endpoint, computed anywhere',
    model: 'gemini-3.5-flash',
    wording: 'gemini',
    answer: gemini,
    options: { vertex_project: 'p', vertex_location: 'global' },
    baseUrl: 'https://vertex.internal.example',
    lines: lines('1.50', '9.00'),
  },
  {
    ...google,
    name: 'Claude behind a private endpoint of a region',
    model: 'claude-sonnet-5',
    wording: 'messages',
    answer: message,
    options: europe,
    baseUrl: 'https://10.8.0.5',
    percent: 110,
    lines: lines('2.00', '10.00'),
  },
  {
    provider: 'azure',
    page: 'https://azure.microsoft.com/pricing/details/cognitive-services/openai-service, by LiteLLM 1.110.2',
    name: 'a data zone, named as the base model',
    model: 'eu/gpt-4o',
    wording: 'chat',
    answer: completion(1000),
    lines: lines('2.75', '11.00'),
  },
  {
    provider: 'openai',
    page: 'https://developers.openai.com/api/docs/pricing, regional processing, flex, by LiteLLM 1.110.2',
    name: 'in the region of the United States, as flex',
    model: 'gpt-5.4',
    wording: 'chat',
    answer: completion(1000, { service_tier: 'flex' }),
    baseUrl: 'https://us.api.openai.com/v1',
    percent: 110,
    lines: lines('1.25', '7.50'),
  },
  {
    provider: 'xai',
    page: 'https://docs.x.ai/developers/pricing, regional endpoints, long prompts, by LiteLLM 1.110.2',
    name: 'a long prompt in the region of the United States',
    model: 'grok-4.6',
    wording: 'chat',
    answer: completion(250_000),
    baseUrl: 'https://us-east-1.api.x.ai/v1',
    percent: 110,
    lines: [perMillion(250_000, '4.00'), perMillion(200, '12.00')],
  },
]
