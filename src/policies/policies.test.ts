import { describe, expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import { bareKey } from '../core/caller.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Limiter, LimitScope, LimitVerdict } from '../core/tenancy/limits.ts'
import type { ModelDirectory } from '../core/model-directory.ts'
import { SignalClient } from '../core/internal-request.ts'
import type { Settings } from '../core/settings.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { bodyTokens } from '../lib/tokens/body-tokens.ts'
import { modelAccess } from './model-access.ts'
import { budgetSettingsOf } from '../config/sections/budgets.ts'
import { systemClock } from '../lib/clock.ts'
import { createCallLimits } from './limits/call-limits.ts'
import { rateLimit } from './rate-limit.ts'

const noLimits = { requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null }
const key = { ...bareKey, id: 'k1', userId: 'ada', models: [] as string[] }

function callOf(changes: Record<string, unknown> = {}): Call {
  return {
    model: 'fast',
    caller: { role: 'key', key },
    body: { size: 400 },
    client: { left: false },
    endUser: '',
    format: {},
    announcedBytes: 400,
    candidates: [],
    responseHeaders: {},
    taken: {},
    countedTokens: 0,
    ...changes,
  } as unknown as Call
}

const refusal = (act: () => unknown): GatewayError => {
  try {
    act()
  } catch (thrown) {
    return thrown as GatewayError
  }
  throw new Error('nothing was refused')
}

describe('model access', () => {
  const deployment = { id: 'd', modelName: 'fast', target: { model: 'upstream', provider: { name: 'custom_openai' } } }
  const index = {
    settings: { accessGroups: {} },
    resolve: (name: string) => (name === 'fast' ? [deployment] : []),
    names: () => ['fast'],
    wildcardNames: () => [],
  } as unknown as ModelDirectory
  const policy = modelAccess()

  test('finds the deployments of a model the key may use', () => {
    const call = callOf({ models: index })
    policy.admit!(call)
    expect(call.candidates as unknown[]).toEqual([deployment])
  })

  test('a model that does not exist is 404 before it is 403, and a long name is cut', () => {
    const error = refusal(() =>
      policy.admit!(
        callOf({ models: index, model: 'x'.repeat(5000), caller: { role: 'key', key: { ...key, models: ['other'] } } }),
      ),
    )
    expect([error.kind, error.status, error.message.length < 400]).toEqual(['model-not-found', 404, true])
  })

  test('a pattern is no model, though the lists show it', () => {
    const patterns = {
      settings: { accessGroups: {} },
      resolve: () => [deployment],
      wildcardNames: () => ['open/*'],
    } as unknown as ModelDirectory
    const error = refusal(() => modelAccess().admit!(callOf({ models: patterns, model: 'open/*' })))
    expect([error.kind, error.message]).toEqual([
      'model-not-found',
      "'open/*' is a pattern; name one model that fits it",
    ])
    for (const model of ['open/one', 'open/a*b'])
      expect(() => modelAccess().admit!(callOf({ models: patterns, model }))).not.toThrow()
  })

  test('a key with a list may use nothing else; the master key may use everything', () => {
    const listed = { ...key, models: ['slow'] }
    expect(refusal(() => policy.admit!(callOf({ models: index, caller: { role: 'key', key: listed } }))).kind).toBe(
      'model-forbidden',
    )
    const call = callOf({ models: index, caller: { role: 'proxy_admin', key: { ...listed, id: 'master' } } })
    policy.admit!(call)
    expect(call.candidates.length).toBe(1)
  })
})

describe('rate limit', () => {
  const settingsOf = (userLimits: object) => () =>
    ({
      userLimits: { ...noLimits, ...userLimits },
      rateLimitCounts: 'calls',
      budgets: budgetSettingsOf({}),
      aliases: {},
    }) as unknown as Settings
  const state = (remaining: number) => ({ limit: 10, remaining, resetMs: 60_000 })

  const under = (userLimits: object, more: Record<string, unknown> = {}): Call =>
    callOf({ models: { settings: settingsOf(userLimits)(), resolve: () => [] }, ...more })

  function limiterThat(
    answer: (scopes: readonly LimitScope[], tokens: number) => LimitVerdict | Promise<LimitVerdict>,
  ) {
    const asked: { scopes: readonly LimitScope[]; tokens: number }[] = []
    const limiter: Limiter = {
      prepare: () => undefined,
      refresh: () => undefined,
      budgetLeft: () => Infinity,
      use: () => ({ requests: 0, tokens: 0, parallelRequests: 0, spentNanoUsd: null, reservedNanoUsd: null }),
      charge() {},
      stored() {},
      recount() {},
      take(scopes, tokens) {
        asked.push({ scopes, tokens })
        return answer(scopes, tokens)
      },
    }
    const limits = createCallLimits(
      { lookup: () => undefined, load: async () => undefined, compile: async key => ({ role: 'key', key }) },
      'test',
    )
    return { limiter: { limiter, limits, clock: systemClock }, asked }
  }

  test('no limit, no question', () => {
    const { limiter, asked } = limiterThat(() => ({ allowed: true, release() {}, keep() {} }))
    expect(rateLimit(limiter).onHead.admit!(under({}))).toBeUndefined()
    expect(asked).toEqual([])
  })

  test('what was taken is given back once, with the tokens that were really used', () => {
    const released: number[] = []
    const { limiter, asked } = limiterThat(() => ({
      allowed: true,
      requests: state(9),
      tokens: state(5),
      release: tokens => void released.push(tokens),
      keep() {},
    }))
    const policy = rateLimit(limiter).onHead
    const call = under({ requestsPerMinute: 10, tokensPerMinute: 1000 })
    policy.admit!(call)
    expect(asked).toEqual([
      {
        scopes: [{ id: 'user:ada', ...noLimits, requestsPerMinute: 10, tokensPerMinute: 1000 }],
        tokens: 100,
      },
    ])
    expect(call.responseHeaders).toEqual({
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '60s',
      'x-ratelimit-limit-tokens': '10',
      'x-ratelimit-remaining-tokens': '5',
      'x-ratelimit-reset-tokens': '60s',
    })
    const ended = { call, countedTokens: 7 } as never
    policy.settled!(ended)
    policy.settled!(ended)
    expect(released).toEqual([7])
  })

  test('new limits of the settings count from the next call on', () => {
    const { limiter, asked } = limiterThat(() => ({ allowed: true, release() {}, keep() {} }))
    const policy = rateLimit(limiter).onHead
    void policy.admit!(under({ requestsPerMinute: 10 }))
    void policy.admit!(under({ requestsPerMinute: 20 }))
    expect(asked.map(({ scopes }) => scopes[0]!.requestsPerMinute)).toEqual([10, 20])
  })

  test('tokens of a body without an announced length are taken once it is read, and given back with the rest', () => {
    const released: number[] = []
    const { limiter, asked } = limiterThat(() => ({
      allowed: true,
      release: tokens => void released.push(tokens),
      keep() {},
    }))
    const { onHead, onBody } = rateLimit(limiter)
    const call = under({ requestsPerMinute: 10, tokensPerMinute: 1000 }, { announcedBytes: undefined })
    void onHead.admit!(call)
    void onBody.admit!(call)
    expect(asked.map(({ scopes, tokens }) => [scopes, tokens])).toEqual([
      [[{ id: 'user:ada', ...noLimits, requestsPerMinute: 10 }], 0],
      [[{ id: 'user:ada', ...noLimits, tokensPerMinute: 1000 }], 100],
    ])
    onHead.settled!({ call, countedTokens: 7 } as never)
    expect(released).toEqual([7, 7])
  })

  test('tokens of a large body are estimated once it is read, in full: a picture is not counted by its bytes', () => {
    const { limiter, asked } = limiterThat(() => ({ allowed: true, release() {}, keep() {} }))
    const { onHead, onBody } = rateLimit(limiter)
    const words = 'lorem ipsum '.repeat(100_000)
    const picture = `data:image/png;base64,${'A'.repeat(400_000)}`
    for (const content of [words, [{ type: 'image_url', image_url: { url: picture } }]]) {
      const bytes = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }))
      const body = JsonBody.read(bytes)
      const call = under(
        { tokensPerMinute: 1000 },
        { announcedBytes: bytes.length, body, estimatedInputTokens: () => bodyTokens(body) },
      )
      void onHead.admit!(call)
      void onBody.admit!(call)
    }
    expect(asked).toHaveLength(2)
    expect(asked[0]!.tokens).toBeGreaterThan(200_000)
    expect(asked[1]!.tokens).toBeWithin(1, 20_000)
  })

  test('a form is no text to be counted before it is read, and a call about files takes no tokens', () => {
    const { limiter, asked } = limiterThat(() => ({ allowed: true, release() {}, keep() {} }))
    const { onHead, onBody } = rateLimit(limiter)
    for (const format of [{ multipart: true }, undefined]) {
      const call = under(
        { tokensPerMinute: 1000 },
        { format, options: {}, announcedBytes: 1e6, body: format && { size: 40 } },
      )
      void onHead.admit!(call)
      void onBody.admit!(call)
    }
    expect(asked.map(({ scopes, tokens }) => [scopes.map(({ id }) => id), tokens])).toEqual([
      [['user:ada'], 10],
      [['user:ada'], 0],
    ])
  })

  test('a refusal is 429 with the wait and the state, for a limiter here and one that is far', async () => {
    const verdict: LimitVerdict = {
      allowed: false,
      scope: 'user:ada',
      kind: 'requests',
      state: state(0),
      retryAfterMs: 1500,
    }
    for (const answer of [() => verdict, () => Promise.resolve(verdict)]) {
      const call = under({ requestsPerMinute: 10 })
      const { limiter } = limiterThat(answer)
      const error = await Promise.resolve()
        .then(() => rateLimit(limiter).onHead.admit!(call))
        .then(
          () => undefined,
          (thrown: GatewayError) => thrown,
        )
      expect([error?.kind, error?.status, error?.retryAfterMs]).toEqual(['rate-limited', 429, 1500])
      expect(error!.message).toContain("this user 'ada' reached: 10 requests per minute")
      expect(call.responseHeaders['x-ratelimit-remaining-requests']).toBe('0')
    }
  })

  test('a client that left while a far limiter was asked keeps no slot', async () => {
    const released: number[] = []
    const controller = new AbortController()
    const { limiter } = limiterThat(async () => {
      controller.abort()
      return { allowed: true, release: tokens => void released.push(tokens), keep() {} }
    })
    const policy = rateLimit(limiter).onHead
    await policy.admit!(under({ parallelRequests: 1 }, { client: new SignalClient(controller.signal, '') }))
    expect(released).toEqual([0])
  })
})
