/** Calls of a budget are admitted where lists differ, or the vendor tells the cost: they reserve the dearest. */
import { expect, test } from 'bun:test'
import { buildDeployment } from '../../src/config/models/deployments.ts'
import type { Deployment } from '../../src/core/deployment.ts'
import { costBounds } from '../../src/pricing/cost-bounds.ts'
import { providers } from '../../src/providers/index.ts'
import { callOf, chat } from '../support/priced-calls.ts'

function deployed(model: string, more: object = {}): Deployment {
  const entry = { model_name: 'm', proxy_params: { model, api_key: 'k', ...more } }
  const origin = { kind: 'config', where: 'config.yaml:1' } as const
  const built = buildDeployment(entry, { providers, environment: {}, dropParams: undefined, origin })
  if ('message' in built) throw new Error(built.message)
  return built
}

test('a model on which lists differ has the dearest price, and one that reports its cost a bound', () => {
  const azure = deployed('azure/text-embedding-3-large', { api_base: 'https://x.openai.azure.com' })
  expect(azure.prices).toEqual({ input: 143_000_000n, output: 0n })
  const { prices } = deployed('perplexity/sonar-pro')
  expect(prices).toMatchObject({ input: 3_000_000_000n, output: 15_000_000_000n, requestAtMost: 22_000_000_000_000n })
})

test('a search model reserves its tokens and its dearest call, with options of the search too', () => {
  const sonar = deployed('perplexity/sonar-pro')
  const outputCost = 100n * 15_000n
  for (const more of [{}, { web_search_options: { search_context_size: 'high' } }]) {
    const call = callOf({ input: chat({ maxOutputTokens: 100 }), candidates: [sonar], fields: more })
    const bound = costBounds(call).costNanoUsdMax!
    expect(bound).toBeGreaterThan(22_000_000n + outputCost)
    expect(bound).toBeLessThan(23_000_000n + outputCost)
  }
})

test('the region of a deployment reaches its price', () => {
  const model = 'bedrock/minimax.minimax-m2.5'
  const input = (region: string, options: object = {}) =>
    deployed(model, { aws_region_name: region, ...options }).prices!.input
  expect([input('us-east-1'), input('eu-central-1'), input('eu-west-2')]).toEqual([
    300_000_000n,
    360_000_000n,
    470_000_000n,
  ])
  const byHost = { api_base: 'https://bedrock-runtime.eu-west-2.amazonaws.com' }
  expect(deployed(model, byHost).prices!.input).toBe(470_000_000n)
  const arn = 'arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0'
  expect(deployed(`bedrock/${arn}`).prices!.input).toBe(78_000_000n)
})
