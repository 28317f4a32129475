import { describe, expect, test } from 'bun:test'
import { forSeeds, seedsOf } from '../../tests/property/random.ts'
import type { Random } from '../../tests/property/random.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { ChatRequest, Part } from '../core/hub/chat.ts'
import type { EmbeddingsRequest } from '../core/hub/embeddings.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Served, Usage } from '../core/usage/usage.ts'
import { costNanoUsd } from './cost.ts'
import { costBounds } from './cost-bounds.ts'
import { atMs, callOf, chat, deploymentOf } from '../../tests/support/priced-calls.ts'
import type { Made } from '../../tests/support/priced-calls.ts'

const plain: Prices = { input: 3_000_000_000n, output: 15_000_000_000n }

// ---- random prices, calls and usage

const price = (random: Random): bigint => (random.chance(0.1) ? 0n : BigInt(1 + random.int(90_000_000_000)))
const maybe = (random: Random): bigint | undefined => (random.chance(0.4) ? price(random) : undefined)

function pricesOf(random: Random, depth = 0): Prices {
  const units = ['cacheRead', 'cacheWrite', 'cacheWriteOneHour', 'inputAudio', 'outputAudio', 'inputImage'] as const
  const more = [...units, 'outputImage', 'reasoning', 'image', 'character', 'request'] as const
  const own: Prices = {
    input: price(random),
    output: price(random),
    ...Object.fromEntries(more.map(name => [name, maybe(random)]).filter(([, value]) => value !== undefined)),
  }
  if (depth > 1) return own
  const tiers = Array.from({ length: random.int(2) }, (_, at) => ({
    fromInputTokens: (at + 1) * (50 + random.int(3000)),
    prices: pricesOf(random, 2),
  })).sort((one, other) => one.fromInputTokens - other.fromInputTokens)
  if (depth > 0) return { ...own, tiers }
  const tierNames = ['priority', 'flex', 'fast', 'batch'].filter(() => random.chance(0.4))
  const variants = Object.fromEntries(tierNames.map(name => [name, pricesOf(random, 1)]))
  const regionPercent = random.chance(0.3) ? { us: 110, eu: 125 } : undefined
  const later = random.chance(0.2) ? [{ fromMs: random.pick([1, atMs + 1]), prices: pricesOf(random, 1) }] : undefined
  return { ...own, tiers, variants, ...(regionPercent && { regionPercent }), ...(later && { later }) }
}

const part = (random: Random, most: number): number => random.int(Math.max(Math.floor(most), 0))

/** Any usage within these tokens: parts of the input and of the output never exceed the whole. */
function usageOf(random: Random, inputMax: number, outputMax: number): Usage {
  const inputTokens = random.chance(0.2) ? inputMax : part(random, inputMax)
  const outputTokens = random.chance(0.2) ? outputMax : part(random, outputMax)
  const usage: Usage = { inputTokens, outputTokens }
  let rest = inputTokens
  const takeInput = (): number => {
    const taken = part(random, rest)
    rest -= taken
    return taken
  }
  if (random.chance(0.5)) usage.cachedInputTokens = takeInput()
  if (random.chance(0.5)) usage.cacheWriteTokens = takeInput()
  if (random.chance(0.3)) usage.cacheWriteOneHourTokens = part(random, usage.cacheWriteTokens ?? 0)
  if (random.chance(0.3)) usage.inputAudioTokens = takeInput()
  if (random.chance(0.3)) usage.inputImageTokens = takeInput()
  let left = outputTokens
  if (random.chance(0.5)) left -= usage.reasoningTokens = part(random, left)
  if (random.chance(0.3)) left -= usage.outputAudioTokens = part(random, left)
  if (random.chance(0.3)) usage.outputImageTokens = part(random, left)
  return usage
}

const infoOf = (random: Random): Record<string, unknown> => ({
  max_input_tokens: 1000 + random.int(200_000),
  max_output_tokens: 100 + random.int(9000),
})

/** What a vendor may count at most: a token is a byte, a model takes no more than its window. */
const windowOf = ({ info }: Deployment): number => info.max_input_tokens as number
const ableOf = ({ info }: Deployment): number => info.max_output_tokens as number

/**
 * What may serve a call that asks so: what it asks for, the normal service, or, unasked, what the project is set to.
 */
function servedBy(random: Random, { service_tier: tier, speed, inference_geo: region }: Asked): Served {
  const serviceTier = random.pick(tier === undefined ? ['default', 'priority'] : ['default', tier])
  return {
    serviceTier: speed === undefined ? serviceTier : 'default',
    speed: random.pick(['standard', speed ?? 'standard']),
    region: region ?? random.pick(['global', 'us', 'eu']),
  }
}

type Asked = { readonly service_tier?: string; readonly speed?: string; readonly inference_geo?: string }

function askedFields(random: Random): Asked {
  const region = random.chance(0.2) ? { inference_geo: random.pick(['us', 'global', 'mars']) } : {}
  if (random.chance(0.1)) return { ...region, speed: 'fast' }
  return random.chance(0.3) ? { ...region, service_tier: random.pick(['flex', 'priority', 'auto', 'default']) } : region
}

/** No call at any of the deployments costs more than the bound; null only where what it asks for has no price. */
function expectBounded(random: Random, call: Call, usageAt: (one: Deployment) => Usage, asked: Asked = {}): void {
  const { costNanoUsdMax } = costBounds(call)
  if (Object.keys(asked).length === 0) expect(costNanoUsdMax).not.toBeNull()
  if (costNanoUsdMax === null) return
  const all = [...call.candidates, ...call.fallbacksInOrder.flatMap(one => one.deployments)]
  for (let time = 0; time < 5; time++) {
    const deployment = random.pick(all)
    const usage = { ...usageAt(deployment), served: servedBy(random, asked) }
    const cost = costNanoUsd(usage, deployment.prices, { atMs })
    expect(cost === null || cost <= costNanoUsdMax).toBe(true)
  }
}

const several = (random: Random): Deployment[] =>
  Array.from({ length: 1 + random.int(2) }, () => deploymentOf(pricesOf(random), infoOf(random)))

describe('no call costs more than its bound', () => {
  test('chats: choices, several prompts, limits of the output, pictures and tools', () => {
    forSeeds(seedsOf(2000), random => {
      const pictures = random.int(2)
      const parts: Part[] = Array.from({ length: pictures }, () => ({ type: 'image', source: { url: 'https://a' } }))
      const messages: ChatRequest['messages'] = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }, ...parts] }]
      const choices = random.chance(0.4) ? 1 + random.int(4) : undefined
      const series = random.chance(0.3) ? Array.from({ length: 1 + random.int(3) }, () => messages) : undefined
      const maxOutputTokens = random.chance(0.5) ? 1 + random.int(4000) : undefined
      const hasTools = random.chance(0.3)
      const request = {
        messages,
        ...(choices && { choices }),
        ...(series && { series }),
        ...(maxOutputTokens && { maxOutputTokens }),
        ...(hasTools && { tools: [{ name: 'f' }] }),
      }
      const bytes = 100 + random.int(10_000)
      const fields = askedFields(random)
      const [candidates, fallbacks] = [several(random), several(random)]
      const call = callOf({ input: chat(request), bytes, candidates, fallbacks, fields })
      const prompts = 1 + (series?.length ?? 0)
      const answers = (choices ?? 1) * prompts
      const usageAt = (one: Deployment): Usage => {
        const input = bytes + pictures * prompts * 48_169 + (hasTools ? 530 : 0)
        const output = (maxOutputTokens ?? ableOf(one)) * answers
        return usageOf(random, Math.min(input, windowOf(one) * prompts), output)
      }
      expectBounded(random, call, usageAt, fields)
    })
  })

  test('pictures and speech: units beside tokens', () => {
    forSeeds(seedsOf(1000), random => {
      const candidates = several(random)
      const bytes = 100 + random.int(2000)
      if (random.chance(0.5)) {
        const count = 1 + random.int(5)
        const request = { model: 'm', prompt: 'p', count, response: 'url', extra: { format: 'f', fields: {} } } as const
        const call = callOf({ operation: 'images', input: { kind: 'images', request }, bytes, candidates })
        return expectBounded(random, call, one => {
          const usage = usageOf(random, Math.min(bytes, windowOf(one)), ableOf(one) * count)
          // Without a number of its own for pictures all output is a picture's (`Usage.outputImageTokens`).
          if (usage.outputImageTokens === undefined) delete usage.reasoningTokens
          if (usage.outputImageTokens === undefined) delete usage.outputAudioTokens
          return { ...usage, images: random.int(count) }
        })
      }
      const input = 'x'.repeat(1 + random.int(500))
      const request = { model: 'm', input, voice: 'v', format: 'mp3', extra: { format: 'f', fields: {} } }
      const call = callOf({ operation: 'speech', input: { kind: 'speech', request }, bytes: bytes + 500, candidates })
      expectBounded(random, call, one => ({
        ...usageOf(random, Math.min(bytes, windowOf(one)), ableOf(one)),
        characters: random.int(input.length),
      }))
    })
  })

  test('embeddings have no output', () => {
    forSeeds(seedsOf(300), random => {
      const bytes = 100 + random.int(5000)
      const { output: _, ...prices } = pricesOf(random)
      const extra = { format: 'f', fields: {} }
      const request: EmbeddingsRequest = { model: 'm', inputs: ['x'], encoding: 'float', extra }
      const input = { kind: 'embeddings', request } as const
      const call = callOf({
        operation: 'embeddings',
        input,
        bytes,
        candidates: [deploymentOf({ ...prices, tiers: [] }, infoOf(random))],
      })
      expectBounded(random, call, one => usageOf(random, Math.min(bytes, windowOf(one)), 0))
    })
  })
})

describe('the figures', () => {
  const priced = (prices: Prices | null, info: object = { max_output_tokens: 100 }) => deploymentOf(prices, { ...info })

  test('input bytes and output tokens at plain prices; the dearest candidate or fallback counts', () => {
    const dear = priced({ input: 6_000_000_000n, output: 30_000_000_000n })
    const cost = (candidates: Deployment[], fallbacks: Deployment[] = []) =>
      costBounds(callOf({ input: chat({ maxOutputTokens: 10 }), candidates, fallbacks }))
    expect(cost([priced(plain)])).toEqual({
      inputTokensMax: 200,
      outputTokensMax: 10,
      costNanoUsdMax: 200n * 3000n + 10n * 15_000n,
    })
    expect(cost([priced(plain), dear]).costNanoUsdMax).toBe(200n * 6000n + 10n * 30_000n)
    expect(cost([priced(plain)], [dear]).costNanoUsdMax).toBe(200n * 6000n + 10n * 30_000n)
  })

  test('what is worked out in numbers is what integers of any length say, with variants, tiers and sums beyond 2^53', () => {
    forSeeds(seedsOf(300), random => {
      const rates = (): Prices => ({
        input: price(random),
        output: price(random),
        ...(random.chance(0.5) && { cacheWrite: price(random) }),
        ...(random.chance(0.3) && { request: price(random) }),
      })
      const prices: Prices = {
        ...rates(),
        ...(random.chance(0.4) && { variants: { priority: rates(), batch: rates() } }),
        ...(random.chance(0.4) && { tiers: [{ fromInputTokens: random.int(400), prices: rates() }] }),
      }
      const input = chat({ maxOutputTokens: random.chance(0.2) ? 10_000_000 : random.int(5000) })
      // Asked for the normal service, all rules are followed.
      const asked = { service_tier: 'standard' }
      const bytes = 100 + random.int(400)
      const made = { input, bytes, candidates: [priced({ ...prices, variants: { batch: rates() } })] }
      expect(costBounds(callOf(made))).toEqual(costBounds(callOf({ ...made, fields: asked })))
      const dearest = callOf({ input, bytes, candidates: [priced(prices)] })
      expect(costBounds(dearest).costNanoUsdMax!).toBeGreaterThanOrEqual(
        costBounds(callOf({ input, bytes, candidates: [priced(prices)], fields: asked })).costNanoUsdMax!,
      )
    })
  })

  test('a request that policies have changed counts as it is now', () => {
    const text = 'long '.repeat(200)
    const input = chat({ maxOutputTokens: 1, messages: [{ role: 'user', parts: [{ type: 'text', text }] }] })
    const candidates = [priced(plain)]
    expect(costBounds(callOf({ input, candidates })).inputTokensMax).toBe(200)
    expect(costBounds(callOf({ input, candidates, edits: [() => {}] })).inputTokensMax).toBeGreaterThan(text.length)
  })

  test('a document that is not text is bounded by the window of the model alone', () => {
    const source = { data: 'JVBERi0=', mediaType: 'application/pdf' }
    const input = chat({ maxOutputTokens: 1, messages: [{ role: 'user', parts: [{ type: 'document', source }] }] })
    const known = priced(plain, { max_input_tokens: 5000, max_output_tokens: 100 })
    expect(costBounds(callOf({ input, candidates: [known] })).costNanoUsdMax).toBe(5000n * 3000n + 15_000n)
    expect(costBounds(callOf({ input, candidates: [priced(plain)] })).costNanoUsdMax).toBeNull()
  })
})

/** In the words of OpenAI, OpenRouter, Anthropic and Gemini. */
const vendorsActs: readonly Record<string, unknown>[] = [
  { tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }] },
  { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  { web_search_options: { search_context_size: 'low' } },
  { plugins: [{ id: 'web' }] },
  { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] },
  { fallbacks: [{ model: 'claude-opus-4-8' }] },
  { context_management: { edits: [{ type: 'compact_20260112' }] } },
  { tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }] },
]

/** Tools that the client runs cost what the answer costs. */
const clientsActs: readonly Record<string, unknown>[] = [
  {
    tools: [
      { type: 'function', function: { name: 'f' } },
      { type: 'custom', custom: { name: 'c' } },
    ],
  },
  {
    tools: [
      { name: 'Bash', input_schema: {} },
      { type: 'text_editor_20250728', name: 'e' },
    ],
  },
  { tools: [{ functionDeclarations: [{ name: 'f' }] }] },
  { plugins: [], context_management: null, tools: [] },
]
for (const fields of clientsActs)
  test(`tools of the client leave a bound: ${JSON.stringify(fields)}`, () => {
    const call = callOf({ input: chat({ maxOutputTokens: 10 }), candidates: [deploymentOf(plain)], fields })
    expect(costBounds(call).costNanoUsdMax).not.toBeNull()
  })

describe('null where something is not known', () => {
  const costOf = (made: Made) => costBounds(callOf(made)).costNanoUsdMax
  const limited = chat({ maxOutputTokens: 10 })
  const none: [string, Made][] = [
    ['no candidates', { input: limited, candidates: [] }],
    ['no prices', { input: limited, candidates: [deploymentOf(plain), deploymentOf(null)] }],
    ['no prices of a fallback', { input: limited, candidates: [deploymentOf(plain)], fallbacks: [deploymentOf(null)] }],
    ['no price of the input', { input: limited, candidates: [deploymentOf({ output: 1n, cacheRead: 1n })] }],
    ['no price of the output', { input: limited, candidates: [deploymentOf({ input: 1n, reasoning: 1n })] }],
    [
      'no price of a tier',
      {
        input: limited,
        candidates: [deploymentOf({ ...plain, tiers: [{ fromInputTokens: 11, prices: { input: 1n } }] })],
      },
    ],
    ['no bound of the output', { input: chat(), candidates: [deploymentOf(plain)] }],
    [
      'no price of the tier that is asked for',
      { input: limited, candidates: [deploymentOf(plain)], fields: { service_tier: 'flex' } },
    ],
    ['no price of the place', { input: limited, candidates: [deploymentOf(plain)], fields: { inference_geo: 'us' } }],
    ...vendorsActs.map((fields): [string, Made] => [
      `the vendor may act: ${Object.keys(fields)[0]!} ${JSON.stringify(Object.values(fields)[0])}`,
      { input: limited, candidates: [deploymentOf(plain)], fields },
    ]),
    [
      'input that the vendor has, and no window',
      { input: limited, candidates: [deploymentOf(plain)], fields: { previous_response_id: 'resp_1' } },
    ],
    [
      'a form',
      {
        operation: 'transcriptions',
        input: { kind: 'form', fields: {}, files: [] },
        candidates: [deploymentOf(plain)],
      },
    ],
  ]
  for (const [name, made] of none) test(name, () => expect(costOf(made)).toBeNull())

  test('what is free needs no bound', () => {
    expect(costOf({ input: chat(), candidates: [deploymentOf({ input: 0n, output: 0n })] })).toBe(0n)
  })
})
