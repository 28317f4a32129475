/** Google: answers of the guides of ai.google.dev; figures of its page "Gemini Developer API pricing". */
import { perMillion, perThousand } from './bill.ts'
import type { Bill } from './bill.ts'
import { geminiAnswer } from './answers.ts'

const page = 'https://ai.google.dev/gemini-api/docs/pricing, 2026-11'

const bill = (name: string, model: string, given: Record<string, unknown>, lines: Bill['lines']): Bill => ({
  name,
  provider: 'gemini',
  model,
  wording: 'gemini',
  answer: given,
  page,
  lines,
})

/** The example of the guide "Context caching". */
const cachedVideo = {
  promptTokenCount: 696_219,
  cachedContentTokenCount: 696_190,
  candidatesTokenCount: 214,
  totalTokenCount: 696_433,
}
/** The example of the guide "Understand and count tokens". */
const picture = {
  promptTokenCount: 264,
  candidatesTokenCount: 80,
  totalTokenCount: 345,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 6 },
    { modality: 'IMAGE', tokenCount: 258 },
  ],
}
const audio = { modality: 'AUDIO', tokenCount: 5000 }
const text = { modality: 'TEXT', tokenCount: 1000 }
const heard = {
  promptTokenCount: 6000,
  candidatesTokenCount: 100,
  totalTokenCount: 6100,
  promptTokensDetails: [audio, text],
}
const grounded = { webSearchQueries: ['who won euro 2024', 'euro 2024 final', 'euro 2024 final', ''] }
const small = { promptTokenCount: 1000, candidatesTokenCount: 100, thoughtsTokenCount: 50, totalTokenCount: 1150 }

export const googleBills: readonly Bill[] = [
  bill('thinking beside the candidates', 'gemini-2.5-flash', geminiAnswer(small), [
    perMillion(1000, '0.30'),
    perMillion(150, '2.50'),
  ]),
  bill('pictures at the price of text', 'gemini-2.5-flash', geminiAnswer(picture), [
    perMillion(264, '0.30'),
    perMillion(80, '2.50'),
  ]),
  bill('audio', 'gemini-2.5-flash', geminiAnswer(heard), [
    perMillion(1000, '0.30'),
    perMillion(5000, '1.00'),
    perMillion(100, '2.50'),
  ]),
  bill(
    'cached audio, once',
    'gemini-2.5-flash',
    geminiAnswer({
      ...heard,
      cachedContentTokenCount: 4500,
      cacheTokensDetails: [
        { modality: 'AUDIO', tokenCount: 4000 },
        { modality: 'TEXT', tokenCount: 500 },
      ],
    }),
    [
      perMillion(500, '0.30'),
      perMillion(500, '0.03'),
      perMillion(1000, '1.00'),
      perMillion(4000, '0.10'),
      perMillion(100, '2.50'),
    ],
  ),
  bill(
    'audio in the cache, without a figure of how much',
    'gemini-2.5-flash',
    geminiAnswer({ ...heard, cachedContentTokenCount: 900 }),
    null,
  ),
  bill('a prompt of 200,000 tokens', 'gemini-2.5-pro', geminiAnswer({ ...small, promptTokenCount: 200_000 }), [
    perMillion(200_000, '1.25'),
    perMillion(150, '10.00'),
  ]),
  bill('a prompt of 200,001 tokens', 'gemini-2.5-pro', geminiAnswer({ ...small, promptTokenCount: 200_001 }), [
    perMillion(200_001, '2.50'),
    perMillion(150, '15.00'),
  ]),
  bill('a long cached video', 'gemini-2.5-pro', geminiAnswer(cachedVideo), [
    perMillion(29, '2.50'),
    perMillion(696_190, '0.25'),
    perMillion(214, '15.00'),
  ]),
  bill('grounding by the prompt', 'gemini-2.5-flash', geminiAnswer(small, grounded), [
    perMillion(1000, '0.30'),
    perMillion(150, '2.50'),
    perThousand(1, '35.00'),
  ]),
  bill('grounding by the query, each once', 'gemini-3.1-pro-preview', geminiAnswer(small, grounded), [
    perMillion(1000, '2.00'),
    perMillion(150, '12.00'),
    perThousand(2, '14.00'),
  ]),
  bill(
    'grounding by maps, by the prompt',
    'gemini-2.5-flash',
    geminiAnswer(small, {
      groundingChunks: [{ maps: { uri: 'https://maps.google.com/1' } }],
    }),
    [perMillion(1000, '0.30'), perMillion(150, '2.50'), perThousand(1, '25.00')],
  ),
  {
    ...bill('priority that was served', 'gemini-2.5-flash', geminiAnswer(small), [
      perMillion(1000, '0.54'),
      perMillion(150, '4.50'),
    ]),
    asked: { serviceTier: 'priority' },
    answeredTier: 'priority',
  },
  {
    ...bill('priority above its limits is served as standard', 'gemini-2.5-flash', geminiAnswer(small), [
      perMillion(1000, '0.30'),
      perMillion(150, '2.50'),
    ]),
    asked: { serviceTier: 'priority' },
    answeredTier: 'standard',
  },
  {
    ...bill('flex', 'gemini-2.5-flash', geminiAnswer(small), [perMillion(1000, '0.15'), perMillion(150, '1.25')]),
    asked: { serviceTier: 'flex' },
    answeredTier: 'flex',
  },
  {
    ...bill('a line of a batch', 'gemini-2.5-flash', geminiAnswer(small), [
      perMillion(1000, '0.15'),
      perMillion(150, '1.25'),
    ]),
    inBatch: true,
  },
  {
    ...bill(
      'Vertex AI, throughput that was bought ahead',
      'gemini-2.5-flash',
      geminiAnswer({
        ...small,
        trafficType: 'PROVISIONED_THROUGHPUT',
      }),
      null,
    ),
    provider: 'vertex_ai',
  },
  {
    ...bill(
      'Vertex AI outside of the global endpoint',
      'gemini-3.5-flash',
      geminiAnswer({ ...small, trafficType: 'ON_DEMAND' }),
      [perMillion(1000, '1.50'), perMillion(150, '9.00')],
    ),
    provider: 'vertex_ai',
    options: { vertex_project: 'p', vertex_location: 'eu' },
    baseUrl: 'https://aiplatform.googleapis.com',
    percent: 110,
  },
]
