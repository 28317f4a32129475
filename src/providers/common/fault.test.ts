import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'

const quota = 'You exceeded your current quota, please check your plan and billing details.'

describe('an account that cannot pay is the fault of the gateway, in the words of each host', () => {
  test.each([
    ['OpenAI', 429, { message: quota, type: 'insufficient_quota', code: 'insufficient_quota' }],
    [
      'OpenAI, at its limit',
      400,
      { message: 'Billing hard limit has been reached', code: 'billing_hard_limit_reached' },
    ],
    ['DeepSeek', 402, { message: 'Insufficient Balance' }],
    ['Moonshot', 429, { message: 'Your account is suspended', type: 'exceeded_current_quota_error' }],
    ['Z.ai', 429, { message: 'Insufficient balance or no resource package. Please recharge.', code: '1113' }],
    ['DashScope', 400, { message: 'Access denied, please make sure it is in good standing.', code: 'Arrearage' }],
    ['Fireworks', 412, { message: 'Account acme is suspended, possibly due to reaching the monthly spending limit' }],
    ['SiliconFlow', 403, { message: 'Sorry, your account balance is insufficient' }],
    ['xAI', 429, { message: 'Your team has either used all available credits or reached its monthly spending limit.' }],
    ['Groq', 400, { message: 'Your organization is blocked', code: 'blocked_api_access' }],
  ])('%s', (_, status, error) => {
    const fault = classify({ host: '', status, body: { error } })
    expect(fault).toEqual({
      kind: 'upstream-credentials',
      message: `the gateway's account at the upstream cannot pay: ${error.message}`,
    })
  })

  test('Anthropic, under the type of a wrong request', () => {
    const message = 'Your credit balance is too low to access the Anthropic API.'
    const body = { type: 'error', error: { type: 'invalid_request_error', message } }
    expect(classify({ host: 'anthropic', status: 400, body }).kind).toBe('upstream-credentials')
  })

  test('Gemini, under the status of a rate limit', () => {
    const error = { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Your prepayment credits are depleted.' }
    expect(classify({ host: 'gemini', status: 429, body: { error } }).kind).toBe('upstream-credentials')
  })

  test('402 without a word', () => {
    expect(classify({ host: '', status: 402, body: '' })).toMatchObject({ kind: 'upstream-credentials' })
  })
})

test.each([
  ['a rate limit with the words of a quota', 429, { message: quota }, 'upstream-rate-limited'],
  ['a wrong request', 400, { message: 'n must be 1' }, 'upstream-refused'],
  ['a failure that mentions a balance', 500, { message: 'load balance is insufficient' }, 'upstream-failed'],
])('%s is not', (_, status, error, kind) => {
  expect<string>(classify({ host: '', status, body: { error } }).kind).toBe(kind)
})

const flagged = 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.'
test.each([
  ['by its code', { message: 'This request was blocked.', code: 'cyber_policy' }],
  ['under the code of other errors', { message: flagged, code: 'invalid_prompt' }],
])('what OpenAI refuses by its policies is distinguished from a wrong request, %s', (_, error) => {
  expect(classify({ host: '', status: 400, body: { error } })).toMatchObject({
    kind: 'content-policy',
    code: error.code,
  })
})
