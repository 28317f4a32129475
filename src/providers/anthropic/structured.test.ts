/** Answers by a schema from Claude before 4.5, which knows no `output_config.format`: a forced tool says them. */
import { describe, expect, test } from 'bun:test'
import { chatRequest, namedEvents, readStream, targetOf } from '../../../tests/support/provider-rig.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { providers } from '../index.ts'
import { anthropic } from './index.ts'

const schema = { type: 'object', properties: { city: { type: 'string', minLength: 1 } }, required: ['city'] }
const responseFormat = { type: 'json-schema' as const, name: 'place', schema }
const ask = (model: string, more: Partial<ChatRequest> = {}) => {
  const { body, dropped } = anthropic.chat!.request(
    chatRequest({ responseFormat, ...more }),
    targetOf(anthropic, { model }),
  )
  return { body: body as Record<string, unknown>, dropped }
}

describe('requests', () => {
  const old = ['claude-sonnet-4-20250514', 'claude-opus-4-1', 'claude-3-5-haiku-latest']
  test.each(old)('%s is forced to call the one tool whose arguments are the answer', model => {
    const { body, dropped } = ask(model)
    expect(body.output_config).toBeUndefined()
    expect(body.tools).toEqual([
      { name: 'gateway_json_answer', description: 'Gives the answer to the user.', input_schema: schema },
    ])
    expect(body.tool_choice).toEqual({ type: 'tool', name: 'gateway_json_answer', disable_parallel_tool_use: true })
    expect(dropped).toEqual([])
  })

  test.each(['claude-sonnet-4-5-20250929', 'claude-opus-4-6', 'claude-next'])(
    '%s is held to the schema by the API',
    model => {
      const { body, dropped } = ask(model)
      expect(body.output_config).toMatchObject({
        format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
      })
      expect([body.tools, body.tool_choice, dropped]).toEqual([
        undefined,
        undefined,
        ['response_format.json_schema.schema.minLength'],
      ])
    },
  )

  test.each<[string, string, Partial<ChatRequest>]>([
    ["the client's own tools", old[0]!, { tools: [{ name: 'f' }] }],
    ['thinking', old[0]!, { reasoning: { budgetTokens: 2000 } }],
    [
      'an answer that is no object',
      old[0]!,
      { responseFormat: { ...responseFormat, schema: { type: 'array', items: schema } } },
    ],
    [
      'alternatives at the top',
      old[0]!,
      { responseFormat: { ...responseFormat, schema: { ...schema, anyOf: [{ required: ['city'] }] } } },
    ],
    ['a model that calls no tools', 'claude-2.1', {}],
  ])('%s: only asked for, and said so', (_, model, more) => {
    const { body, dropped } = ask(model, more)
    expect(JSON.stringify(body.system)).toContain('fits this JSON Schema')
    expect(dropped).toEqual(['response_format'])
    expect([body.output_config, body.tool_choice]).toEqual([undefined, undefined])
    expect((body.tools as { name: string }[] | undefined)?.map(tool => tool.name)).toEqual(
      more.tools?.map(tool => tool.name),
    )
  })

  test('for a JSON object every model gets an instruction', () => {
    for (const model of [...old, 'claude-sonnet-4-5']) {
      const { body, dropped } = ask(model, { responseFormat: { type: 'json-object' } })
      expect([JSON.stringify(body.system).includes('one valid JSON object'), body.tools, dropped]).toEqual([
        true,
        undefined,
        [],
      ])
    }
  })

  test('Claude on Vertex AI by its own names', () => {
    const vertex = providers.get('vertex_ai')!
    const options = { vertex_project: 'p' }
    const bodyOf = (model: string) =>
      vertex.chat!.request(chatRequest({ responseFormat }), targetOf(vertex, { model, options })).body as Record<
        string,
        unknown
      >
    expect(bodyOf('claude-opus-4-1@20250805')).toMatchObject({ tool_choice: { name: 'gateway_json_answer' } })
    expect(bodyOf('claude-opus-4-5@20251101').output_config).toBeDefined()
  })
})

describe('answers', () => {
  const usage = { input_tokens: 9, output_tokens: 4 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-1', usage }
  const use = (name: string, input: object) => ({ type: 'tool_use', id: 'toolu_1', name, input })
  const stream = (pieces: string[], stop: string) =>
    namedEvents([
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: use('gateway_json_answer', {}) },
      ...pieces.map(partial_json => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ])

  test('the arguments are the text, and no call is seen; whole and streamed, cut at every byte', () => {
    const whole = anthropic.chat!.result({
      ...message,
      content: [use('gateway_json_answer', { city: 'Zürich' })],
      stop_reason: 'tool_use',
    })
    expect(whole).toEqual([
      { type: 'start', id: 'msg_1', model: 'claude-opus-4-1' },
      { type: 'text', choice: 0, text: '{"city":"Zürich"}' },
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'usage', usage: { inputTokens: 9, outputTokens: 4 } },
    ])
    const bytes = stream(['', '{"city":', '"Zür', 'ich"}'], 'tool_use')
    const streamed = readStream(anthropic.chat!, bytes, 1)
    const [start, ...rest] = streamed.filter(event => event.type !== 'usage')
    expect(start).toEqual({ ...whole[0]!, usage: { inputTokens: 9, outputTokens: 4 } } as never)
    expect(rest).toEqual(whole.slice(1).filter(event => event.type !== 'usage'))
    for (let size = 2; size < 200; size++) expect(readStream(anthropic.chat!, bytes, size)).toEqual(streamed)
  })

  test('an empty object is an answer; one that is cut says so', () => {
    expect(readStream(anthropic.chat!, stream([], 'tool_use'), 50)).toContainEqual({
      type: 'text',
      choice: 0,
      text: '{}',
    })
    expect(readStream(anthropic.chat!, stream(['{"ci'], 'max_tokens'), 50)).toContainEqual({
      type: 'finish',
      choice: 0,
      reason: 'length',
    })
  })

  test("a tool of the client's stays a call", () => {
    const events = anthropic.chat!.result({ ...message, content: [use('f', { a: 1 })], stop_reason: 'tool_use' })
    expect(events.map(event => event.type)).toEqual([
      'start',
      'tool-call-start',
      'tool-call-arguments',
      'tool-call-end',
      'finish',
      'usage',
    ])
    expect(events).toContainEqual({ type: 'finish', choice: 0, reason: 'tool-calls' })
  })
})
