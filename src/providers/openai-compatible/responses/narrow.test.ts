/**
 * Perplexity's Agent API, which has less than OpenAI's Responses. What it takes: the types of perplexityai 0.46 (PyPI),
 * perplexity/types/response_create_params.py and input_item_param.py, read on 2026-11-23.
 */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest, Part } from '../../../core/hub/chat.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiResponses } from '../../../formats/index.ts'
import { providers } from '../../index.ts'
import { chatRequest, targetOf } from '../../../../tests/support/provider-rig.ts'

const target = targetOf(providers.get('perplexity')!, { model: 'sonar' })
const sent = (more: Partial<ChatRequest>) => target.provider.chatByResponses!(target).request(chatRequest(more), target)
const bare = {
  model: 'perplexity/sonar',
  preset: 'fast',
  store: false,
  input: [{ type: 'message', role: 'user', content: 'hi' }],
}
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const tools = ['a', 'b'].map(name => ({ name, parameters: schema }))
const functions = tools.map(tool => ({ type: 'function', ...tool, strict: false }))
const own = { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } }

describe('a chat', () => {
  test.each<[string, Partial<ChatRequest>, object, string[]]>([
    ['sampling', { temperature: 0.2, topP: 0.5 }, {}, ['temperature', 'top_p']],
    ['names of the caller', { user: 'u', metadata: { a: 'b' } }, {}, ['user', 'metadata']],
    ['a tier', { serviceTier: 'flex' }, {}, ['service_tier']],
    ['log probabilities', { logprobs: true, topLogprobs: 3 }, {}, ['logprobs', 'top_logprobs']],
    ['an effort', { reasoning: { effort: 'low' } }, { reasoning: { effort: 'low' } }, []],
    ['no reasoning', { reasoning: { effort: 'none' } }, { reasoning: { effort: 'minimal' } }, ['reasoning.effort']],
    [
      'a schema',
      { responseFormat: { type: 'json-schema', name: 'n', schema, strict: true } },
      { response_format: own },
      [],
    ],
    ['any JSON object', { responseFormat: { type: 'json-object' } }, {}, ['response_format']],
    ['text', { responseFormat: { type: 'text' } }, {}, []],
    ['tools', { tools, toolChoice: 'auto', parallelToolCalls: true }, { tools: functions }, []],
    ['tools that are not to be called', { tools, toolChoice: 'none' }, {}, []],
    ['some tool', { tools, toolChoice: 'required' }, { tools: functions }, ['tool_choice']],
    ['one tool', { tools, toolChoice: { name: 'b' } }, { tools: [functions[1]!] }, ['tool_choice']],
    ['one call', { tools, parallelToolCalls: false }, { tools: functions }, ['parallel_tool_calls']],
  ])('%s', (_, more, expected, lost) => {
    const { body, dropped } = sent(more)
    expect(JSON.parse(JSON.stringify(body))).toEqual({ ...bare, ...expected })
    expect(dropped).toEqual(lost)
  })

  test('verbosity beside a schema, and a cache key, are named', () => {
    const extra = { format: 'openai-chat', fields: { verbosity: 'low', prompt_cache_key: 'k' } } as const
    const { body, dropped } = sent({ extra, responseFormat: { type: 'json-schema', name: 'n', schema, strict: true } })
    expect(body).toEqual({ ...bare, response_format: own })
    expect(dropped.toSorted()).toEqual(['prompt_cache_key', 'verbosity'])
  })
})

describe('the conversation', () => {
  const say = (...parts: Part[]): Partial<ChatRequest> => ({ messages: [{ role: 'user', parts }] })

  test('a picture has an address alone, and one of a result follows it', () => {
    const image = { type: 'image', source: { url: 'https://host.example/a.png' }, detail: 'high' } as const
    const text = { type: 'text', text: 'It shows:' } as const
    const { body, dropped } = sent({
      messages: [
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'a', arguments: '{}' }] },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'c', parts: [text, image] }] },
      ],
    })
    expect((body as { input: unknown }).input).toEqual([
      { type: 'function_call', call_id: 'c', name: 'a', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'It shows:' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://host.example/a.png' }],
      },
    ])
    expect(dropped).toEqual(['messages.content.image_url.detail'])
  })

  test.each<[string, Part]>([
    ['documents', { type: 'document', source: { data: 'JVBERi0=', mediaType: 'application/pdf' } }],
    ['documents', { type: 'document', source: { url: 'https://host.example/a.pdf' } }],
    ['images by file id', { type: 'image', source: { fileId: 'file-1' } }],
  ])('%s are refused before anything is sent', (what, part) => {
    expect(() => sent(say(part))).toThrow(`this model takes no ${what}`)
  })
})

test('a Response that is forwarded is put in the same words', () => {
  const rules = target.provider.rules!(targetOf(target.provider, { model: 'openai/gpt-5.5' }), 'openai-responses')
  const text = { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' }
  const asked = {
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://host.example/a', detail: 'low' }] }],
    text,
    reasoning: { effort: 'high', summary: 'auto' },
    tools: functions,
    tool_choice: { type: 'function', name: 'a' },
    max_tool_calls: 3,
    max_output_tokens: 99,
  }
  const body = JsonBody.read(Buffer.from(JSON.stringify(asked)))
  const { edits, dropped } = openaiResponses.forward.edits(body, rules)
  expect(JSON.parse(Buffer.concat(body.edited(edits)).toString())).toEqual({
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://host.example/a' }] }],
    response_format: own,
    reasoning: { effort: 'high' },
    tools: [functions[0]!],
    max_output_tokens: 99,
  })
  expect(dropped.toSorted()).toEqual([
    'input.content.detail',
    'max_tool_calls',
    'reasoning',
    'text.verbosity',
    'tool_choice',
  ])
})
