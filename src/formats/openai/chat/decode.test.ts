import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiChat } from './index.ts'
import { gatewayFields } from '../../common/gateway-fields.ts'

const decode = (fields: object) => {
  const body = JsonBody.read(
    Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields })),
  )
  expect(openaiChat.inspect(body).problems).toEqual([])
  return openaiChat.decode(body)
}
const partsOf = (...content: unknown[]) => decode({ messages: [{ role: 'user', content }] }).messages[0]!.parts

function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was refused')
}

describe('decoding a chat body', () => {
  test('a small body becomes a small request', () => {
    expect(decode({})).toEqual({
      model: 'm',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
      stream: false,
      includeUsage: false,
      extra: { format: 'openai-chat', fields: {} },
    })
  })

  test('every sampling field arrives under its own word', () => {
    const request = decode({
      stream: true,
      stream_options: { include_usage: true },
      n: 2,
      max_tokens: 5,
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
      stop: 'END',
      seed: 0,
      frequency_penalty: -1,
      presence_penalty: 1,
      logit_bias: { 7: -1 },
      logprobs: true,
      top_logprobs: 2,
      parallel_tool_calls: false,
      user: 'u',
      metadata: { a: 'b' },
      service_tier: 'flex',
      reasoning_effort: 'low',
    })
    expect(request).toMatchObject({
      stream: true,
      includeUsage: true,
      choices: 2,
      maxOutputTokens: 5,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      stop: ['END'],
      seed: 0,
      frequencyPenalty: -1,
      presencePenalty: 1,
      logitBias: { 7: -1 },
      logprobs: true,
      topLogprobs: 2,
      parallelToolCalls: false,
      user: 'u',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      reasoning: { effort: 'low' },
    })
    expect(request.extra.fields).toEqual({})
  })

  test('max_completion_tokens wins over max_tokens', () => {
    expect(decode({ max_tokens: 5, max_completion_tokens: 9 }).maxOutputTokens).toBe(9)
    expect(decode({ max_tokens: 5, max_completion_tokens: null }).maxOutputTokens).toBe(5)
  })

  test('usage is not asked for outside a stream', () => {
    expect(decode({ stream_options: { include_usage: true } }).includeUsage).toBe(false)
  })

  test("unknown fields are extra, null ones and the gateway's own are not", () => {
    const fields = Object.fromEntries([...gatewayFields].map(name => [name, null]))
    const { extra } = decode({
      ...fields,
      min_p: 0.1,
      store: null,
      chat_template_kwargs: { thinking_mode: 'off' },
      guardrails: ['g'],
      caching: true,
      cache: { 'no-cache': true },
      num_retries: 1,
      fallbacks: ['x'],
      context_window_fallback_dict: { a: 'b' },
      api_key: 'sk-stolen',
      api_base: 'http://evil',
      timeout: 5,
    })
    expect(extra).toEqual({
      format: 'openai-chat',
      fields: { min_p: 0.1, chat_template_kwargs: { thinking_mode: 'off' } },
    })
  })

  test('images come as bytes from data: URLs and as references otherwise', () => {
    expect(
      partsOf(
        { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAEC', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://a/b.png' } },
        { type: 'image_url', image_url: 'data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E' },
      ),
    ).toEqual([
      { type: 'image', source: { data: 'AAEC', mediaType: 'image/png' }, detail: 'low' },
      { type: 'image', source: { url: 'https://a/b.png', field: 'messages.0.content.1.image_url.url' } },
      {
        type: 'image',
        source: { data: Buffer.from('<svg/>').toString('base64'), mediaType: 'image/svg+xml' },
      },
    ])
  })

  test('a data: URL without data is refused by its place', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64' } }
    const error = refusal(() => partsOf({ type: 'text', text: 'see' }, image))
    expect(error.problems![0]!.loc).toEqual(['body', 'messages', 0, 'content', 1, 'image_url', 'url'])
  })

  test('sound and files keep their bytes, names and ids', () => {
    expect(
      partsOf(
        { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
        { type: 'file', file: { file_data: 'JVBE' } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'refusal', refusal: 'no' },
      ),
    ).toEqual([
      { type: 'audio', data: 'UklG', format: 'wav' },
      { type: 'document', source: { data: 'JVBE', mediaType: 'application/pdf' }, name: 'a.pdf' },
      { type: 'document', source: { data: 'JVBE', mediaType: 'application/pdf' } },
      { type: 'document', source: { fileId: 'file-1' } },
      { type: 'refusal', text: 'no' },
    ])
  })

  test('earlier audio by id is named as dropped beside its text, and refused alone', () => {
    const spoken = { role: 'assistant', content: 'hello', audio: { id: 'audio_1' } }
    expect(decode({ messages: [spoken] }).dropped).toEqual(['messages.audio'])
    expect(refusal(() => decode({ messages: [{ ...spoken, content: null }] })).message).toContain('earlier audio by id')
  })

  test('a part that only this dialect knows is refused by name', () => {
    const error = refusal(() => partsOf({ type: 'hologram' }))
    expect(error.status).toBe(422)
    expect(error.message).toContain('"hologram"')
  })

  test('tool calls and their results stay paired', () => {
    const { messages } = decode({
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      ],
    })
    expect(messages).toEqual([
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', arguments: '{"a":1' }] },
      {
        role: 'tool',
        parts: [{ type: 'tool-result', callId: 'c1', parts: [{ type: 'text', text: 'sunny' }] }],
      },
    ])
  })

  test('the old functions allow one call, which the client did not ask for and cannot lose', () => {
    const functions = [{ name: 'f' }]
    const settings = (body: object) => {
      const { parallelToolCalls, understoodExtra } = decode(body)
      return [parallelToolCalls, understoodExtra]
    }
    expect(settings({ functions })).toEqual([false, ['parallel_tool_calls']])
    expect(settings({ functions, parallel_tool_calls: false })).toEqual([false, undefined])
    expect(settings({ functions, chat_template_kwargs: { thinking_mode: 'on' } })).toEqual([
      false,
      ['parallel_tool_calls', 'chat_template_kwargs'],
    ])
    expect(settings({ tools: [{ type: 'function', function: { name: 'f' } }], parallel_tool_calls: false })).toEqual([
      false,
      undefined,
    ])
  })

  test('the old functions become tools, and each answer finds its latest call', () => {
    const request = decode({
      functions: [{ name: 'f', description: 'd', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '1' } },
        { role: 'function', name: 'f', content: 'one' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '2' } },
        { role: 'function', name: 'f', content: 'two' },
      ],
    })
    expect(request.tools).toEqual([{ name: 'f', description: 'd', parameters: { type: 'object' } }])
    expect(request.toolChoice).toEqual({ name: 'f' })
    const ids = request.messages.map(({ parts: [part] }) =>
      part!.type === 'tool-call' ? part!.id : part!.type === 'tool-result' ? part!.callId : '?',
    )
    expect(ids).toEqual(['call_0', 'call_0', 'call_2', 'call_2'])
    expect(request.extra.fields).toEqual({})
  })

  test('signed thinking comes back as it went out', () => {
    const blocks = [
      { type: 'thinking', thinking: 'hmm', signature: 'sig==' },
      { type: 'redacted_thinking', data: 'zzz' },
    ]
    const { messages } = decode({
      messages: [
        { role: 'assistant', content: 'yes', reasoning_content: 'hmm', thinking_blocks: blocks },
        { role: 'assistant', content: 'yes', reasoning: 'plain' },
      ],
    })
    expect(messages[0]!.parts).toEqual([
      { type: 'reasoning', text: 'hmm', signature: 'sig==' },
      { type: 'reasoning', text: '', redacted: 'zzz' },
      { type: 'text', text: 'yes' },
    ])
    expect(messages[1]!.parts[0]).toEqual({ type: 'reasoning', text: 'plain' })
  })

  test('cache breakpoints stay where the client put them', () => {
    const cache = { type: 'ephemeral', ttl: '1h' }
    const request = decode({
      messages: [
        { role: 'system', content: 'long', cache_control: cache },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'r', cache_control: { type: 'ephemeral', ttl: '9y' } },
      ],
      tools: [{ type: 'function', function: { name: 'f' }, cache_control: cache }],
    })
    expect(request.messages[0]!.parts).toEqual([
      { type: 'text', text: 'long', cache: { type: 'ephemeral', ttl: '1h' } },
    ])
    expect(request.messages[1]!.parts).toEqual([
      { type: 'text', text: 'a', cache: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
    ])
    expect(request.messages[2]!.parts[0]).toMatchObject({ cache: { type: 'ephemeral' } })
    expect(request.tools![0]!.cache).toEqual({ type: 'ephemeral', ttl: '1h' })
  })

  test('tool choices of every spelling mean the same', () => {
    const tools = ['f', 'g'].map(name => ({ type: 'function', function: { name } }))
    const choiceOf = (tool_choice: unknown) => decode({ tools, tool_choice }).toolChoice
    expect(choiceOf('any')).toBe('required')
    expect(choiceOf('none')).toBe('none')
    expect(choiceOf({ type: 'auto' })).toBe('auto')
    expect(choiceOf({ type: 'function', function: { name: 'g' } })).toEqual({ name: 'g' })
    expect(choiceOf({ type: 'function', name: 'g' })).toEqual({ name: 'g' })
    const allowed = decode({
      tools,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: [{ type: 'function', function: { name: 'g' } }],
        },
      },
    })
    expect(allowed.toolChoice).toBe('required')
    expect(allowed.tools).toEqual([{ name: 'g' }])
  })

  test('tools that are no functions are refused by their place', () => {
    const error = refusal(() => decode({ tools: [{ type: 'web_search' }] }))
    expect(error.problems![0]!.loc).toEqual(['body', 'tools', 0, 'type'])
  })

  test('response formats and reasoning settings are understood in all spellings', () => {
    expect(decode({ response_format: { type: 'json_object' } }).responseFormat).toEqual({
      type: 'json-object',
    })
    expect(
      decode({
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { a: 1 }, strict: true } },
      }).responseFormat,
    ).toEqual({ type: 'json-schema', name: 'n', schema: { a: 1 }, strict: true })
    expect(decode({ reasoning: { effort: 'high', max_tokens: 9 } }).reasoning).toEqual({
      effort: 'high',
      budgetTokens: 9,
    })
    expect(decode({ thinking: { type: 'enabled', budget_tokens: 9 } }).reasoning).toEqual({
      budgetTokens: 9,
      enabled: true,
    })
    expect(decode({ thinking: { type: 'disabled' } }).reasoning).toEqual({ enabled: false })
    expect(decode({ reasoning_effort: 'max' }).reasoning).toEqual({ effort: 'max' })
    expect(decode({}).reasoning).toBeUndefined()
  })
})
