import { describe, expect, test } from 'bun:test'
import { noCacheControls } from '../../core/cache/cache-settings.ts'
import { GatewayError } from '../../core/errors.ts'
import { noOverrides } from '../../core/overrides.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiChat } from '../openai/chat/index.ts'
import { gatewayFields } from './gateway-fields.ts'
import { readOverrides } from './overrides.ts'
import { noFieldRules } from '../../core/dialects/field-rules.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', ...fields })))
const overrides = (fields: object) => readOverrides(bodyOf(fields))

describe('what a body asks of the gateway', () => {
  test('nothing, for nearly every body: the very object', () => {
    expect(overrides({ messages: [], tools: [], metadata: {} })).toBe(noOverrides)
  })

  test('retries, fallbacks, larger models and the loss of fields', () => {
    expect(
      overrides({
        num_retries: 0,
        fallbacks: ['a', { model: 'b' }],
        context_window_fallback_dict: { m: 'l' },
        drop_params: false,
      }),
    ).toEqual({
      retries: 0,
      fallbacks: ['a', 'b'],
      contextFallbacks: new Map([['m', 'l']]),
      dropParams: false,
      unfulfilled: [],
    })
    expect(overrides({ timeout: 1.5 })).toMatchObject({ timeoutMs: 1500 })
    expect(overrides({ timeout: 0 })).not.toHaveProperty('timeoutMs')
    expect(overrides({ fallbacks: [] })).toMatchObject({ fallbacks: [] })
    const none = {
      num_retries: null,
      fallbacks: null,
      context_window_fallback_dict: null,
      drop_params: null,
      guardrails: null,
      cache: null,
      caching: null,
    }
    expect(overrides(none)).toEqual({ unfulfilled: [] })
  })

  test('the guardrails that are asked for', () => {
    expect(overrides({ guardrails: ['pii'] })).toEqual({ guardrails: ['pii'], unfulfilled: [] })
    expect(overrides({ guardrails: [] })).toEqual({ unfulfilled: [] })
  })

  test('what may be done with kept answers', () => {
    expect(overrides({ cache: {} }).cache).toEqual(noCacheControls)
    expect(overrides({ caching: true, cache: { ttl: 60, 's-maxage': 5, namespace: 'n' } }).cache).toEqual({
      noCache: false,
      noStore: false,
      ttlMs: 60_000,
      ageMaxMs: 5000,
      namespace: 'n',
      use: true,
      names: ['ttl', 's-maxage', 'namespace'],
    })
    expect(
      overrides({ caching: true, cache: { 'no-cache': true, 'no-store': true, 'use-cache': false } }).cache,
    ).toEqual({
      ...noCacheControls,
      noCache: true,
      noStore: true,
      use: false,
      names: ['no-cache', 'no-store', 'use-cache'],
    })
  })

  test('a wrong shape is refused here too: other dialects do not look', () => {
    for (const fields of [
      { num_retries: 11 },
      { fallbacks: 'x' },
      { drop_params: 1 },
      { context_window_fallback_dict: { a: 5 } },
      { guardrails: [{}] },
      { cache: { ttl: '5' } },
      { cache: { unknown: true } },
    ]) {
      const thrown = (() => {
        try {
          return overrides(fields)
        } catch (error) {
          return error
        }
      })()
      expect(thrown).toBeInstanceOf(GatewayError)
      expect((thrown as GatewayError).kind).toBe('unprocessable')
    }
  })

  test('none of them reaches an upstream', () => {
    const fields = {
      num_retries: 1,
      fallbacks: ['a'],
      context_window_fallback_dict: {},
      drop_params: true,
      guardrails: ['g'],
      caching: true,
      cache: {},
    }
    for (const name of Object.keys(fields)) expect([name, gatewayFields.has(name)]).toEqual([name, true])
    const body = bodyOf({ messages: [{ role: 'user', content: 'x' }], ...fields, drop_params: false })
    expect(openaiChat.decode(body).extra.fields).toEqual({})
    expect(openaiChat.forward.edits(body, noFieldRules).edits).toEqual(
      Object.keys(fields).map(name => ({ remove: name })),
    )
  })
})
