import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { Part, Tool } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import { anthropic } from './index.ts'

type Body = Record<string, unknown> & { messages: { role: string; content: unknown[] }[] }
const ask = (request: ReturnType<typeof chatRequest>, more: Partial<Target> = {}) => {
  const { body, dropped } = anthropic.chat!.request(request, targetOf(anthropic, more))
  return { body: body as Body, dropped }
}

test('only thinking with a signature of Claude is sent back to Claude', () => {
  const thought = (signature?: string): Part => ({
    type: 'reasoning',
    text: 'hm',
    ...(signature !== undefined && { signature }),
  })
  const foreign = ['gemini/call/000/CsYBAR', 'gemini/note/012/x', 'modelgate-signature-EqQB', 'modelgate-unsigned', '']
  const parts: Part[] = [
    ...foreign.map(thought),
    thought(),
    thought('gemini-like/but+EqQB'),
    { type: 'text', text: 'yes' },
  ]
  const { body } = ask(
    chatRequest({
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', parts },
      ],
    }),
  )
  expect(body.messages[1]!.content).toEqual([
    { type: 'thinking', thinking: 'hm', signature: 'gemini-like/but+EqQB' },
    { type: 'text', text: 'yes' },
  ])
})

describe('API version 2026-10-21 refuses sampling, even at its defaults', () => {
  const request = chatRequest({ temperature: 1, topP: 0.5, topK: 3 })

  test.each<[string, Partial<Target>, boolean]>([
    ['by option', { options: { anthropic_version: '2026-10-21' } }, true],
    ['by header', { headers: { 'anthropic-version': '2027-01-01' } }, true],
    ['the older one', { options: { anthropic_version: '2023-06-01' } }, false],
    ["another host's", { options: { anthropic_version: 'vertex-2023-10-16' } }, false],
    ['none', {}, false],
  ])('%s', (_, more, fixed) => {
    const { body, dropped } = ask(request, more)
    expect(['temperature', 'top_p', 'top_k'].filter(name => name in body)).toEqual(
      fixed ? [] : ['temperature', 'top_k'],
    )
    // Nothing is lost with the default, 1.
    expect(dropped).toEqual(fixed ? ['top_p', 'top_k'] : ['top_p'])
  })
})

test("a prompt that is too long keeps the gateway's own code; other errors have Anthropic's type", () => {
  const fault = (status: number, type: string, message: string) =>
    classify({ host: 'anthropic', status, body: { type: 'error', error: { type, message } } })
  const tooLong = fault(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')
  expect(tooLong).toEqual({ kind: 'context-too-long', message: 'prompt is too long: 210000 tokens > 200000 maximum' })
  const blocked = fault(400, 'invalid_request_error', 'Output blocked by content filtering policy')
  expect(blocked).toEqual({ kind: 'content-policy', message: 'Output blocked by content filtering policy' })
  expect(fault(400, 'invalid_request_error', 'max_tokens: Field required')).toMatchObject({
    kind: 'upstream-refused',
    code: 'invalid_request_error',
  })
  expect(fault(529, 'overloaded_error', 'Overloaded')).toMatchObject({
    kind: 'upstream-overloaded',
    code: 'overloaded_error',
  })
})

describe('thinking, as each Claude takes it', () => {
  const thinking = (model: string, changes: Parameters<typeof chatRequest>[0]) => {
    const { body, dropped } = ask(chatRequest(changes), { model })
    return { thinking: body.thinking, config: body.output_config, max: body.max_tokens, dropped }
  }
  const high = { reasoning: { effort: 'high' as const }, maxOutputTokens: 5000 }

  test('by a budget before 4.6, by an effort from then on', () => {
    for (const model of ['claude-3-7-sonnet-20250219', 'claude-sonnet-4-5', 'claude-opus-4-5-20251101', 'kimi-k2'])
      expect(thinking(model, high), model).toEqual({
        thinking: { type: 'enabled', budget_tokens: 3976 },
        config: undefined,
        max: 5000,
        dropped: [],
      })
    for (const model of [
      'claude-opus-4-6',
      'claude-sonnet-4-6',
      'claude-opus-4-7',
      'claude-opus-5',
      'claude-mythos-preview',
    ])
      expect(thinking(model, high), model).toEqual({
        thinking: { type: 'adaptive', display: 'summarized' },
        config: { effort: 'high' },
        max: 5000,
        dropped: [],
      })
    expect(thinking('claude-3-5-sonnet-20241022', high)).toMatchObject({
      thinking: undefined,
      dropped: ['reasoning_effort'],
    })
  })

  test('a budget of the client is one where there are budgets, and the nearest effort where there are none', () => {
    const budget = { reasoning: { enabled: true, budgetTokens: 4000 } }
    expect(thinking('claude-opus-4-6', budget)).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 4000 },
      dropped: [],
    })
    expect(thinking('claude-opus-4-7', budget)).toMatchObject({
      thinking: { type: 'adaptive' },
      config: { effort: 'medium' },
      dropped: ['thinking.budget_tokens'],
    })
  })

  test('the steps between: the least, the most, none', () => {
    const config = (model: string, effort: 'minimal' | 'xhigh' | 'max' | 'none') => {
      const { config: sent, dropped } = thinking(model, { reasoning: { effort } })
      return [(sent as { effort?: string } | undefined)?.effort, ...dropped]
    }
    expect([
      config('claude-opus-4-6', 'minimal'),
      config('claude-opus-4-6', 'xhigh'),
      config('claude-opus-4-6', 'max'),
      config('claude-opus-4-7', 'xhigh'),
      config('claude-opus-4-7', 'max'),
      config('claude-opus-4-7', 'none'),
    ]).toEqual([['low', 'reasoning_effort'], ['high', 'reasoning_effort'], ['max'], ['xhigh'], ['max'], [undefined]])
    const largest = { type: 'enabled', budget_tokens: 32_768 }
    expect(thinking('claude-sonnet-4-5', { reasoning: { effort: 'max' }, maxOutputTokens: 64_000 })).toMatchObject({
      thinking: largest,
      dropped: ['reasoning_effort'],
    })
    expect(thinking('claude-sonnet-4-5', { reasoning: { effort: 'xhigh' }, maxOutputTokens: 64_000 })).toMatchObject({
      thinking: largest,
      dropped: [],
    })
  })

  test('an effort and a schema share their place; no sampling goes to those that refuse it', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    const request = { ...high, responseFormat: { type: 'json-schema' as const, name: 'x', schema } }
    expect(thinking('claude-opus-4-7', request).config).toMatchObject({
      effort: 'high',
      format: { type: 'json_schema' },
    })
    const sampled = ask(chatRequest({ temperature: 0.2, topP: 0.5, topK: 3 }), { model: 'claude-opus-4-7' })
    expect([sampled.body.temperature, sampled.body.top_p, sampled.body.top_k, sampled.dropped]).toEqual([
      undefined,
      undefined,
      undefined,
      ['temperature', 'top_p', 'top_k'],
    ])
  })

  test('a tool call without its thinking excludes a budget, not an effort', () => {
    const call: Part = { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' }
    const turns = (...parts: Part[]): Parameters<typeof chatRequest>[0] => ({
      ...high,
      messages: [
        { role: 'user' as const, parts: [{ type: 'text' as const, text: 'hi' }] },
        { role: 'assistant' as const, parts },
        {
          role: 'tool' as const,
          parts: [{ type: 'tool-result' as const, callId: 'a', parts: [{ type: 'text' as const, text: '1' }] }],
        },
      ],
    })
    expect(thinking('claude-sonnet-4-5', turns(call))).toMatchObject({
      thinking: undefined,
      dropped: ['reasoning_effort'],
    })
    expect(
      thinking('claude-sonnet-4-5', turns({ type: 'reasoning', text: 'hm', signature: 'EqQB' }, call)),
    ).toMatchObject({ thinking: { type: 'enabled' }, dropped: [] })
    expect(thinking('claude-opus-4-7', turns(call))).toMatchObject({ thinking: { type: 'adaptive' }, dropped: [] })
  })
})

describe('strict tools', () => {
  const parameters = { type: 'object', properties: { a: { type: 'string', minLength: 2 } }, required: ['a'] }
  const strictTools = (count: number): Tool[] =>
    Array.from({ length: count }, (_, at) => ({ name: `t${at}`, strict: true, parameters }))

  test('are held to the part of their schema that Claude enforces', () => {
    const { body, dropped } = ask(chatRequest({ tools: strictTools(1) }), { model: 'claude-sonnet-4-5' })
    expect(body.tools).toEqual([
      {
        name: 't0',
        input_schema: {
          type: 'object',
          properties: { a: { type: 'string' } },
          required: ['a'],
          additionalProperties: false,
        },
        strict: true,
      },
    ])
    expect(dropped).toEqual(['tools.function.parameters.minLength'])
  })

  test('beyond twenty, and of models without structured outputs, are plain tools, and said so', () => {
    const many = ask(chatRequest({ tools: strictTools(21) }), { model: 'claude-sonnet-4-5' })
    expect((many.body.tools as { strict?: true }[]).filter(one => one.strict)).toHaveLength(20)
    expect(many.dropped).toContain('tools.function.strict')
    const old = ask(chatRequest({ tools: strictTools(1) }), { model: 'claude-3-7-sonnet-20250219' })
    expect(old.body.tools).toEqual([{ name: 't0', input_schema: parameters }])
    expect(old.dropped).toEqual(['tools.function.strict'])
  })
})

describe('the maximum of a client that gives none', () => {
  const limited = (limits: Target['limits'], more: Parameters<typeof chatRequest>[0] = {}, options = {}) => {
    const target = targetOf(anthropic, { model: 'claude-sonnet-4-5', options, ...(limits && { limits }) })
    return anthropic.chat!.request(chatRequest(more), target).body as { max_tokens: number; thinking?: object }
  }
  const said = (text: string) => ({ messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text }] }] })

  test("is the model's own, thinking included; what is configured comes first", () => {
    expect(limited({ output: 64_000, context: 200_000 }).max_tokens).toBe(64_000)
    expect(limited({ output: 128_000 }).max_tokens).toBe(128_000)
    expect(limited({ output: 128_000 }, {}, { max_tokens: 500 }).max_tokens).toBe(500)
    expect(limited(undefined).max_tokens).toBe(8192)
    const xhigh = { reasoning: { effort: 'xhigh' as const } }
    expect(limited({ output: 64_000 }, xhigh)).toMatchObject({
      max_tokens: 64_000,
      thinking: { budget_tokens: 32_768 },
    })
    expect(limited({ output: 32_000 }, xhigh)).toMatchObject({
      max_tokens: 32_000,
      thinking: { budget_tokens: 30_976 },
    })
  })

  test('leaves the input its room in the window, which would be refused together with more', () => {
    const limits = { output: 64_000, context: 200_000 }
    expect(limited(limits, said('word '.repeat(1000))).max_tokens).toBe(64_000)
    const { max_tokens: tokens } = limited(limits, said('word '.repeat(160_000)))
    expect(tokens).toBeGreaterThan(5000)
    expect(tokens).toBeLessThan(40_000)
    expect(limited(limits, said('word '.repeat(400_000))).max_tokens).toBe(1024)
  })
})
