import { describe, expect, test } from 'bun:test'
import { unprocessable } from '../../core/errors.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { anthropicCountTokens, anthropicMessages } from './index.ts'

const read = (body: unknown) => JsonBody.read(Buffer.from(JSON.stringify(body)))
const inspect = (more: object) =>
  anthropicMessages.inspect(read({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...more }))
const says = (content: unknown) => ({ messages: [{ role: 'user', content }] })

test('a request of Claude Code has nothing wrong with it', () => {
  const body = {
    stream: true,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.328; cch=00000;' },
      { type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'system', content: 'The date is today.' },
    ],
    tools: [
      { name: 'Read', description: 'd', input_schema: { type: 'object', properties: {} }, eager_input_streaming: true },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 8 },
    ],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
    temperature: 1,
    top_p: null,
    top_k: 0,
    stop_sequences: [],
    service_tier: 'auto',
    container: 'c',
    mcp_servers: [],
    speed: 'fast',
  }
  expect(inspect(body)).toEqual({
    model: 'm',
    stream: true,
    endUser: '{"device_id":"d","session_id":"s"}',
    problems: [],
  })
})

describe('what is wrong is named, with the remedy', () => {
  const wrong: [object, string, RegExp][] = [
    [{ max_tokens: undefined }, 'max_tokens', /missing; send the most tokens/],
    [{ max_tokens: null }, 'max_tokens', /missing/],
    [{ max_tokens: 1.5 }, 'max_tokens', /integer/],
    [{ max_tokens: -1 }, 'max_tokens', /at least 0/],
    [{ messages: undefined }, 'messages', /missing/],
    [{ messages: undefined, input: 'x' }, 'messages', /v1\/responses/],
    [{ messages: [] }, 'messages', /at least one/],
    [{ messages: 'hi' }, 'messages', /array/],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.role', /tool_result/],
    [{ messages: [{ role: 'developer', content: 'x' }] }, 'messages.0.role', /`system`/],
    [{ messages: [{ role: 'user' }] }, 'messages.0.content', /missing/],
    [says([{ type: 'text' }]), 'messages.0.content.0.text', /missing/],
    [says(['x']), 'messages.0.content.0', /object with a `type`/],
    [
      says([{ type: 'image', source: { type: 'base64', data: 'x' } }]),
      'messages.0.content.0.source.media_type',
      /missing/,
    ],
    [says([{ type: 'image', source: 'https://x' }]), 'messages.0.content.0.source', /object/],
    [says([{ type: 'tool_use', id: 'a', name: 'b', input: '{}' }]), 'messages.0.content.0.input', /object/],
    [says([{ type: 'tool_result', content: 'x' }]), 'messages.0.content.0.tool_use_id', /missing/],
    [
      says([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 1 }] }]),
      'messages.0.content.0.content.0.text',
      /string/,
    ],
    [
      says([{ type: 'tool_result', tool_use_id: 'a', is_error: 'no' }]),
      'messages.0.content.0.is_error',
      /true or false/,
    ],
    [says([{ type: 'thinking', thinking: 'x' }]), 'messages.0.content.0.signature', /missing/],
    [says([{ type: 'text', text: 'x', cache_control: true }]), 'messages.0.content.0.cache_control', /object/],
    [{ system: [{ type: 'image', source: {} }] }, 'system.0.type', /"text"/],
    [{ system: 5 }, 'system', /string or an array/],
    [{ temperature: 1.5 }, 'temperature', /between 0 and 1/],
    [{ top_k: -1 }, 'top_k', /at least 0/],
    [{ stop_sequences: 'END' }, 'stop_sequences', /array/],
    [{ stop_sequences: [1] }, 'stop_sequences.0', /string/],
    [{ stream: 'yes' }, 'stream', /true or false/],
    [{ tools: [{ name: 'f' }] }, 'tools.0.input_schema', /missing/],
    [{ tools: [{ name: '', input_schema: {} }] }, 'tools.0.name', /not empty/],
    [{ tools: [{ name: 'f', input_schema: {}, strict: 1 }] }, 'tools.0.strict', /true or false/],
    [{ tool_choice: 'auto' }, 'tool_choice', /object/],
    [{ tool_choice: { type: 'required' } }, 'tool_choice.type', /"any"/],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name', /missing/],
    [{ thinking: true }, 'thinking', /object/],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens', /missing/],
    [{ thinking: { type: 'enabled', budget_tokens: 1000 } }, 'thinking.budget_tokens', /at least 1024/],
    [{ output_config: { effort: 3 } }, 'output_config.effort', /"low"/],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema', /missing/],
    [{ output_format: 'json' }, 'output_format', /object/],
    [{ metadata: { user_id: 5 } }, 'metadata.user_id', /string/],
    [{ mcp_servers: [{ type: 'url', url: 'https://x' }] }, 'mcp_servers.0.name', /missing/],
    [{ container: 5 }, 'container', /id of a container/],
    [{ context_management: [] }, 'context_management', /object/],
  ]
  test.each(wrong.map(([body, where, what]) => [JSON.stringify(body), body, where, what] as const))(
    '%s',
    (_, body, where, what) => {
      const { problems } = inspect(body)
      expect(problems[0]?.loc.slice(1).join('.')).toBe(where)
      expect(problems[0]!.msg).toMatch(what)
    },
  )

  test("a tool in OpenAI's form is recognised", () => {
    const [, problem] = inspect({ tools: [{ type: 'custom', function: { name: 'f', parameters: {} } }] }).problems
    expect(problem!.msg).toContain("OpenAI's form")
  })
})

test('a large body is checked as a small one', () => {
  const messages = [
    { role: 'user', content: 'x'.repeat(300_000) },
    { role: 'user', content: [{ type: 'text' }] },
  ]
  const [problem] = anthropicMessages.inspect(read({ model: 'm', max_tokens: 10, messages })).problems
  expect(problem!.msg).toStartWith('`messages[1].content[0].text` is missing')
})

test('counting needs no max_tokens, and the same otherwise', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  expect(anthropicCountTokens.inspect(read(body)).problems).toEqual([])
  expect(anthropicCountTokens.inspect(read({ ...body, stream: true })).stream).toBe(false)
  expect(anthropicCountTokens.inspect(read({ ...body, messages: [] })).problems.length).toBe(1)
  expect(anthropicCountTokens.encode({ inputTokens: 7 }, 'm', anthropicCountTokens.decode(read(body)))).toEqual({
    input_tokens: 7,
  })
})

test("errors are Anthropic's", () => {
  const { problems } = inspect({ temperature: 3 })
  expect(anthropicMessages.errorBody(unprocessable(problems))).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: '`temperature` must be a number between 0 and 1; got 3' },
  })
})
