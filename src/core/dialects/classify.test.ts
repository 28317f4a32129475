/** One classifier for all errors of upstreams: the words of each host, in whatever place and shape they stand. */
import { describe, expect, test } from 'bun:test'
import { hostRefusals } from '../../../rules/host-refusals.ts'
import { classify, failureOfBody, frameworkError, namedError } from './classify.ts'

const kinds = {
  'too-long': 'context-too-long',
  'content-policy': 'content-policy',
  'bad-input': 'upstream-refused',
  'unknown-model': 'model-not-found',
  'bad-key': 'upstream-credentials',
  'no-credit': 'upstream-credentials',
  rate: 'upstream-rate-limited',
  overloaded: 'upstream-overloaded',
} as const

const examples = Object.entries(hostRefusals).flatMap(([host, rows]) =>
  rows.flatMap(({ kind, example }) => (example ? [{ host, kind: kinds[kind as keyof typeof kinds], ...example }] : [])),
)

test.each(examples)('$host, $kind, by the status line and inside of a 200: $body', ({ host, kind, status, body }) => {
  expect(classify({ host, status, body }).kind).toBe(kind)
  expect(classify({ host, body }).kind).toBe(kind)
})

test('there are examples of sixteen hosts and more, and none for a host that the catalogue does not know', () => {
  expect(new Set(examples.map(one => one.host)).size).toBeGreaterThanOrEqual(16)
})

/** Sentences of hosts of which the gateway knows no more: behind an address of the operator's. */
test.each([
  'prompt is too long: 210000 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 198214 + 8192 > 200000',
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  "Requested token count exceeds the model's maximum context length of 131072 tokens.",
  "Input length (265330) exceeds model's maximum context length (262144).",
  'The decoder prompt (length 8357) is longer than the maximum model length of 8192.',
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens',
  'Input validation error: `inputs` must have less than 1024 tokens. Given: 2000',
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  'Prompt exceeds max length',
  '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 131072]',
  "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
  'Input token count + max_tokens parameter must be less than the context length of the model being queried.',
  'Please reduce the length of the messages or completion.',
  'the request exceeds the available context size. try increasing the context size or enable context shift',
  'input is larger than the max context size. skipping',
  'The number of tokens to keep from the initial prompt is greater than the context length.',
  'Trying to keep the first 15857 tokens when context the overflows.',
  'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
  'too many tokens: total number of tokens in the prompt cannot exceed 4081',
  'prompt too long; exceeded max context length by 100918 tokens',
  'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
  'Input is too long for requested model.',
  'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
  'Input token length too long',
  'invalid params, context window exceeds limit (2013)',
  'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
  'Prompt has 256468 tokens, but the configured context size is 256000 tokens',
  'prompt token count of 130000 exceeds the limit of 128000',
])('too long: %s', message => {
  for (const error of [{ error: { message } }, { error: message }, { message }, { detail: message }]) {
    expect(classify({ host: 'custom_openai', status: 400, body: error }).kind).toBe('context-too-long')
    expect(classify({ host: 'custom_openai', body: error }).kind).toBe('context-too-long')
  }
})

test.each([
  [400, 'The maximum tokens you requested exceeds the model limit of 4096.', 'upstream-refused'],
  [400, 'max_tokens must be at most 4096', 'upstream-refused'],
  [429, 'Too many tokens, please wait before trying again.', 'upstream-rate-limited'],
  [500, 'failed to allocate the context window', 'upstream-failed'],
  [500, 'load balance is insufficient', 'upstream-failed'],
  [401, 'your input was flagged', 'upstream-credentials'],
] as const)('%d "%s" is %s', (status, message, kind) => {
  expect(classify({ host: 'custom_openai', status, body: { error: { message } } }).kind).toBe(kind)
})

describe('a type or a code decides before words', () => {
  test.each([
    ['exceed_context_size_error', undefined, 'context-too-long'],
    ['ThrottlingException', 'the prompt is too long a wait', 'upstream-rate-limited'],
    ['server_is_overloaded', 'context window', 'upstream-overloaded'],
    ['insufficient_quota', 'rate limit', 'upstream-credentials'],
  ] as const)('%s beside "%s" is %s', (type, words, kind) => {
    const message = words ?? 'no'
    expect(classify({ host: '', status: 500, body: { error: { type, message } } }).kind).not.toBe('upstream-failed')
    expect(classify({ host: '', body: { error: { type, message } } }).kind).toBe(kind)
    expect(classify({ host: '', body: { error: { code: type, message } } }).kind).toBe(kind)
  })

  test('a number means something at its own host alone', () => {
    const body = { error: { code: '1261', message: 'no' } }
    expect(classify({ host: 'zai', body }).kind).toBe('context-too-long')
    expect(classify({ host: 'custom_openai', body }).kind).toBe('upstream-failed')
  })

  test("the name of AWS' exception stands beside the body", () => {
    const body = { message: 'no' }
    expect(classify({ host: 'bedrock', status: 400, body, name: 'ThrottlingException' })).toMatchObject({
      kind: 'upstream-rate-limited',
      code: 'ThrottlingException',
    })
  })
})

describe('an error inside of a 200 has the status that it names, as a number or as text', () => {
  test.each([
    [429, 'upstream-rate-limited'],
    ['429', 'upstream-rate-limited'],
    [400, 'upstream-refused'],
    [401, 'upstream-credentials'],
    [402, 'upstream-credentials'],
    [403, 'upstream-credentials'],
    [404, 'model-not-found'],
    [408, 'upstream-timeout'],
    [413, 'too-large'],
    [502, 'upstream-broken'],
    [503, 'upstream-overloaded'],
    [500, 'upstream-failed'],
    [200, 'upstream-failed'],
    [7, 'upstream-failed'],
  ] as const)('%p is %s', (code, kind) => {
    for (const body of [
      { error: { code, message: 'no' } },
      { error: { status: code, message: 'no' } },
      { error: 'no', code },
    ])
      expect(failureOfBody(body).kind).toBe(kind)
  })

  test('the client reads the same code and status as from a status line', () => {
    const body = { error: { code: 422, message: 'n must be 1', param: 'n' } }
    expect(failureOfBody(body)).toMatchObject({ status: 422, param: 'n', message: 'n must be 1' })
    expect(classify({ host: '', status: 422, body })).toMatchObject({ status: 422, param: 'n' })
    expect(failureOfBody({ error: { code: 429, message: 'slow' } })).toMatchObject({
      status: 429,
      code: 'upstream_rate_limited',
    })
  })
})

test.each([
  ['image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'],
  ['acme/m is not a multimodal model'],
  ['this model is missing data required for image input'],
])("a request's fault that a server answers with 500 is a refusal: %s", message => {
  const fault = classify({ host: 'custom_openai', status: 500, body: { error: { code: 500, message } } })
  expect(fault).toMatchObject({ kind: 'upstream-refused', status: 400, message })
})

describe('the explanation is read wherever it stands', () => {
  test.each([
    [{ detail: { message: 'why' } }],
    [{ detail: 'why' }],
    [{ detail: [{ loc: [], msg: 'why' }] }],
    [{ errors: [{ message: 'why' }] }],
    [{ errors: ['why'] }],
    [{ errors: { message: 'why' } }],
    [{ msg: 'why' }],
    [{ error: { msg: 'why' } }],
    [{ error: ['why'] }],
    [{ error: [{ message: 'why' }] }],
    [{ error: { error: { message: 'why' } } }],
    [{ error: { message: { detail: 'why' } } }],
    [{ error: { message: '{"error":{"message":"why"}}' } }],
    [{ error: '{"error":{"message":"why"}}' }],
    [{ detail: '{"error": {"message": "why"}}' }],
    [{ error: 'bad_request', message: 'why' }],
    [{ error: { code: 502, message: 'Provider returned error', metadata: { raw: '{"error":{"message":"why"}}' } } }],
    [{ base_resp: { status_code: 2013, status_msg: 'why' } }],
    [{ error: { error_message: 'why' } }],
    [{ Message: 'why' }],
    [[{ error: { message: 'why' } }]],
    ['why'],
  ])('%j', body => {
    expect(classify({ host: '', status: 400, body }).message).toMatch(/why$/)
  })

  test('places of problems are told, pages of HTML are not, and depth is bounded', () => {
    const body = { detail: [{ loc: ['body', 'x'], msg: 'wrong' }, { loc: ['body', 'y'] }] }
    expect(classify({ host: '', status: 422, body }).message).toBe('body.x: wrong; body.y: invalid')
    expect(classify({ host: '', status: 502, body: '<html>no</html>' }).message).toContain('status 502')
    let deep: object = { message: 'deep' }
    for (let level = 0; level < 1000; level++) deep = { error: deep }
    expect(classify({ host: '', status: 400, body: deep }).message).toContain('status 400')
  })

  test('codes behind another host count', () => {
    const raw = JSON.stringify({ error: { message: 'no', code: 'context_length_exceeded' } })
    const body = { error: { code: 400, message: 'Provider returned error', metadata: { raw } } }
    expect(classify({ host: 'openrouter', body }).kind).toBe('context-too-long')
  })
})

/** `error` of a failed Response: there is no status beside it. */
test.each([
  ['context_length_exceeded', 'no', 'context-too-long', 400],
  ['invalid_prompt', 'Invalid prompt', 'upstream-refused', 400],
  ['invalid_prompt', 'Your prompt was flagged as potentially violating our usage policy.', 'content-policy', 400],
  ['server_is_overloaded', 'no', 'upstream-overloaded', 503],
  ['rate_limit_exceeded', 'no', 'upstream-rate-limited', 429],
  ['invalid_image_url', 'no', 'upstream-refused', 400],
  ['server_error', 'no', 'upstream-failed', 500],
] as const)('a failed Response with %s (%s) is %s', (code, message, kind, status) => {
  expect(failureOfBody({ error: { code, message } })).toMatchObject({ kind, status, message })
})

test('clients look for the codes of OpenAI, whatever the host calls it', () => {
  const tooLong = { error: { type: 'exceed_context_size_error', message: 'no' } }
  expect(failureOfBody(tooLong)).toMatchObject({ status: 400, code: 'context_length_exceeded' })
  const filtered = { error: { code: 'DataInspectionFailed', message: 'no' } }
  expect(failureOfBody(filtered)).toMatchObject({ status: 400, code: 'content_policy_violation' })
})

test('an answer that says nothing of an error names none', () => {
  for (const body of [{ choices: [] }, { base_resp: { status_code: 0, status_msg: 'success' } }, [], 'text', null])
    expect(namedError(body)).toBeUndefined()
  expect(namedError({ choices: null, base_resp: { status_code: 1008, status_msg: 'no' } })?.kind).toBe(
    'upstream-failed',
  )
  expect(classify({ host: 'minimax', body: { base_resp: { status_code: 1008, status_msg: 'no' } } }).kind).toBe(
    'upstream-credentials',
  )
})

test('a framework error stands where an answer was due, and says nothing where there is none', () => {
  expect(frameworkError({ detail: 'no' })).toMatchObject({ kind: 'upstream-failed', message: 'no' })
  expect(frameworkError({ choices: [] })).toBeUndefined()
})

test('the error that a body names is read in the list around it, too', () => {
  expect(namedError([{ error: { message: 'no' } }])?.message).toBe('no')
  expect(namedError({ detail: 'no' })).toBeUndefined()
})

test('an error without words says what the upstream did', () => {
  expect(classify({ host: '', status: 500, body: {} }).message).toBe('the upstream answered with the status 500')
  expect(classify({ host: '', body: {} }).message).toBe('the upstream failed')
})

test("the gateway's own account is named where it cannot pay, and no code of it is given on", () => {
  const fault = classify({ host: '', status: 402, body: { error: { message: 'pay', code: 'insufficient_quota' } } })
  expect(fault).toEqual({
    kind: 'upstream-credentials',
    message: "the gateway's account at the upstream cannot pay: pay",
  })
})

test('a failure that no word tells is what its reporter takes it for', () => {
  expect(failureOfBody({ error: { message: 'no' } }, { kind: 'upstream-timeout' }).kind).toBe('upstream-timeout')
  expect(failureOfBody({ error: { message: 'no', code: 429 } }, { kind: 'upstream-timeout' }).kind).toBe(
    'upstream-rate-limited',
  )
  const error = failureOfBody({ error: { message: 'no' } }, { name: 'x' })
  expect([error.code, error.reported]).toEqual(['x', { body: { error: { message: 'no' } }, name: 'x' }])
})

test('a filter keeps a code that clients know', () => {
  const codeOf = (code: string) => classify({ host: '', status: 400, body: { error: { code, message: 'flagged' } } })
  expect(codeOf('content_filter')).toMatchObject({ kind: 'content-policy', code: 'content_filter' })
  expect(codeOf('data_inspection_failed').code).toBeUndefined()
})

test('a wait that the upstream asks for is told, of every kind of failure', () => {
  const details = [{ retryDelay: '7s' }]
  const waitOf = (code: number | string) => classify({ host: '', body: { error: { code, message: 'no', details } } })
  expect(waitOf(429)).toMatchObject({ kind: 'upstream-rate-limited', retryAfterMs: 7000 })
  expect(waitOf(402)).toMatchObject({ kind: 'upstream-credentials', retryAfterMs: 7000 })
  expect('retryAfterMs' in classify({ host: '', body: { error: { code: 429 } } })).toBe(false)
})

test('a refusal keeps its status below 500, and is a 400 otherwise', () => {
  const statusOf = (status: number) =>
    classify({ host: 'custom_openai', status, body: { error: { message: 'acme/m is not a multimodal model' } } }).status
  expect([statusOf(499), statusOf(500)]).toEqual([499, 400])
})
