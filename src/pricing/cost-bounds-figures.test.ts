/** The bounds of calls to the nano-dollar: what counts in them, and from where on. */
import { describe, expect, test } from 'bun:test'
import { chatRequest } from '../../tests/support/provider-rig.ts'
import { GatewayError } from '../core/errors.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { Deployment } from '../core/deployment.ts'
import type { ChatRequest, Part } from '../core/hub/chat.ts'
import type { EmbeddingsRequest } from '../core/hub/embeddings.ts'
import type { CallInput } from '../core/hub/input.ts'
import type { Prices } from '../core/usage/prices.ts'
import { costBounds } from './cost-bounds.ts'
import { atMs, callOf, chat, deploymentOf } from '../../tests/support/priced-calls.ts'
import type { Made } from '../../tests/support/priced-calls.ts'

describe('what counts in the figures', () => {
  const info = { max_input_tokens: 1e6, max_output_tokens: 100 }
  const at = (prices: Prices | null, more: object = {}) => deploymentOf(prices, { ...info, ...more })
  const limited = chat({ maxOutputTokens: 10 })
  const cents: Prices = { input: 1_000_000n, output: 10_000_000n }
  const bounds = (made: Omit<Made, 'candidates'>, ...candidates: Deployment[]) =>
    costBounds(callOf({ ...made, candidates: candidates.length > 0 ? candidates : [at(cents)] }))
  const extra = { format: 'f', fields: {} }

  test('a call that asks no model for anything costs nothing; without a deployment nothing is known of its cost', () => {
    const nothing = { inputTokensMax: 0, outputTokensMax: 0, costNanoUsdMax: 0n }
    expect(bounds({ input: limited, operation: 'count-tokens' })).toEqual(nothing)
    expect(bounds({ input: limited, more: { format: undefined } })).toEqual(nothing)
    expect(costBounds(callOf({ input: limited, candidates: [] }))).toEqual({ ...nothing, costNanoUsdMax: null })
  })

  test('embeddings have input alone, also where output has no price', () => {
    const request: EmbeddingsRequest = { model: 'm', inputs: ['x'], encoding: 'float', extra }
    const input = { kind: 'embeddings', request } as const
    expect(bounds({ input }, at({ input: 1_000_000n }))).toEqual({
      inputTokensMax: 200,
      outputTokensMax: 0,
      costNanoUsdMax: 200n,
    })
  })

  test('several answers multiply the output, also one that is asked about', () => {
    const input = chat({ choices: 3, maxOutputTokens: 10 })
    expect(bounds({ input }).outputTokensMax).toBe(30)
    expect(costBounds(callOf({ input, candidates: [at(cents)] }), 7)).toEqual({
      inputTokensMax: 200,
      outputTokensMax: 21,
      costNanoUsdMax: 200n + 210n,
    })
    expect(bounds({ input: chat({ choices: 3 }) }).outputTokensMax).toBe(300)
    const message = chatRequest().messages[0]!
    const series = [[message], [message]]
    expect(bounds({ input: chat({ series, maxOutputTokens: 10 }) }).outputTokensMax).toBe(30)
  })

  test('the most of all that may answer counts, fallbacks of every kind with them', () => {
    const spare = { deployments: [at({ input: 9_000_000n, output: 10_000_000n }, { max_output_tokens: 300 })] }
    for (const list of ['fallbacksInOrder', 'contextWindowFallbacks', 'contentPolicyFallbacks'])
      expect(bounds({ input: chat(), more: { [list]: [spare] } })).toEqual({
        inputTokensMax: 200,
        outputTokensMax: 300,
        costNanoUsdMax: 200n * 9n + 3000n,
      })
    for (const list of ['contextWindowFallbacks', 'contentPolicyFallbacks'])
      expect(bounds({ input: chat(), more: { fallbacksInOrder: [spare], [list]: [spare] } }).outputTokensMax).toBe(300)
    const unbounded = deploymentOf(cents)
    expect(bounds({ input: chat() }, unbounded, at(cents)).outputTokensMax).toBeNull()
    expect(bounds({ input: chat() }, at(cents), unbounded).outputTokensMax).toBeNull()
  })

  test('a context window bounds the input, for each answer once; a number that is none is not known', () => {
    const input = chat({ maxOutputTokens: 10, choices: 2 })
    const windowOfInfo = (given: object) => bounds({ input }, deploymentOf(cents, { ...given })).inputTokensMax
    expect(windowOfInfo({ max_input_tokens: 50 })).toBe(100)
    expect(windowOfInfo({ max_tokens: 50.2 })).toBe(102)
    expect(windowOfInfo({ max_input_tokens: 1, max_tokens: 50 })).toBe(2)
    for (const none of [0, -1, Infinity, '50']) expect(windowOfInfo({ max_input_tokens: none })).toBe(200)
  })

  test('what was measured of the text counts where it is less than the bytes', () => {
    const measured = (tokens: number) => ({ input: limited, more: { measuredInput: { tokensAt: () => tokens } } })
    expect(bounds(measured(40)).inputTokensMax).toBe(40)
    expect(bounds(measured(4000)).inputTokensMax).toBe(200)
  })

  test('pictures and instructions count beside the bytes, also in results of tools and without a window', () => {
    const image = { type: 'image', source: { url: 'https://x' } } as unknown as Part
    const result = { type: 'tool-result', parts: [image, image] } as unknown as Part
    const inputOf = (parts: Part[], more: Partial<ChatRequest> = {}) => {
      const made = { input: chat({ maxOutputTokens: 10, messages: [{ role: 'user', parts }], ...more }) }
      return [bounds(made).inputTokensMax, bounds(made, deploymentOf(cents)).inputTokensMax]
    }
    expect(inputOf([image])).toEqual([50_200, 50_200])
    expect(inputOf([result, image])).toEqual([150_200, 150_200])
    expect(inputOf([], { tools: [{ name: 'f' }] } as Partial<ChatRequest>)).toEqual([2200, 2200])
    expect(inputOf([], { responseFormat: { type: 'json' } } as unknown as Partial<ChatRequest>)).toEqual([2200, 2200])
    expect(inputOf([], { responseFormat: { type: 'text' } } as unknown as Partial<ChatRequest>)).toEqual([200, 200])
    const text = { type: 'document', source: { data: 'aGk=', mediaType: 'text/plain' } } as unknown as Part
    const linked = { type: 'document', source: { url: 'https://x' } } as unknown as Part
    expect([inputOf([text])[0], inputOf([linked])[0]]).toEqual([200, 1_000_000])
  })

  test('a chat that only its upstream reads counts by its body, with a picture where it refers to something', () => {
    const refusing = (kind: 'internal' | 'invalid-request') => ({
      format: { operation: 'chat', writer: {} },
      input() {
        throw new GatewayError(kind, 'not in these words')
      },
    })
    const fields = { max_tokens: 5, n: 2 }
    expect(bounds({ input: limited, fields, more: refusing('invalid-request') })).toMatchObject({
      inputTokensMax: 200,
      outputTokensMax: 10,
    })
    for (const name of ['video_url', 'file_id'])
      expect(
        bounds({ input: limited, fields: { ...fields, [name]: 'v' }, more: refusing('invalid-request') })
          .inputTokensMax,
      ).toBe(50_200)
    expect(() => bounds({ input: limited, more: refusing('internal') })).toThrow('not in these words')
    expect(() => bounds({ input: limited, more: { ...refusing('invalid-request'), format: {} } })).toThrow('not in')
    const without = { ...refusing('invalid-request'), body: undefined }
    expect(bounds({ input: limited, more: without })).toMatchObject({ inputTokensMax: 0, outputTokensMax: 100 })
  })

  test('a body that is plain enough is not decoded, unless policies have changed it', () => {
    const plainFormat = { operation: 'chat', plain: () => ({ maxOutputTokens: 3, choices: 2 }) }
    expect(bounds({ input: limited, more: { format: plainFormat } })).toMatchObject({
      inputTokensMax: 200,
      outputTokensMax: 6,
    })
    expect(bounds({ input: limited, edits: [() => {}], more: { format: plainFormat } }).outputTokensMax).toBe(10)
  })

  test('a model that judges reads and writes as much as it can for each text, another moderation only reads', () => {
    const input = { kind: 'moderations', request: { model: 'm', inputs: ['a', 'b'] } } as unknown as CallInput
    const guard = { ...at(cents), profile: { ...nativeProfile, guard: {} } } as unknown as Deployment
    expect(bounds({ input }, at(cents))).toEqual({ inputTokensMax: 200, outputTokensMax: 0, costNanoUsdMax: 200n })
    expect(bounds({ input }, guard)).toMatchObject({ inputTokensMax: 2_000_000, outputTokensMax: 200 })
  })

  test('pictures are billed each, with the tokens where these have a price', () => {
    const painting = (count?: number) =>
      ({ kind: 'images', request: { model: 'm', prompt: 'p', count, response: 'url', extra } }) as const
    const image = 40_000_000_000_000n
    expect(bounds({ input: painting(3) }, at({ image })).costNanoUsdMax).toBe(120_000_000n)
    expect(bounds({ input: painting() }, at({ image })).costNanoUsdMax).toBe(40_000_000n)
    expect(bounds({ input: painting(3) }, at({ ...cents, image })).costNanoUsdMax).toBe(120_000_000n + 200n + 3000n)
    expect(bounds({ input: painting() }, at({ character: 1n })).costNanoUsdMax).toBeNull()
  })

  test('speech is billed by its characters; by seconds, or by search units, nothing is known before', () => {
    const input = { kind: 'speech', request: { model: 'm', input: 'four', voice: 'v', format: 'mp3', extra } } as const
    expect(bounds({ input }, at({ character: 15_000_000_000n })).costNanoUsdMax).toBe(60_000n)
    expect(bounds({ input }, at({ ...cents, audioSecond: 1n })).costNanoUsdMax).toBeNull()
    const once = { input: chat({ maxOutputTokens: 1 }), fields: { service_tier: 'standard' } }
    expect(bounds(once, at({ ...cents, audioSecond: 1n })).costNanoUsdMax).toBe(210n)
    expect(bounds({ input: limited }, at({ ...cents, searchUnit: 1n })).costNanoUsdMax).toBeNull()
  })

  test('a line of a batch has the price of batches, which that of single calls does not tell', () => {
    const line = { input: limited, more: { isBatchLine: true } }
    const batch = { input: 500_000n, output: 5_000_000n }
    expect(bounds(line, at({ ...cents, variants: { batch } })).costNanoUsdMax).toBe(150n)
    expect(bounds(line, at(cents)).costNanoUsdMax).toBeNull()
    expect(bounds(line, at({ input: 0n, output: 0n })).costNanoUsdMax).toBe(0n)
    expect(bounds(line, at({ ...cents, variants: { batch }, regionPercent: { us: 110 } })).costNanoUsdMax).toBe(165n)
  })

  test('a tier counts from the first token of input that reaches it, worked out in either way', () => {
    const tier = (fromInputTokens: number) => ({ fromInputTokens, prices: { input: 2_000_000n, output: 10_000_000n } })
    for (const fields of [{}, { service_tier: 'standard' }])
      expect(
        [200, 201].map(
          from => bounds({ input: limited, fields }, at({ ...cents, tiers: [tier(from)] })).costNanoUsdMax,
        ),
      ).toEqual([500n, 300n])
  })

  test('fees of a call count, and fractions are rounded up, in either way', () => {
    for (const fields of [{}, { service_tier: 'standard' }]) {
      const cost = (prices: Prices) => bounds({ input: limited, fields }, at(prices)).costNanoUsdMax
      expect(cost({ ...cents, request: 5_000_000n })).toBe(305n)
      expect([cost({ input: 1n, output: 0n }), cost({ input: 5000n, output: 0n })]).toEqual([1n, 1n])
      expect(cost({ input: 5001n, output: 0n })).toBe(2n)
      expect(cost({ input: 0n, output: 0n, request: 1n })).toBe(1n)
      expect(cost({ input: 0n, output: 0n, request: 1_000_001n })).toBe(2n)
      expect(cost({ input: 90_071_992_547_409_931n, output: 0n })).toBe(18_014_398_509_482n)
      expect(cost({ input: 1n, output: 0n, regionPercent: { us: 110 } })).toBe(2n)
    }
  })

  test('the prices of the moment count', () => {
    const later = [{ fromMs: atMs, prices: { input: 7_000_000n, output: 0n } }]
    expect(bounds({ input: limited }, at({ ...cents, later })).costNanoUsdMax).toBe(1400n)
    expect(
      bounds({ input: limited }, at({ ...cents, later: [{ ...later[0]!, fromMs: atMs + 1 }] })).costNanoUsdMax,
    ).toBe(300n)
  })

  test('input that the vendor keeps is bounded by the window', () => {
    for (const name of ['previous_response_id', 'conversation', 'cachedContent', 'cached_content']) {
      expect(bounds({ input: limited, fields: { [name]: 'c' } }).inputTokensMax).toBe(1_000_000)
      expect(bounds({ input: limited, fields: { [name]: '' } }).inputTokensMax).toBe(200)
    }
  })
})
