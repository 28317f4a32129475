/** Context management by Anthropic's own client, on models whose upstreams do not know it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import type { BetaMessageParam, BetaContextManagementConfig } from '@anthropic-ai/sdk/resources/beta/messages/messages'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

const config = `
model_list:
  - model_name: gpt
    proxy_params: { model: custom_openai/gpt-sim, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: claude
    proxy_params: { model: anthropic/claude-sim, api_base: "{simulator}", api_key: k }
`
let gateway: Gateway
let client: Anthropic

beforeAll(async () => {
  gateway = await startGateway({ config })
  gateway.simulator.script({ text: /context of this conversation is full/ }, { text: '1. Task: mend src/parser.ts.' })
  client = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 })
})
afterAll(() => gateway.stop())

const lastSent = (): string => JSON.stringify(gateway.simulator.truth.entries.at(-1)!.body)
const round = (id: string): BetaMessageParam[] => [
  { role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { path: id } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `contents of ${id} `.repeat(50) }] },
]
const tools = [{ name: 'read', input_schema: { type: 'object' as const, properties: {} } }]
const session: BetaMessageParam[] = [
  { role: 'user', content: 'old '.repeat(2000) },
  ...['a', 'b', 'c', 'd', 'e'].flatMap(round),
  { role: 'user', content: 'say: answered' },
]
const ask = (context_management: BetaContextManagementConfig, more: object = {}) => ({
  model: 'gpt',
  max_tokens: 1000,
  tools,
  messages: session,
  context_management,
  betas: ['context-management-2025-06-27'],
  ...more,
})
const compact = (more: object = {}): BetaContextManagementConfig => ({
  edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 1500 }, ...more }],
})

describe('on a model of another vendor', () => {
  test('old results of tools are cleared', async () => {
    const message = await client.beta.messages.create(
      ask({ edits: [{ type: 'clear_tool_uses_20250919', trigger: { type: 'tool_uses', value: 3 } }] }),
    )
    expect(message.context_management?.applied_edits).toMatchObject([
      { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: expect.any(Number) },
    ])
    expect(lastSent()).not.toContain('contents of b')
    expect(lastSent()).toContain('contents of c')
  })

  test('a conversation is compacted before the answer, whole and in a stream, and goes on by its block', async () => {
    const message = await client.beta.messages.create(ask(compact()))
    expect(message.content).toEqual([
      { type: 'compaction', content: '1. Task: mend src/parser.ts.', encrypted_content: null },
      expect.objectContaining({ type: 'text', text: 'answered' }),
    ])
    expect(lastSent()).not.toContain('old old')
    const streamed = await client.beta.messages.stream(ask(compact())).finalMessage()
    expect(streamed.content.map(({ type }) => type)).toEqual(['compaction', 'text'])
    expect(streamed.content[0]).toMatchObject({ content: '1. Task: mend src/parser.ts.' })
    const messages: BetaMessageParam[] = [
      ...session,
      { role: 'assistant', content: streamed.content as never },
      { role: 'user', content: 'say: on' },
    ]
    const next = await client.beta.messages.create(ask(compact(), { messages }))
    expect(next.content).toEqual([expect.objectContaining({ type: 'text', text: 'on' })])
    expect(lastSent()).toContain('src/parser.ts')
    expect(lastSent()).not.toContain('old old')
  })

  test('a compaction that pauses is the whole answer', async () => {
    const paused = compact({ pause_after_compaction: true })
    const message = await client.beta.messages.create(ask(paused))
    expect(message.stop_reason).toBe('compaction')
    expect(message.content.map(({ type }) => type)).toEqual(['compaction'])
    const streamed = await client.beta.messages.stream(ask(paused)).finalMessage()
    expect(streamed.stop_reason).toBe('compaction')
    expect(streamed.content).toMatchObject([{ type: 'compaction', content: '1. Task: mend src/parser.ts.' }])
  })

  test('the summary is charged as a call of the session', async () => {
    await client.beta.messages.create(ask(compact()), { headers: { 'x-claude-code-session-id': 'charged' } })
    const rows = await gateway.rows('&session_id=charged')
    expect(rows).toHaveLength(2)
    for (const row of rows) expect(Number(row.cost_nano_usd)).toBeGreaterThan(0)
  })
})

test('Claude itself gets it as it is', async () => {
  await client.beta.messages.create(ask(compact(), { model: 'claude' }))
  expect(lastSent()).toContain('compact_20260112')
})
