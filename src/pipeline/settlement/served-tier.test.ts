import { expect, test } from 'bun:test'
import type { Attempt } from '../../core/call.ts'
import type { Prices } from '../../core/usage/prices.ts'
import type { Served, Usage } from '../../core/usage/usage.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { withServed } from './served-tier.ts'

interface Given {
  readonly body?: object
  readonly answeredTier?: string
  readonly dropped?: readonly string[]
  readonly served?: Served
  readonly prices?: Prices
}

function servedOf({ body, answeredTier, dropped = [], served, prices }: Given): Served | undefined {
  const call = {
    body: body && JsonBody.read(Buffer.from(JSON.stringify(body))),
  }
  const attempt = { answeredTier, dropped, deployment: { prices } } as unknown as Attempt
  const usage: Usage = { inputTokens: 1, outputTokens: 1, ...(served && { served }) }
  return withServed(call, attempt, usage).served
}

const cases: [string, Given, Served | undefined][] = [
  ['nothing is said', { body: { model: 'm' } }, undefined],
  [
    'the answer, not the wish',
    { body: { service_tier: 'flex' }, served: { serviceTier: 'default' } },
    { serviceTier: 'default' },
  ],
  [
    'the head of the answer, not the wish',
    { body: { serviceTier: 'PRIORITY' }, answeredTier: 'standard' },
    { serviceTier: 'standard' },
  ],
  [
    'the usage before the head',
    { answeredTier: 'standard', served: { serviceTier: 'priority' } },
    { serviceTier: 'priority' },
  ],
  ['the wish where the answer is silent', { body: { service_tier: 'priority' } }, { serviceTier: 'priority' }],
  ["Gemini's name of it", { body: { serviceTier: 'PRIORITY' } }, { serviceTier: 'priority' }],
  ['no wish for a discount: batch', { body: { service_tier: 'batch' } }, undefined],
  ['no wish for a discount: flex, by its other name', { body: { serviceTier: 'FLEX' } }, undefined],
  [
    'a discount that the answer names',
    { body: { service_tier: 'flex' }, served: { serviceTier: 'flex' } },
    { serviceTier: 'flex' },
  ],
  ['a discount that the head names', { body: {}, answeredTier: 'batch' }, { serviceTier: 'batch' }],
  [
    "no wish for what is cheaper by the deployment's prices, at any time",
    {
      body: { service_tier: 'economy', speed: 'slow', inference_geo: 'mars' },
      prices: {
        input: 10n,
        later: [{ fromMs: 9, prices: { input: 10n, variants: { economy: { input: 9n } } } }],
        variants: { slow: { input: 10n, output: 1n } },
        output: 2n,
        regionPercent: { mars: 50 },
      },
    },
    undefined,
  ],
  [
    'a wish for what is dearer',
    {
      body: { service_tier: 'scale', inference_geo: 'us' },
      prices: { input: 10n, variants: { scale: { input: 11n } }, regionPercent: { us: 110 } },
    },
    { serviceTier: 'scale', region: 'us' },
  ],
  [
    'a wish for what costs as much',
    {
      body: { service_tier: 'same', inference_geo: 'here' },
      prices: { input: 10n, variants: { same: { input: 10n } }, regionPercent: { here: 100 } },
    },
    { serviceTier: 'same', region: 'here' },
  ],
  [
    'no wish for a place that is cheaper by one percent, or a speed at some hours',
    {
      body: { speed: 'slow', inference_geo: 'there' },
      prices: {
        input: 10n,
        regionPercent: { there: 99 },
        hours: [{ prices: { input: 10n, variants: { slow: { input: 9n } } } }] as never,
      },
    },
    undefined,
  ],
  [
    'a wish for what has no price for one of the two',
    { body: { speed: 'fast' }, prices: { input: 10n, variants: { fast: { output: 1n } } } },
    { speed: 'fast' },
  ],
  ['a wish for nothing in particular', { body: { service_tier: 'auto' } }, undefined],
  ['a wish that was left out of the request', { body: { service_tier: 'flex' }, dropped: ['service_tier'] }, undefined],
  [
    'speed and region, each for itself',
    { body: { speed: 'fast', inference_geo: 'us' }, served: { serviceTier: 'standard', region: 'global' } },
    { serviceTier: 'standard', speed: 'fast', region: 'global' },
  ],
  ['what is no word', { body: { service_tier: 5, speed: 'x'.repeat(41) } }, undefined],
]
for (const [name, given, expected] of cases)
  test(`what served a request: ${name}`, () => expect(servedOf(given)).toEqual(expected))
