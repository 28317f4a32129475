/** Anthropic, on its own API and on Amazon's and Google's: answers of the guides, figures of platform.claude.com. */
import { perMillion, perThousand } from './bill.ts'
import type { Bill } from './bill.ts'

const page = 'https://platform.claude.com/docs/en/about-claude/pricing, 2026-11'

const message = (usage: object, more: object = {}) => ({
  id: 'msg_013Zva2CMHLNnjNjJKqJ2EF',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hi! My name is Claude.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
  ...more,
})

const bill = (name: string, model: string, answer: Record<string, unknown>, lines: Bill['lines']): Bill => ({
  name,
  provider: 'anthropic',
  model,
  wording: 'messages',
  answer,
  page,
  lines,
})

const plain = { input_tokens: 2095, output_tokens: 503, service_tier: 'standard' }
/** The shape of the guide "Prompt caching", "1-hour cache duration". */
const caching = {
  input_tokens: 2048,
  cache_read_input_tokens: 1800,
  cache_creation_input_tokens: 248,
  output_tokens: 503,
  cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
}
/** The example of the guide "Web search tool". */
const searched = {
  input_tokens: 105,
  output_tokens: 6039,
  cache_read_input_tokens: 7123,
  cache_creation_input_tokens: 7345,
  server_tool_use: { web_search_requests: 1 },
}
/** The example of the guide "Compaction". */
const compacted = {
  input_tokens: 23_000,
  output_tokens: 1000,
  iterations: [
    { type: 'compaction', input_tokens: 180_000, output_tokens: 3500 },
    { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
  ],
}
/** The example of the guide "Advisor tool": the totals have the input of the first iteration alone. */
const advised = {
  input_tokens: 412,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  output_tokens: 531,
  iterations: [
    { type: 'message', input_tokens: 412, output_tokens: 89 },
    { type: 'advisor_message', model: 'claude-opus-4-6', input_tokens: 823, output_tokens: 1612 },
    { type: 'message', input_tokens: 1348, cache_read_input_tokens: 412, output_tokens: 442 },
  ],
}
/** Of a turn in which another model declined first; 0 = of a later turn, which the fallback keeps. */
const fallback = (declinedInput: number) => ({
  input_tokens: 900,
  output_tokens: 200,
  iterations: [
    ...(declinedInput > 0
      ? [{ type: 'message', model: 'claude-fable-5-1', input_tokens: declinedInput, output_tokens: 0 }]
      : []),
    { type: 'fallback_message', model: 'claude-opus-4-8', input_tokens: 900, output_tokens: 200 },
  ],
})
/** The example of Amazon's guide "Fallback credit for refused requests". */
const refused = (category: string | null) =>
  message(
    { input_tokens: 106, output_tokens: 1 },
    { content: [], stop_reason: 'refusal', stop_details: { type: 'refusal', category } },
  )
const ranCode = [
  { type: 'server_tool_use', id: 's', name: 'bash_code_execution', input: {} },
  { type: 'text', text: 'x' },
]

export const anthropicBills: readonly Bill[] = [
  bill('text', 'claude-sonnet-4-6', message(plain), [perMillion(2095, '3.00'), perMillion(503, '15.00')]),
  bill('a cache of five minutes and of an hour', 'claude-sonnet-4-6', message(caching), [
    perMillion(2048, '3.00'),
    perMillion(1800, '0.30'),
    perMillion(148, '3.75'),
    perMillion(100, '6.00'),
    perMillion(503, '15.00'),
  ]),
  bill('cheap reads of the cache', 'claude-fable-5-1', message(caching), [
    perMillion(2048, '10.00'),
    perMillion(1800, '0.25'),
    perMillion(148, '12.50'),
    perMillion(100, '20.00'),
    perMillion(503, '50.00'),
  ]),
  bill(
    'thinking within the output',
    'claude-haiku-4-5',
    message({
      ...plain,
      output_tokens_details: { thinking_tokens: 400 },
    }),
    [perMillion(2095, '1.00'), perMillion(503, '5.00')],
  ),
  bill('a search of the web', 'claude-sonnet-4-6', message(searched), [
    perMillion(105, '3.00'),
    perMillion(7123, '0.30'),
    perMillion(7345, '3.75'),
    perMillion(6039, '15.00'),
    perThousand(1, '10.00'),
  ]),
  bill('a batch', 'claude-sonnet-4-6', message({ ...caching, service_tier: 'batch' }), [
    perMillion(2048, '1.50'),
    perMillion(1800, '0.15'),
    perMillion(148, '1.875'),
    perMillion(100, '3.00'),
    perMillion(503, '7.50'),
  ]),
  {
    ...bill('inference in the United States', 'claude-opus-4-6', message({ ...caching, inference_geo: 'us' }), [
      perMillion(2048, '5.00'),
      perMillion(1800, '0.50'),
      perMillion(148, '6.25'),
      perMillion(100, '10.00'),
      perMillion(503, '25.00'),
    ]),
    percent: 110,
  },
  bill('inference anywhere', 'claude-opus-4-6', message({ ...plain, inference_geo: 'global' }), [
    perMillion(2095, '5.00'),
    perMillion(503, '25.00'),
  ]),
  bill('inference at a place without a factor', 'claude-opus-4-6', message({ ...plain, inference_geo: 'eu' }), null),
  bill('fast mode', 'claude-opus-4-8', message({ ...plain, speed: 'fast' }), [
    perMillion(2095, '10.00'),
    perMillion(503, '50.00'),
  ]),
  bill('fast mode of a model without a price for it', 'claude-haiku-4-5', message({ ...plain, speed: 'fast' }), null),
  bill('capacity that was bought ahead', 'claude-sonnet-4-6', message({ ...plain, service_tier: 'priority' }), null),
  bill('a compaction beside the totals', 'claude-opus-4-6', message(compacted), [
    perMillion(203_000, '5.00'),
    perMillion(4500, '25.00'),
  ]),
  bill('an advisor at its own prices', 'claude-sonnet-4-6', message(advised), [
    perMillion(1760, '3.00'),
    perMillion(412, '0.30'),
    perMillion(531, '15.00'),
    perMillion(823, '5.00'),
    perMillion(1612, '25.00'),
  ]),
  bill('a turn that a fallback keeps', 'claude-fable-5-1', message(fallback(0)), [
    perMillion(900, '5.00'),
    perMillion(200, '25.00'),
  ]),
  bill('a fallback after a refusal of a category that is not told', 'claude-fable-5-1', message(fallback(900)), null),
  bill('a refusal before any output', 'claude-opus-5-5', refused('cyber'), []),
  bill('a refusal without a category', 'claude-opus-5-5', refused(null), []),
  bill('a refusal of a category that is billed', 'claude-opus-5-5', refused('frontier_llm'), [
    perMillion(106, '4.00'),
    perMillion(1, '20.00'),
  ]),
  bill(
    'a fallback credit',
    'claude-opus-4-8',
    message({
      ...caching,
      fallback_credit: { status: { type: 'redeemed' } },
    }),
    null,
  ),
  bill('a container of code', 'claude-sonnet-4-6', message(plain, { content: ranCode }), null),
  bill(
    'a container of code beside a search of the web is free',
    'claude-sonnet-4-6',
    message({ ...plain, server_tool_use: { web_search_requests: 2 } }, { content: ranCode }),
    [perMillion(2095, '3.00'), perMillion(503, '15.00'), perThousand(2, '10.00')],
  ),
  {
    ...bill(
      'Bedrock in a region',
      'us.anthropic.claude-sonnet-4-6',
      {
        output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
        stopReason: 'end_turn',
        usage: {
          inputTokens: 30,
          outputTokens: 628,
          totalTokens: 4906,
          cacheReadInputTokens: 2048,
          cacheWriteInputTokens: 2200,
          cacheDetails: [
            { ttl: '5m', inputTokens: 200 },
            { ttl: '1h', inputTokens: 2000 },
          ],
        },
      },
      [
        perMillion(30, '3.30'),
        perMillion(2048, '0.33'),
        perMillion(200, '4.125'),
        perMillion(2000, '6.60'),
        perMillion(628, '16.50'),
      ],
    ),
    provider: 'bedrock',
    wording: 'converse',
  },
  {
    ...bill(
      'Bedrock, reserved capacity',
      'us.anthropic.claude-sonnet-4-6',
      {
        output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 30, outputTokens: 628, totalTokens: 658 },
        serviceTier: { type: 'reserved' },
      },
      null,
    ),
    provider: 'bedrock',
    wording: 'converse',
  },
]
