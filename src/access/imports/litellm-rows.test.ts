/** Values of LiteLLM's columns, and what they are here. */
import { describe, expect, test } from 'bun:test'
import { createCipheriv, createHash } from 'node:crypto'
import { callOf } from './litellm-calls.ts'
import { keyOf, membersOf, momentMs, nanoUsd, organizationMemberOf, teamOf, userOf } from './litellm-rows.ts'
import { openFields } from './litellm-secrets.ts'

describe('rows of tenants', () => {
  test('times without a zone are UTC, and dollars are rounded to nano-dollars', () => {
    expect(momentMs('2026-01-01T00:00:00')).toBe(1_767_225_600_000)
    expect(momentMs('2026-01-01T00:00:00Z')).toBe(1_767_225_600_000)
    expect(momentMs('2026-01-01T02:00:00+02:00')).toBe(1_767_225_600_000)
    expect([momentMs(''), momentMs(null), momentMs('soon')]).toEqual([null, null, null])
    expect([nanoUsd(0.0000000015), nanoUsd(0), nanoUsd(2), nanoUsd('2'), nanoUsd(Infinity)]).toEqual([
      2n,
      0n,
      2_000_000_000n,
      null,
      null,
    ])
  })

  const digest = 'a'.repeat(64)
  const keyRow = {
    token: digest,
    key_name: 'sk-...abcd',
    max_budget: 1.5,
    models: ['m', 7],
    tpm_limit: 5,
    rpm_limit: null,
  }

  test('a key keeps its digest, limits and budgets by model', () => {
    const row = {
      ...keyRow,
      blocked: true,
      budget_duration: '30d',
      model_max_budget: {
        a: { budget_limit: '0.01', time_period: '1d' },
        b: { max_budget: 2, budget_duration: 'never' },
        c: { time_period: '1d' },
      },
      metadata: { note: 'n', model_rpm_limit: { a: 3, b: 'x' } },
    }
    expect(keyOf(row, text => `hash of ${text}`)).toMatchObject({
      id: digest,
      hash: `hash of ${digest}`,
      hint: 'sk-...abcd',
      maxBudgetNanoUsd: 1_500_000_000n,
      budgetDuration: '30d',
      models: ['m'],
      tokensPerMinute: 5,
      requestsPerMinute: null,
      blocked: true,
      rotationInterval: null,
      modelMaxBudget: {
        a: { maxBudgetNanoUsd: 10_000_000n, budgetDuration: '1d' },
        b: { maxBudgetNanoUsd: 2_000_000_000n, budgetDuration: null },
      },
      modelRequestsPerMinute: { a: 3 },
      metadata: { note: 'n' },
    })
    const bare = keyOf({ token: digest, blocked: null, budget_duration: 'never' }, text => text)!
    expect([bare.hint, bare.blocked, bare.budgetDuration, bare.modelMaxBudget]).toEqual(['sk-...', false, null, {}])
  })

  test('a key rotates only where it says so; sessions of pages and texts that are no digest are no keys', () => {
    const of = (more: object) => keyOf({ ...keyRow, ...more }, text => text)
    expect(of({ auto_rotate: true, rotation_interval: '30d' })!.rotationInterval).toBe('30d')
    expect(of({ auto_rotate: false, rotation_interval: '30d' })!.rotationInterval).toBeNull()
    expect(of({ team_id: 'litellm-dashboard' })).toBeUndefined()
    expect([of({ token: null }), of({ token: 'sk-1' }), of({ token: `${digest}a` })]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('roles that there are not here are the usual ones', () => {
    expect(userOf({ user_id: 'u', user_role: 'proxy_admin' }).role).toBe('proxy_admin')
    expect(userOf({ user_id: 'u', user_role: 'customer' }).role).toBe('internal_user')
    const inOrganization = { organization_id: 'o', user_id: 'u', budget_id: 'b' }
    expect(organizationMemberOf({ ...inOrganization, user_role: 'org_admin' })).toMatchObject({
      kind: 'organization',
      groupId: 'o',
      userId: 'u',
      budgetId: 'b',
      role: 'org_admin',
    })
    expect(organizationMemberOf({ ...inOrganization, user_role: 'x' }).role).toBe('internal_user')
  })

  test('members of a team have a role and a budget; those without an id are none', () => {
    const row = {
      team_id: 't',
      members_with_roles: [{ user_id: 'a', role: 'admin' }, { user_id: 'b', role: 'owner' }, { user_id: null }, 7],
    }
    const found = membersOf(row, new Map([['b', 'b1']]))
    expect(found.map(({ kind, groupId, userId, role, budgetId }) => [kind, groupId, userId, role, budgetId])).toEqual([
      ['team', 't', 'a', 'admin', null],
      ['team', 't', 'b', 'user', 'b1'],
    ])
    expect(membersOf({ team_id: 't' }, new Map())).toEqual([])
    expect(
      teamOf({ team_id: 't' }, { fast: 'm', x: 1 }, { max_budget: 1, budget_duration: '1d', rpm_limit: 2 }),
    ).toMatchObject({
      id: 't',
      modelAliases: { fast: 'm' },
      memberMaxBudgetNanoUsd: 1_000_000_000n,
      memberBudgetDuration: '1d',
      memberRequestsPerMinute: 2,
      memberTokensPerMinute: null,
    })
  })
})

describe('rows of calls', () => {
  const began = 1_767_225_600_000
  const row = {
    request_id: 'r1',
    startTime: '2026-01-01T00:00:00',
    endTime: '2026-01-01T00:00:02',
    completionStartTime: '2026-01-01T00:00:01',
    call_type: 'acompletion',
    prompt_tokens: 10,
    completion_tokens: 20,
    spend: 0.5,
    request_tags: ['a', 7],
    cache_hit: 'True',
    metadata: { usage_object: { prompt_tokens_details: { cached_tokens: 4 }, cache_creation_input_tokens: 3 } },
  }

  test('a call has its times, tokens and cost', () => {
    const call = callOf(row)!
    expect(call).toMatchObject({
      started_at_ms: began,
      duration_ms: 2000,
      first_byte_ms: 1000,
      outcome: 'success',
      status: 200,
      input_tokens: 10,
      output_tokens: 20,
      cached_input_tokens: 4,
      cache_write_tokens: 3,
      usage_source: 'upstream',
      cost_nano_usd: '500000000',
      cost_source: 'upstream',
      attempts: 1,
      request_tags: ['a'],
      cache_hit_kind: 'exact',
      spend_logs_metadata: '{"litellm_request_id":"r1"}',
    })
    expect(call.request_id).toMatch(/^019b76da-a800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect([
      callOf(row)!.request_id === call.request_id,
      callOf({ ...row, request_id: 'r2' })!.request_id === call.request_id,
    ]).toEqual([true, false])
    expect(callOf({ ...row, startTime: null })).toBeUndefined()
  })

  test('first bytes before the beginning or after the end are not known', () => {
    const first = (completionStartTime: unknown) => callOf({ ...row, completionStartTime })!.first_byte_ms
    expect(first('2026-01-01T00:00:02')).toBe(2000)
    expect([first('2026-01-01T00:00:03'), first('2026-01-01T00:00:00'), first(null)]).toEqual([null, null, null])
    expect(callOf({ ...row, request_duration_ms: 1500 })!.duration_ms).toBe(1500)
    expect(callOf({ ...row, endTime: '2025-12-31T00:00:00' })!.duration_ms).toBe(0)
  })

  test('what failed has no usage, and a cost only where one was stored', () => {
    const failed = (error_code: unknown, more: object = {}) =>
      callOf({ ...row, status: 'failure', spend: 0, metadata: { error_information: { error_code } }, ...more })!
    expect(failed('429')).toMatchObject({
      outcome: 'error',
      status: 429,
      input_tokens: null,
      output_tokens: null,
      usage_source: 'none',
      cost_nano_usd: null,
      cost_source: null,
      attempts: 0,
    })
    expect(['400', '599', '399', '600', 'x'].map(code => failed(code).status)).toEqual([400, 599, 500, 500, 500])
    expect(failed('500', { spend: 0.25 })).toMatchObject({ cost_nano_usd: '250000000', cost_source: 'upstream' })
  })
})

describe('what LiteLLM has encrypted', () => {
  const key = createHash('sha256').update('salt').digest()
  const sealed = (text: string): string => {
    const nonce = Buffer.alloc(12, 7)
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    const bytes = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
    return `v2:gcm:${bytes.toString('base64url')}`
  }

  test('is opened with its key, an empty text too; what is plain stays', () => {
    const stored = { api_key: sealed('sk-1'), empty: sealed(''), model: 'gpt', rpm: 5 }
    expect(openFields(stored, 'salt')).toEqual({ fields: { api_key: 'sk-1', empty: '', model: 'gpt', rpm: 5 } })
    expect(openFields({ model: 'gpt' }, undefined)).toEqual({ fields: { model: 'gpt' } })
  })

  test('without the key, or with another one, the problem is named', () => {
    const problem = (salt?: string) => openFields({ api_key: sealed('sk-1') }, salt)
    expect(problem()).toEqual({ problem: expect.stringContaining('set LITELLM_DATABASE_SALT_KEY') })
    expect(problem('other')).toEqual({ problem: expect.stringContaining('is not the key') })
    expect(openFields({ api_key: 'v2:gcm:AAAA' }, 'salt')).toHaveProperty('problem')
  })

  test('a text as long as a box may be one, unless the key opens others beside it', () => {
    expect(openFields({ value: 'x'.repeat(54) }, 'salt')).toHaveProperty('problem')
    expect(openFields({ value: 'x'.repeat(53) }, 'salt')).toHaveProperty('fields')
    expect(openFields({ value: `${'x'.repeat(53)} ` }, 'salt')).toHaveProperty('fields')
    const plain = 'x'.repeat(60)
    expect(openFields({ one: sealed('1'), plain }, 'salt')).toEqual({ fields: { one: '1', plain } })
  })
})
