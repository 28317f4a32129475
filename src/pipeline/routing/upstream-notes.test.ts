/** What is remembered of upstreams: the limits in their headers, and their failures. */
import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { UpstreamResponse } from '../../core/transport.ts'
import { rateLimitsIn } from './rate-limit-headers.ts'
import { NotesOfUpstreams } from './upstream-notes.ts'

const nowMs = Date.parse('2026-11-26T12:00:00Z')
const read = (headers: Record<string, string>) => rateLimitsIn(name => headers[name], nowMs)

test("OpenAI's and Anthropic's limits are read, with the time at which they are whole again", () => {
  const openai = {
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '30000',
    'x-ratelimit-remaining-tokens': '29000',
    'x-ratelimit-reset-tokens': '6m0.5s',
  }
  expect(read(openai)).toEqual([
    { kind: 'requests', limit: 500, remaining: 499, resetsAtMs: nowMs + 120 },
    { kind: 'tokens', limit: 30000, remaining: 29000, resetsAtMs: nowMs + 360_500 },
  ])
  const anthropic = {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '49',
    'anthropic-ratelimit-requests-reset': '2026-11-26T12:01:00Z',
    'anthropic-ratelimit-input-tokens-remaining': '1000',
  }
  expect(read(anthropic)).toEqual([
    { kind: 'requests', limit: 50, remaining: 49, resetsAtMs: nowMs + 60_000 },
    { kind: 'input_tokens', limit: null, remaining: 1000, resetsAtMs: null },
  ])
})

test('what no limit can be is not believed', () => {
  expect(read({})).toEqual([])
  expect(read({ 'x-ratelimit-limit-requests': '1e9', 'x-ratelimit-remaining-requests': '-1' })).toEqual([])
  for (const reset of ['soon', '1x', '9999d', '1s!', `${'9'.repeat(60)}s`, '2999-01-01T00:00:00Z', 'T'])
    expect(read({ 'x-ratelimit-limit-requests': '1', 'x-ratelimit-reset-requests': reset })).toEqual([
      { kind: 'requests', limit: 1, remaining: null, resetsAtMs: null },
    ])
})

test('the time of a reset is read to the millisecond, up to a month ahead', () => {
  const resets = (text: string) =>
    read({ 'x-ratelimit-limit-requests': '1', 'x-ratelimit-reset-requests': text })[0]!.resetsAtMs
  const dayMs = 86_400_000
  expect([resets('12.5'), resets('0'), resets('2')]).toEqual([nowMs + 12_500, nowMs, nowMs + 2000])
  expect(resets('1d2h3m4s5ms')).toBe(nowMs + dayMs + 7_384_005)
  expect([resets('31d'), resets('31d1ms')]).toEqual([nowMs + 31 * dayMs, null])
  expect([resets(`0.${'1'.repeat(38)}`), resets(`0.${'1'.repeat(39)}`)]).toEqual([nowMs + 111, null])
  expect(read({ 'x-ratelimit-limit-requests': '9'.repeat(15) })[0]!.limit).toBe(999_999_999_999_999)
  expect(read({ 'x-ratelimit-limit-requests': '9'.repeat(16) })).toEqual([])
})

test('an answer within a quarter of a second of the last is not read, a refusal is; a failure alone has no limits', () => {
  let ms = 1000
  const notes = new NotesOfUpstreams({ monotonicMs: () => ms, epochMs: () => ms })
  const deployment = { id: 'one' } as Deployment
  const answered = (left: string, status = 200) =>
    notes.answered(deployment, {
      status,
      header: name => (name === 'x-ratelimit-remaining-requests' ? left : undefined),
    } as UpstreamResponse)
  const left = () => notes.noteOf('one')!.limits[0]?.remaining
  answered('9')
  ms += 249
  answered('8')
  expect(left()).toBe(9)
  answered('7', 399)
  expect(left()).toBe(9)
  ms += 1
  answered('6')
  expect(left()).toBe(6)
  answered('5', 400)
  expect(left()).toBe(5)
  const failed = new NotesOfUpstreams({ monotonicMs: () => ms, epochMs: () => ms })
  failed.failed(deployment, new GatewayError('upstream-failed', 'no'))
  expect(failed.noteOf('one')).toMatchObject({ limits: [], limitsAtMs: null, failure: { message: 'no' } })
})

test('headers of a deployment are read some times a second, those of a refusal always; what an answer lacks stays', () => {
  let ms = 1000
  const notes = new NotesOfUpstreams({ monotonicMs: () => ms, epochMs: () => ms })
  const deployment = { id: 'one' } as Deployment
  const answered = (remaining: string | undefined, status = 200) =>
    notes.answered(deployment, {
      status,
      header: name => (name === 'x-ratelimit-remaining-requests' ? remaining : undefined),
    } as UpstreamResponse)
  const left = () => notes.noteOf('one')?.limits[0]?.remaining
  expect(notes.noteOf('one')).toBeUndefined()
  answered('9')
  answered('8')
  expect(left()).toBe(9)
  answered('0', 429)
  expect(left()).toBe(0)
  ms += 300
  answered(undefined)
  expect([left(), notes.noteOf('one')!.limitsAtMs]).toEqual([0, 1000])
  ms += 300
  answered('7')
  expect([left(), notes.noteOf('one')!.limitsAtMs]).toEqual([7, 1600])
  notes.failed(deployment, new GatewayError('upstream-failed', 'x'.repeat(900)))
  expect(notes.noteOf('one')).toMatchObject({
    failure: { atMs: 1600, kind: 'upstream-failed' },
    limits: [{ remaining: 7 }],
  })
  expect(notes.noteOf('one')!.failure!.message.length).toBe(500)
})
