/** OpenAI: answers of the API reference and the guides; figures of developers.openai.com, "Pricing" (2026-11). */
import { perMillion, perThousand } from './bill.ts'
import type { Bill } from './bill.ts'
import { responsesAnswer } from './answers.ts'

const page = 'https://developers.openai.com/api/docs/pricing, 2026-11'

const completion = (usage: object, more: object = {}) => ({
  id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
  object: 'chat.completion',
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage,
  ...more,
})

const chat = (name: string, model: string, answer: Record<string, unknown>, lines: Bill['lines']): Bill => ({
  name,
  provider: 'openai',
  model,
  wording: 'chat',
  answer,
  page,
  lines,
})

const responses = (name: string, model: string, answer: Record<string, unknown>, lines: Bill['lines']): Bill => ({
  ...chat(name, model, answer, lines),
  wording: 'responses',
})

/** The example of the guide "Prompt caching". */
const cached = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920 },
  completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
}
const long = (tokens: number) => ({ prompt_tokens: tokens, completion_tokens: 1000, total_tokens: tokens + 1000 })
const search = (type: string) => ({ id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type } })
const file = { id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['q'] }
const code = { id: 'ci_1', type: 'code_interpreter_call', container_id: 'cntr_1', code: '1', outputs: null }
const tokens = { input_tokens: 328, output_tokens: 356, total_tokens: 684 }
/** The example of the API reference, "Create image". */
const drawn = {
  created: 1713833628,
  data: [{ b64_json: 'QUI=' }],
  usage: {
    total_tokens: 100,
    input_tokens: 50,
    output_tokens: 50,
    input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  },
}

export const openaiBills: readonly Bill[] = [
  chat('text', 'gpt-4.1', completion({ prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 }), [
    perMillion(19, '2.00'),
    perMillion(10, '8.00'),
  ]),
  chat('cached input', 'gpt-4.1', completion(cached), [
    perMillion(86, '2.00'),
    perMillion(1920, '0.50'),
    perMillion(300, '8.00'),
  ]),
  chat(
    'reasoning within the output',
    'gpt-5.4',
    completion({
      ...long(75),
      completion_tokens: 1186,
      total_tokens: 1261,
      completion_tokens_details: { reasoning_tokens: 1024 },
    }),
    [perMillion(75, '2.50'), perMillion(1186, '15.00')],
  ),
  chat(
    'writes to the cache',
    'gpt-5.6-sol',
    completion({
      ...long(4096),
      prompt_tokens_details: { cached_tokens: 1024, cache_write_tokens: 2048 },
    }),
    [perMillion(1024, '4.00'), perMillion(1024, '0.40'), perMillion(2048, '5.00'), perMillion(1000, '20.00')],
  ),
  chat('a prompt of 271,999 tokens', 'gpt-5.4', completion(long(271_999)), [
    perMillion(271_999, '2.50'),
    perMillion(1000, '15.00'),
  ]),
  chat('a prompt of 272,001 tokens', 'gpt-5.4', completion(long(272_001)), [
    perMillion(272_001, '5.00'),
    perMillion(1000, '22.50'),
  ]),
  chat('flex', 'gpt-5.4-mini', completion(cached, { service_tier: 'flex' }), [
    perMillion(86, '0.375'),
    perMillion(1920, '0.0375'),
    perMillion(300, '2.25'),
  ]),
  chat('priority', 'gpt-4.1', completion(cached, { service_tier: 'priority' }), [
    perMillion(86, '3.50'),
    perMillion(1920, '0.875'),
    perMillion(300, '14.00'),
  ]),
  {
    ...chat(
      'priority was asked for, and the default served',
      'gpt-4.1',
      completion(cached, { service_tier: 'default' }),
      [perMillion(86, '2.00'), perMillion(1920, '0.50'), perMillion(300, '8.00')],
    ),
    asked: { service_tier: 'priority' },
  },
  chat('units of the scale tier', 'gpt-4.1', completion(cached, { service_tier: 'scale' }), null),
  chat(
    'priority beyond the short context has no price',
    'gpt-5.4',
    completion(long(300_000), { service_tier: 'priority' }),
    null,
  ),
  {
    ...chat('a line of a batch', 'gpt-4.1', completion(cached, { service_tier: 'default' }), [
      perMillion(86, '1.00'),
      perMillion(1920, '0.25'),
      perMillion(300, '4.00'),
    ]),
    inBatch: true,
  },
  chat(
    'audio in and out',
    'gpt-4o-audio-preview',
    completion({
      ...long(2035),
      completion_tokens: 350,
      total_tokens: 2385,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 2010, text_tokens: 25 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 270, text_tokens: 80 },
    }),
    [perMillion(25, '2.50'), perMillion(2010, '40.00'), perMillion(80, '10.00'), perMillion(270, '80.00')],
  ),
  {
    ...chat('in the region of Europe', 'gpt-5.4-mini', completion(long(1000)), [
      perMillion(1000, '0.75'),
      perMillion(1000, '4.50'),
    ]),
    baseUrl: 'https://eu.api.openai.com/v1',
    percent: 110,
  },
  responses(
    'a Response',
    'gpt-5.4',
    responsesAnswer(
      {
        input_tokens: 36,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 87,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 123,
      },
      { service_tier: 'default' },
    ),
    [perMillion(36, '2.50'), perMillion(87, '15.00')],
  ),
  responses(
    'searches of the web: opened pages are free',
    'gpt-5.4',
    responsesAnswer(tokens, {
      tools: [{ type: 'web_search' }],
      output: [search('search'), search('open_page'), search('search'), search('find_in_page')],
    }),
    [perMillion(328, '2.50'), perMillion(356, '15.00'), perThousand(2, '10.00')],
  ),
  responses(
    'searches as the Response counts them',
    'gpt-5.4',
    responsesAnswer(tokens, {
      tools: [{ type: 'web_search' }],
      tool_usage: { web_search: { num_requests: 3 } },
    }),
    [perMillion(328, '2.50'), perMillion(356, '15.00'), perThousand(3, '10.00')],
  ),
  responses(
    'a search by the preview tool, of a model that does not reason',
    'gpt-4.1',
    responsesAnswer(tokens, {
      tools: [{ type: 'web_search_preview' }],
      output: [search('search')],
    }),
    [perMillion(328, '2.00'), perMillion(356, '8.00'), perThousand(1, '25.00')],
  ),
  responses(
    'searches of files',
    'gpt-4.1',
    responsesAnswer(tokens, {
      tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      output: [file, file],
    }),
    [perMillion(328, '2.00'), perMillion(356, '8.00'), perThousand(2, '2.50')],
  ),
  responses(
    'a container of code, which may have been paid before',
    'gpt-4.1',
    responsesAnswer(tokens, {
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
      output: [code, code],
    }),
    null,
  ),
  responses(
    'pictures by a model that is not named',
    'gpt-5.4',
    responsesAnswer(tokens, {
      tools: [{ type: 'image_generation' }],
      output: [{ type: 'image_generation_call', id: 'ig_1', result: 'QUI=' }],
    }),
    null,
  ),
  responses(
    'pictures by a model that is named',
    'gpt-5.4',
    responsesAnswer(tokens, {
      tools: [{ type: 'image_generation', model: 'gpt-image-1' }],
      tool_usage: { image_gen: { ...drawn.usage, output_tokens: 1056, total_tokens: 1106 } },
    }),
    [
      perMillion(328, '2.50'),
      perMillion(356, '15.00'),
      perMillion(10, '5.00'),
      perMillion(40, '10.00'),
      perMillion(1056, '40.00'),
    ],
  ),
  {
    ...chat('a picture edited', 'gpt-image-1', drawn, [
      perMillion(10, '5.00'),
      perMillion(40, '10.00'),
      perMillion(50, '40.00'),
    ]),
    wording: 'images',
  },
  {
    ...chat('nine seconds of speech', 'whisper-1', { text: 'Hi', usage: { type: 'duration', seconds: 9 } }, [
      [9, '0.006', 60],
    ]),
    wording: 'transcription',
  },
]
