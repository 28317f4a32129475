/** What vendors refuse of tools, results and efforts, and both spellings of Google's fields. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { postJson } from '../testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 7 })
})
afterAll(() => simulator.stop())

/** The status, and the message of a refusal. */
async function said(path: string, body: object): Promise<[number, string]> {
  const { status, text } = await postJson(simulator, path, { model: 'sim', ...body })
  return [status, status === 200 ? '' : String(JSON.parse(text).error?.message ?? JSON.parse(text).message)]
}
const long = 'x'.repeat(65)
const schema = { type: 'object', properties: {} }
const user = { role: 'user', content: 'hi' }

describe('OpenAI', () => {
  const path = '/v1/chat/completions'
  const tool = (name: string) => ({ type: 'function', function: { name, parameters: schema } })
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })

  test('names of tools, in the list and in the conversation', async () => {
    const named = (name: string) => said(path, { messages: [user], tools: [tool('ok'), tool(name)] })
    expect(await named(long)).toEqual([400, expect.stringContaining("'tools[1].function.name': string too long")])
    for (const name of ['a.b', 'a/b', 'ä', 'a b'])
      expect(await named(name)).toEqual([400, expect.stringContaining('does not match pattern')])
    expect(await named('x'.repeat(64))).toEqual([200, ''])
    const custom = { type: 'custom', custom: { name: 'a.b' } }
    expect(await said(path, { messages: [user], tools: [custom] })).toEqual([
      400,
      expect.stringContaining("'tools[0].custom.name'"),
    ])
    const history = calls('a')
    history.tool_calls[0]!.function.name = 'a.b'
    expect(await said(path, { messages: [user, history, result('a')] })).toEqual([
      400,
      expect.stringContaining("'messages[1].tool_calls[0].function.name'"),
    ])
  })

  test('calls without results, and results without calls', async () => {
    const talk = (...messages: object[]) => said(path, { messages })
    const missing = expect.stringContaining('did not have response messages: b') as string
    expect(await talk(user, calls('a', 'b'), result('a'))).toEqual([400, missing])
    expect(await talk(user, calls('a', 'b'), result('a'), user)).toEqual([400, missing])
    expect(await talk(user, calls('b'))).toEqual([400, missing])
    const stray = expect.stringContaining('must be a response to a preceeding message') as string
    expect(await talk(result('a'))).toEqual([400, stray])
    expect(await talk(user, result('a'))).toEqual([400, stray])
    expect(await talk(user, calls('a'), user, result('a'))).toEqual([
      400,
      expect.stringContaining('did not have response messages: a'),
    ])
    expect(await talk(user, calls('a', 'b'), result('b'), result('a'), user)).toEqual([200, ''])
  })

  test('efforts', async () => {
    for (const effort of ['default', 'huge', 3])
      expect(await said(path, { messages: [user], reasoning_effort: effort })).toEqual([
        400,
        expect.stringContaining('Supported values are'),
      ])
    for (const effort of ['none', 'xhigh', 'max', null])
      expect(await said(path, { messages: [user], reasoning_effort: effort })).toEqual([200, ''])
    expect(await said('/v1/responses', { input: 'x', reasoning: { effort: 'huge' } })).toEqual([
      400,
      expect.stringContaining('Supported values are'),
    ])
  })

  test('Responses: names, and calls without outputs', async () => {
    const path = '/v1/responses'
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
    const output = { type: 'function_call_output', call_id: 'a', output: 'x' }
    expect(await said(path, { input: [call] })).toEqual([400, 'No tool output found for function call a.'])
    expect(await said(path, { input: [call, output] })).toEqual([200, ''])
    expect(await said(path, { input: [output] })).toEqual([400, expect.stringContaining('No tool call found')])
    const tool = { type: 'function', name: 'a.b', parameters: schema }
    expect(await said(path, { input: 'x', tools: [tool] })).toEqual([400, expect.stringContaining("'tools[0].name'")])
  })
})

describe('Anthropic', () => {
  const ask = (fields: object) => said('/v1/messages', { max_tokens: 100, messages: [user], ...fields })
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: ids.map(id => ({ type: 'tool_use', id, name: 'f', input: {} })),
  })
  const results = (...ids: string[]) => ({
    role: 'user',
    content: ids.map(id => ({ type: 'tool_result', tool_use_id: id, content: 'x' })),
  })

  test('names of tools', async () => {
    const named = (name: string) => ask({ tools: [{ name, input_schema: schema }] })
    expect(await named('x'.repeat(129))).toEqual([400, expect.stringContaining('at most 128 characters')])
    expect(await named('a.b')).toEqual([400, expect.stringContaining('should match pattern')])
    expect(await named('x'.repeat(128))).toEqual([200, ''])
  })

  test('calls without results, and results without calls', async () => {
    const missing = expect.stringContaining('without `tool_result` blocks immediately after: b') as string
    expect(await ask({ messages: [user, calls('a', 'b'), results('a')] })).toEqual([400, missing])
    expect(await ask({ messages: [user, calls('b')] })).toEqual([400, missing])
    expect(await ask({ messages: [user, calls('b'), user] })).toEqual([400, missing])
    const stray = expect.stringContaining('unexpected `tool_use_id`') as string
    expect(await ask({ messages: [results('a')] })).toEqual([400, stray])
    expect(await ask({ messages: [user, calls('a'), results('a', 'c')] })).toEqual([400, stray])
    expect(await ask({ messages: [user, calls('a', 'b'), results('a'), results('b')] })).toEqual([200, ''])
  })

  test('efforts', async () => {
    expect(await ask({ output_config: { effort: 'none' } })).toEqual([400, expect.stringContaining("'xhigh' or 'max'")])
    expect(await ask({ output_config: { effort: 'max' } })).toEqual([200, ''])
  })
})

describe('Gemini', () => {
  const ask = (fields: object) =>
    said('/v1beta/models/sim:generateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...fields })
  const tools = (name: string) => ({ tools: [{ functionDeclarations: [{ name, parametersJsonSchema: schema }] }] })
  const text = { role: 'user', parts: [{ text: 'hi' }] }
  const calls = (count: number) => ({
    role: 'model',
    parts: Array(count).fill({ functionCall: { name: 'f', args: {} } }),
  })
  const answers = (count: number) => ({
    role: 'user',
    parts: Array(count).fill({ functionResponse: { name: 'f', response: {} } }),
  })

  test('names of functions', async () => {
    for (const name of [long, '1a', 'a/b', ''])
      expect(await ask(tools(name))).toEqual([400, expect.stringContaining('Invalid function name')])
    for (const name of ['a.b', '_a:b-c']) expect(await ask(tools(name))).toEqual([200, ''])
  })

  test('calls and responses have to match', async () => {
    const order = expect.stringContaining('immediately after a function call turn') as string
    const number = expect.stringContaining('number of function response parts') as string
    expect(await ask({ contents: [answers(1)] })).toEqual([400, order])
    expect(await ask({ contents: [text, answers(1)] })).toEqual([400, order])
    expect(await ask({ contents: [text, calls(2), answers(1)] })).toEqual([400, number])
    expect(await ask({ contents: [text, calls(1), text] })).toEqual([400, number])
    expect(await ask({ contents: [text, calls(2), answers(2)] })).toEqual([200, ''])
  })

  test('both spellings are read, and names inside of schemas and arguments are left alone', async () => {
    const thoughts = async (config: object): Promise<number> => {
      const path = '/v1beta/models/sim:generateContent'
      const { text } = await postJson(simulator, path, { contents: [{ parts: [{ text: 'say: x' }] }], ...config })
      return Number(JSON.parse(text).usageMetadata.thoughtsTokenCount ?? 0)
    }
    expect(await thoughts({})).toBe(0)
    expect(await thoughts({ generationConfig: { thinkingConfig: { thinkingBudget: 8 } } })).toBe(8)
    expect(await thoughts({ generation_config: { thinking_config: { thinking_budget: 8 } } })).toBe(8)
    expect(await thoughts({ generationConfig: { thinking_config: { thinking_level: 'high' } } })).toBeGreaterThan(0)
    const city = { type: 'object', properties: { city_name: { type: 'string' } }, required: ['city_name'] }
    const declared = [
      { functionDeclarations: [{ name: 'f', parametersJsonSchema: city }] },
      { function_declarations: [{ name: 'f', parameters_json_schema: city }] },
    ]
    for (const tool of declared) {
      const path = '/v1beta/models/sim:generateContent'
      const { text } = await postJson(simulator, path, {
        contents: [{ parts: [{ text: 'use the tool' }] }],
        tools: [tool],
      })
      const [part] = JSON.parse(text).candidates[0].content.parts
      expect(part.functionCall).toMatchObject({ name: 'f', args: { city_name: expect.any(String) as string } })
    }
  })

  test('levels of thinking', async () => {
    const level = (thinkingConfig: object) => ask({ generationConfig: { thinkingConfig } })
    expect(await level({ thinkingLevel: 'max' })).toEqual([400, expect.stringContaining('thinking_level')])
    expect(await level({ thinkingLevel: 'low', thinkingBudget: 5 })).toEqual([400, expect.stringContaining('only one')])
    expect(await level({ thinkingLevel: 'low' })).toEqual([200, ''])
  })
})
