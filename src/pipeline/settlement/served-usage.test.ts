import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import type { Served, Usage } from '../../core/usage/usage.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { withServed } from './served-usage.ts'

interface Given {
  readonly body?: object
  readonly answeredTier?: string
  readonly dropped?: readonly string[]
  readonly served?: Served
}

function servedOf({ body, answeredTier, dropped = [], served }: Given): Served | undefined {
  const call = { body: body && JsonBody.read(Buffer.from(JSON.stringify(body))), answeredTier, dropped }
  const usage: Usage = { inputTokens: 1, outputTokens: 1, ...(served && { served }) }
  return withServed(call as unknown as Call, usage).served
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
  ['the wish where the answer is silent', { body: { service_tier: 'flex' } }, { serviceTier: 'flex' }],
  ["Gemini's name of it", { body: { serviceTier: 'FLEX' } }, { serviceTier: 'flex' }],
  ['a wish for nothing in particular', { body: { service_tier: 'auto' } }, undefined],
  ['a wish that was left out of the request', { body: { service_tier: 'flex' }, dropped: ['service_tier'] }, undefined],
  [
    'speed and place, each for itself',
    { body: { speed: 'fast', inference_geo: 'us' }, served: { serviceTier: 'standard', place: 'global' } },
    { serviceTier: 'standard', speed: 'fast', place: 'global' },
  ],
  ['what is no word', { body: { service_tier: 5, speed: 'x'.repeat(41) } }, undefined],
]
for (const [name, given, expected] of cases)
  test(`what served a request: ${name}`, () => expect(servedOf(given)).toEqual(expected))
