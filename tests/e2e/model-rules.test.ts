/** What models of Anthropic and Google refuse, which the simulator refuses too: both lanes leave it out and say so. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const claudes = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1', 'claude-opus-4-8', 'claude-haiku-4-5']
const geminis = [
  'gemini-3.8-flash',
  'gemini-4-hydrogen',
  'gemini-flash-latest',
  'gemini-3.1-pro-preview',
  'gemini-3.6-flash',
]
const olderGeminis = ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-2.0-flash']
const entry = (provider: string, model: string, more = '') =>
  `  - { model_name: ${provider}/${model}, proxy_params: { model: ${provider}/${model}, api_base: "{simulator}", api_key: k${more} } }`
const config = `
model_list:
${claudes.map(model => entry('anthropic', model)).join('\n')}
${[...geminis, ...olderGeminis].map(model => entry('gemini', model)).join('\n')}
${entry('vertex_ai', 'claude-opus-5-5', ', vertex_project: p')}
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
beforeEach(() => gateway.simulator.reset())
afterAll(() => gateway?.stop())

async function post(path: string, body: object): Promise<{ status: number; text: string; dropped: string[] }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const dropped = response.headers.get('x-proxy-dropped-params') ?? ''
  return { status: response.status, text: await response.text(), dropped: dropped.split(',').filter(Boolean).sort() }
}
const sent = (): Json => gateway.simulator.truth.last()!.body as Json

const budget = { type: 'enabled', budget_tokens: 2000 }
const tools = [{ name: 'look', input_schema: { type: 'object', properties: {} } }]
const message = (model: string, more: object) => ({
  model: `anthropic/${model}`,
  max_tokens: 4000,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

describe("Claude in Anthropic's dialect", () => {
  /** [model, what the client says, what the upstream gets of it, what is named]. */
  test.each<[string, object, object, string[]]>([
    ['claude-opus-5-5', { thinking: { type: 'disabled' } }, {}, ['thinking']],
    ['claude-fable-5-1', { thinking: { type: 'disabled' } }, {}, ['thinking']],
    ['claude-sonnet-5-5', { thinking: { type: 'disabled' } }, { thinking: { type: 'between_tools' } }, []],
    ['claude-opus-4-8', { thinking: { type: 'disabled' } }, { thinking: { type: 'disabled' } }, []],
    [
      'claude-opus-4-8',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinking: { type: 'adaptive' } },
      ['thinking.budget_tokens'],
    ],
    ['claude-haiku-4-5', { thinking: { type: 'adaptive' } }, {}, ['thinking']],
    ['claude-haiku-4-5', { output_config: { effort: 'high' } }, { output_config: {} }, ['output_config.effort']],
    ['claude-opus-5-5', { temperature: 0.2, top_p: 1, top_k: 3 }, {}, ['temperature', 'top_k']],
    ['claude-haiku-4-5', { temperature: 0.2 }, { temperature: 0.2 }, []],
    [
      'claude-sonnet-5-5',
      { tools, tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true } },
      { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      ['tool_choice'],
    ],
    ['claude-haiku-4-5', { tools, tool_choice: { type: 'any' } }, { tools, tool_choice: { type: 'any' } }, []],
    [
      'claude-haiku-4-5',
      { thinking: budget, temperature: 0.2, top_k: 3, top_p: 1 },
      { thinking: budget },
      ['temperature', 'top_k'],
    ],
    [
      'claude-haiku-4-5',
      { thinking: { type: 'disabled' }, temperature: 0.2 },
      { thinking: { type: 'disabled' }, temperature: 0.2 },
      [],
    ],
    [
      'claude-haiku-4-5',
      { thinking: budget, temperature: 0.2, tools, tool_choice: { type: 'any' } },
      { temperature: 0.2, tools, tool_choice: { type: 'any' } },
      ['thinking'],
    ],
  ])('%s: %j', async (model, more, expected, named) => {
    const { status, text, dropped } = await post('/v1/messages', message(model, more))
    expect([status, dropped, text]).toEqual([200, named, expect.stringContaining('stop_reason')])
    expect(sent()).toEqual({ ...message(model, expected), model })
  })

  /** platform.claude.com, "Migration guide": a conversation must end with the user since 4.6. */
  test.each<[string, unknown, boolean]>([
    ['claude-opus-5-5', '{"a":', true],
    ['claude-opus-4-8', [{ type: 'text', text: 'Quoted "]}\\' }], true],
    ['claude-haiku-4-5', '{"a":', false],
  ])('%s after the beginning of an answer, %j', async (model, content, isContinued) => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
    ]
    const { status, dropped } = await post('/v1/messages', message(model, { messages }))
    expect([status, dropped]).toEqual([200, isContinued ? ['messages.prefill'] : []])
    expect(sent().messages).toEqual([...messages, ...(isContinued ? [{ role: 'user', content: 'Continue.' }] : [])])
  })

  test('a turn that the vendor paused is no beginning of an answer', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } }
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'text', text: 'I search.' }, search] },
    ]
    await post('/v1/messages', message('claude-opus-5-5', { messages }))
    expect(sent().messages).toEqual(messages)
  })

  test('with nothing to change the bytes are the client’s', async () => {
    const body = { ...message('claude-opus-5-5', { thinking: { type: 'adaptive' } }), output_config: { effort: 'max' } }
    expect(await post('/v1/messages', body)).toMatchObject({ status: 200, dropped: [] })
    expect(sent()).toEqual({ ...body, model: 'claude-opus-5-5' })
  })
})

describe("the same in OpenAI's dialect", () => {
  const functions = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

  test.each([...claudes.map(model => `anthropic/${model}`), 'vertex_ai/claude-opus-5-5'])('%s', async model => {
    const base = { model, max_tokens: 9000, messages: [{ role: 'user', content: 'hi' }] }
    for (const effort of ['none', 'minimal', 'low', 'high', 'xhigh', 'max'])
      expect([effort, (await post('/v1/chat/completions', { ...base, reasoning_effort: effort })).status]).toEqual([
        effort,
        200,
      ])
    for (const more of [
      { temperature: 0.3, top_p: 0.5 },
      { tools: functions, tool_choice: 'required' },
      { tools: functions, tool_choice: { type: 'function', function: { name: 'look' } }, reasoning_effort: 'high' },
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
      { messages: [...base.messages, { role: 'assistant', content: '{' }] },
    ])
      expect([more, (await post('/v1/chat/completions', { ...base, ...more })).status]).toEqual([more, 200])
  })

  test('what is lost is named', async () => {
    const ask = (more: object) =>
      post('/v1/chat/completions', {
        model: 'anthropic/claude-opus-5-5',
        messages: [{ role: 'user', content: 'hi' }],
        tools: [...functions, { type: 'function', function: { name: 'other' } }],
        ...more,
      })
    expect((await ask({ tool_choice: { type: 'function', function: { name: 'look' } } })).dropped).toEqual([
      'tool_choice',
    ])
    expect(sent().tools.map(({ name }: Json) => name)).toEqual(['look'])
    expect((await ask({ reasoning_effort: 'none' })).dropped).toEqual(['reasoning_effort'])
    expect(sent().output_config).toEqual({ effort: 'low' })
    const prefix = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '{' },
    ]
    expect((await ask({ messages: prefix })).dropped).toEqual(['messages.prefill'])
    expect(sent().messages.at(-1).role).toBe('user')
  })
})

describe('Gemini', () => {
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]

  test.each(geminis)('%s takes every level and effort', async model => {
    const path = 'generationConfig.thinkingConfig.thinkingLevel'
    for (const level of ['MINIMAL', 'low', 'MEDIUM', 'HIGH']) {
      const body = { contents, generationConfig: { thinkingConfig: { thinkingLevel: level, includeThoughts: true } } }
      const { status, dropped } = await post(`/v1beta/models/gemini/${model}:generateContent`, body)
      const isChanged = sent().generationConfig?.thinkingConfig?.thinkingLevel?.toLowerCase() !== level.toLowerCase()
      expect([level, status, dropped]).toEqual([level, 200, isChanged ? [path] : []])
    }
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']) {
      const body = { model: `gemini/${model}`, messages: [{ role: 'user', content: 'hi' }], reasoning_effort: effort }
      expect([effort, (await post('/v1/chat/completions', body)).status]).toEqual([effort, 200])
    }
  })

  test('the nearest level is sent, in the spelling of the client', async () => {
    const body = { contents, generation_config: { thinking_config: { thinking_level: 'minimal' }, seed: 7 } }
    await post('/v1beta/models/gemini/gemini-3.8-flash:generateContent', body)
    expect(sent().generation_config).toEqual({ thinking_config: { thinking_level: 'LOW' }, seed: 7 })
  })

  /** ai.google.dev/gemini-api/docs/thinking and .../openai, the tables of budgets and of their levels (2026-11-23). */
  test.each<[string, object, object | undefined, string[]]>([
    [
      'gemini-2.5-flash',
      { thinkingLevel: 'LOW', includeThoughts: true },
      { thinkingBudget: 1024, includeThoughts: true },
      [],
    ],
    ['gemini-2.5-flash', { thinking_level: 'high' }, { thinking_budget: 24_576 }, []],
    ['gemini-2.5-flash', { thinkingBudget: 0 }, { thinkingBudget: 0 }, []],
    ['gemini-2.5-flash', { thinkingBudget: -1 }, { thinkingBudget: -1 }, []],
    ['gemini-2.5-pro', { thinkingBudget: 0 }, { thinkingBudget: 128 }, ['thinkingBudget']],
    [
      'gemini-2.5-pro',
      { thinkingLevel: 'medium', thinkingBudget: 99_999 },
      { thinkingBudget: 32_768 },
      ['thinkingBudget'],
    ],
    ['gemini-2.5-flash-lite', { thinkingBudget: 100 }, { thinkingBudget: 512 }, ['thinkingBudget']],
    ['gemini-2.5-flash', { thinkingLevel: 'xhigh' }, { thinkingBudget: 24_576 }, ['thinkingLevel']],
    ['gemini-4-hydrogen', { thinkingLevel: 'XHIGH' }, { thinkingLevel: 'XHIGH' }, []],
    ['gemini-3.6-flash', { thinkingLevel: 'XHIGH' }, { thinkingLevel: 'HIGH' }, ['thinkingLevel']],
    ['gemini-2.0-flash', { thinkingBudget: 500 }, undefined, ['']],
    ['gemini-2.0-flash', { include_thoughts: true }, undefined, ['']],
    ['gemini-2.0-flash', { thinkingBudget: 0 }, undefined, []],
    ['gemini-3.1-pro-preview', { thinkingBudget: 0 }, { thinkingLevel: 'LOW' }, ['thinkingBudget']],
    ['gemini-3.6-flash', { thinkingBudget: 0 }, { thinkingBudget: 0 }, []],
  ])('%s is asked to think by %j', async (model, asked, expected, lost) => {
    const body = { contents, generationConfig: { seed: 7, thinkingConfig: asked } }
    const { status, dropped } = await post(`/v1beta/models/gemini/${model}:generateContent`, body)
    const path = 'generationConfig.thinkingConfig'
    expect([status, dropped]).toEqual([200, lost.map(name => (name === '' ? path : `${path}.${name}`))])
    expect(sent().generationConfig).toEqual({ seed: 7, ...(expected && { thinkingConfig: expected }) })
  })
})
