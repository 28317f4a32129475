import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readJsonBody } from '../../../core/request.ts'
import { openaiChat } from './index.ts'

const hello = [{ role: 'user', content: 'hello' }]
const bodyOf = (text: string) => JsonBody.read(Buffer.from(text))
const inspectFields = (fields: object) =>
  openaiChat.inspect(bodyOf(JSON.stringify({ model: 'm', messages: hello, ...fields })))
const pathsOf = (fields: object) =>
  inspectFields(fields).problems.map(problem => problem.loc.slice(1).join('.') + ':' + problem.type)
const message = (fields: object) => ({ messages: [{ role: 'user', content: 'x', ...fields }] })
const part = (fields: object) => message({ content: [fields] })
const call = (fields: object) => ({
  messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', ...fields }] }],
})
const tool = (fields: unknown) => ({ tools: [fields] })
const known = { type: 'function', function: { name: 'f' } }

const refused: [string, object, string[]][] = [
  ['a model that is no string', { model: 7 }, ['model:wrong_type']],
  ['messages that are a string', { messages: 'hi' }, ['messages:wrong_type']],
  ['messages that are an object', { messages: { role: 'user' } }, ['messages:wrong_type']],
  ['no messages at all', { messages: [] }, ['messages:out_of_range']],
  ['messages of null', { messages: null }, ['messages:missing']],
  ['a message of null', { messages: [null] }, ['messages.0:missing']],
  ['a message that is a string', { messages: ['hi'] }, ['messages.0:wrong_type']],
  ['a message that is an array', { messages: [[]] }, ['messages.0:wrong_type']],
  ['an unknown role', message({ role: 'robot' }), ['messages.0.role:unknown_value']],
  ['the role __proto__', message({ role: '__proto__' }), ['messages.0.role:unknown_value']],
  ['a message without a role', { messages: [{ content: 'x' }] }, ['messages.0.role:missing']],
  ['a role that is a number', message({ role: 3 }), ['messages.0.role:wrong_type']],
  ['content that is a number', message({ content: 3 }), ['messages.0.content:wrong_type']],
  ['content that is an object', message({ content: {} }), ['messages.0.content:wrong_type']],
  ['a part that is a string', message({ content: ['x'] }), ['messages.0.content.0:wrong_type']],
  ['a part without a type', part({ text: 'x' }), ['messages.0.content.0.type:missing']],
  ['a text part without text', part({ type: 'text' }), ['messages.0.content.0.text:missing']],
  ['a text part of a number', part({ type: 'text', text: 1 }), ['messages.0.content.0.text:wrong_type']],
  [
    'an image without a URL',
    part({ type: 'image_url', image_url: {} }),
    ['messages.0.content.0.image_url.url:missing'],
  ],
  ['an image of null', part({ type: 'image_url', image_url: null }), ['messages.0.content.0.image_url:missing']],
  [
    'sound without data',
    part({ type: 'input_audio', input_audio: { format: 'wav' } }),
    ['messages.0.content.0.input_audio.data:missing'],
  ],
  ['a file without bytes or id', part({ type: 'file', file: {} }), ['messages.0.content.0.file:wrong_type']],
  ['a refusal that is no text', part({ type: 'refusal', refusal: 1 }), ['messages.0.content.0.refusal:wrong_type']],
  ['a name that is no string', message({ name: 1 }), ['messages.0.name:wrong_type']],
  [
    'a tool message with an empty call id',
    message({ role: 'tool', tool_call_id: '' }),
    ['messages.0.tool_call_id:wrong_type'],
  ],
  ['a function message without a name', message({ role: 'function' }), ['messages.0.name:missing']],
  [
    'tool calls that are an object',
    message({ role: 'assistant', tool_calls: {} }),
    ['messages.0.tool_calls:wrong_type'],
  ],
  [
    'a tool call without an id',
    call({ id: undefined, function: { name: 'f', arguments: '' } }),
    ['messages.0.tool_calls.0.id:missing'],
  ],
  ['a tool call without a function', call({}), ['messages.0.tool_calls.0.function:missing']],
  [
    'arguments that are an object',
    call({ function: { name: 'f', arguments: {} } }),
    ['messages.0.tool_calls.0.function.arguments:wrong_type'],
  ],
  [
    'a tool call without a name',
    call({ function: { arguments: '' } }),
    ['messages.0.tool_calls.0.function.name:missing'],
  ],
  [
    'a function call that is a string',
    message({ role: 'assistant', function_call: 'f' }),
    ['messages.0.function_call:wrong_type'],
  ],
  [
    'thinking blocks that are a string',
    message({ role: 'assistant', thinking_blocks: 'x' }),
    ['messages.0.thinking_blocks:wrong_type'],
  ],
  ['a hot temperature', { temperature: 'hot' }, ['temperature:wrong_type']],
  ['a temperature above 2', { temperature: 2.1 }, ['temperature:out_of_range']],
  ['a temperature below 0', { temperature: -0.1 }, ['temperature:out_of_range']],
  ['a temperature of true', { temperature: true }, ['temperature:wrong_type']],
  ['a top_p above 1', { top_p: 1.5 }, ['top_p:out_of_range']],
  ['a frequency penalty below -2', { frequency_penalty: -3 }, ['frequency_penalty:out_of_range']],
  ['a presence penalty above 2', { presence_penalty: 3 }, ['presence_penalty:out_of_range']],
  ['no choices', { n: 0 }, ['n:out_of_range']],
  ['129 choices', { n: 129 }, ['n:out_of_range']],
  ['half a choice', { n: 1.5 }, ['n:wrong_type']],
  ['no tokens', { max_tokens: 0 }, ['max_tokens:out_of_range']],
  ['tokens as text', { max_tokens: '5' }, ['max_tokens:wrong_type']],
  ['negative completion tokens', { max_completion_tokens: -1 }, ['max_completion_tokens:out_of_range']],
  ['a fractional seed', { seed: 1.5 }, ['seed:wrong_type']],
  ['a seed beyond 64 bits', { seed: 1e300 }, ['seed:out_of_range']],
  ['a stop of a number', { stop: 1 }, ['stop:wrong_type']],
  ['17 stops', { stop: Array(17).fill('x') }, ['stop:out_of_range']],
  ['a stop of null among others', { stop: ['a', null] }, ['stop.1:missing']],
  ['a stream of "true"', { stream: 'true' }, ['stream:wrong_type']],
  ['stream options of text in a stream', { stream: true, stream_options: 'x' }, ['stream_options:wrong_type']],
  [
    'an include_usage of 1',
    { stream: true, stream_options: { include_usage: 1 } },
    ['stream_options.include_usage:wrong_type'],
  ],
  ['logprobs as a text', { logprobs: 'yes' }, ['logprobs:wrong_type']],
  ['21 logprobs', { logprobs: 21 }, ['logprobs:out_of_range']],
  ['top_logprobs without logprobs', { top_logprobs: 2 }, ['top_logprobs:invalid']],
  ['21 top_logprobs', { logprobs: true, top_logprobs: 21 }, ['top_logprobs:out_of_range']],
  ['tools that are an object', { tools: {} }, ['tools:wrong_type']],
  ['a tool without a type', tool({ function: { name: 'f' } }), ['tools.0.type:missing']],
  ['a tool without a function', tool({ type: 'function' }), ['tools.0.function:missing']],
  ['a tool without a name', tool({ type: 'function', function: {} }), ['tools.0.function.name:missing']],
  [
    'tool parameters that are text',
    tool({ type: 'function', function: { name: 'f', parameters: '{}' } }),
    ['tools.0.function.parameters:wrong_type'],
  ],
  ['a custom tool without a name', tool({ type: 'custom', custom: {} }), ['tools.0.custom:wrong_type']],
  ['an unknown tool choice', { tool_choice: 'maybe' }, ['tool_choice:unknown_value']],
  ['a tool choice without a name', { tool_choice: { type: 'function' } }, ['tool_choice.function.name:missing']],
  ['a tool choice of an array', { tool_choice: [] }, ['tool_choice:wrong_type']],
  ['allowed tools without tools', { tool_choice: { type: 'allowed_tools' } }, ['tool_choice.allowed_tools:missing']],
  ['parallel tool calls of "yes"', { parallel_tool_calls: 'yes' }, ['parallel_tool_calls:wrong_type']],
  ['functions without a name', { functions: [{}] }, ['functions.0.name:missing']],
  ['an unknown function call', { function_call: 'any' }, ['function_call:unknown_value']],
  ['a response format of text', { response_format: 'json' }, ['response_format:wrong_type']],
  ['an unknown response format', { response_format: { type: 'yaml' } }, ['response_format.type:unknown_value']],
  [
    'a JSON schema without a schema',
    { response_format: { type: 'json_schema' } },
    ['response_format.json_schema:missing'],
  ],
  ['a logit bias of an array', { logit_bias: [] }, ['logit_bias:wrong_type']],
  ['a logit bias of 101', { logit_bias: { 5: 101 } }, ['logit_bias.5:out_of_range']],
  ['a logit bias of text', { logit_bias: { 5: '1' } }, ['logit_bias.5:wrong_type']],
  ['a user of a number', { user: 5 }, ['user:wrong_type']],
  ['metadata of text', { metadata: 'x' }, ['metadata:wrong_type']],
  ['a guardrail of a number', { guardrails: ['a', 1] }, ['guardrails.1:wrong_type']],
  ['a caching of 1', { caching: 1 }, ['caching:wrong_type']],
  ['negative retries', { num_retries: -1 }, ['num_retries:out_of_range']],
  [
    'a fallback map of numbers',
    { context_window_fallback_dict: { a: 1 } },
    ['context_window_fallback_dict.a:wrong_type'],
  ],
  ['fallbacks of text', { fallbacks: 'm' }, ['fallbacks:wrong_type']],
  [
    'fallbacks without a name',
    { fallbacks: ['', {}, 5] },
    ['fallbacks.0:wrong_type', 'fallbacks.1.model:missing', 'fallbacks.2:wrong_type'],
  ],
  [
    'a fallback with messages of its own',
    { fallbacks: [{ model: 'm', messages: [] }] },
    ['fallbacks.0.messages:unsupported'],
  ],
  ['eleven fallbacks', { fallbacks: Array(11).fill('m') }, ['fallbacks:out_of_range']],
  ['eleven retries', { num_retries: 11 }, ['num_retries:out_of_range']],
  ['a drop_params of text', { drop_params: 'no' }, ['drop_params:wrong_type']],
  ['stream options of text, also outside a stream', { stream_options: 'x' }, ['stream_options:wrong_type']],
  ['a user message without content', { messages: [{ role: 'user' }] }, ['messages.0.content:missing']],
  ['a user message of null', { messages: [{ role: 'user', content: null }] }, ['messages.0.content:missing']],
  ['a demanded call without tools', { tool_choice: 'required' }, ['tool_choice:invalid']],
  [
    'a named tool without tools',
    { tools: [], tool_choice: { type: 'function', function: { name: 'f' } } },
    ['tool_choice:invalid'],
  ],
  [
    'a named tool that is another',
    { tools: [known], tool_choice: { type: 'function', function: { name: 'g' } } },
    ['tool_choice:unknown_value'],
  ],
  [
    'an allowed tool that is another',
    {
      tools: [known],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] },
      },
    },
    ['tool_choice.allowed_tools.tools.0:unknown_value'],
  ],
  [
    'a named function that is another',
    { functions: [{ name: 'f' }], function_call: { name: 'g' } },
    ['function_call:unknown_value'],
  ],
  ['a cache of true', { cache: true }, ['cache:wrong_type']],
  ['a no-cache of text', { cache: { 'no-cache': 'yes' } }, ['cache.no-cache:wrong_type']],
  ['template arguments of text', { chat_template_kwargs: 'x' }, ['chat_template_kwargs:wrong_type']],
  ['a service tier of a number', { service_tier: 1 }, ['service_tier:wrong_type']],
  ['an unknown effort', { reasoning_effort: 'huge' }, ['reasoning_effort:unknown_value']],
  ['an unknown reasoning effort', { reasoning: { effort: 'huge' } }, ['reasoning.effort:unknown_value']],
  [
    'a negative thinking budget',
    { thinking: { type: 'enabled', budget_tokens: -1 } },
    ['thinking.budget_tokens:out_of_range'],
  ],
]

const accepted: [string, object][] = [
  ['the smallest body', {}],
  [
    'null in every field',
    Object.fromEntries(
      [
        'model',
        'frequency_penalty',
        'logit_bias',
        'logprobs',
        'top_logprobs',
        'max_tokens',
        'n',
        'presence_penalty',
        'response_format',
        'seed',
        'service_tier',
        'stop',
        'stream_options',
        'temperature',
        'top_p',
        'tools',
        'tool_choice',
        'parallel_tool_calls',
        'function_call',
        'functions',
        'user',
        'stream',
        'metadata',
        'guardrails',
        'caching',
        'num_retries',
        'context_window_fallback_dict',
        'fallbacks',
        'cache',
        'chat_template_kwargs',
      ].map(field => [field, null]),
    ),
  ],
  [
    'every role',
    {
      messages: [
        { role: 'system', content: 's' },
        { role: 'developer', content: 'd' },
        { role: 'user', content: 'u' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'r' }] },
        { role: 'assistant', content: null, function_call: { name: 'g', arguments: '' } },
        { role: 'function', name: 'g', content: 'r' },
      ],
    },
  ],
  ['parts newer than the gateway', part({ type: 'hologram', hologram: { x: 1 } })],
  ['an image as a bare string', part({ type: 'image_url', image_url: 'https://a/b.png' })],
  ['a custom tool and a hosted one', { tools: [{ type: 'custom', custom: { name: 'x' } }, { type: 'web_search' }] }],
  ['stream options outside a stream', { stream_options: { include_usage: true } }],
  [
    'the ends of every range',
    {
      temperature: 2,
      top_p: 0,
      frequency_penalty: -2,
      presence_penalty: 2,
      n: 128,
      logprobs: true,
      top_logprobs: 20,
      max_tokens: 1,
      seed: -5,
      stop: Array(16).fill('x'),
      logit_bias: { 1: -100 },
    },
  ],
  ['top_logprobs of 0 without logprobs', { top_logprobs: 0 }],
  ['a JSON schema', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } } }],
  ['a named tool', { tools: [known], tool_choice: { type: 'function', function: { name: 'f' } } }],
  [
    'a named custom tool',
    { tools: [{ type: 'custom', custom: { name: 'x' } }], tool_choice: { type: 'custom', custom: { name: 'x' } } },
  ],
  [
    'allowed tools',
    {
      tools: [known],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    },
  ],
  ['a demanded call of a hosted tool', { tools: [{ type: 'web_search' }], tool_choice: 'required' }],
  ['choices that demand nothing, without tools', { tool_choice: 'none' }],
  ['the same as an empty list of tools', { tools: [], tool_choice: 'auto' }],
  ['a named function', { functions: [{ name: 'f' }], function_call: { name: 'f' } }],
  [
    'fallbacks by name and as objects',
    { fallbacks: ['a', { model: 'b' }], num_retries: 10, drop_params: true, guardrails: [] },
  ],
  ['the effort of the newest models', { reasoning_effort: 'max' }],
  ['fields of other vendors', { min_p: 0.1, repetition_penalty: 1.1, safe_prompt: true }],
]

describe('inspecting a chat body', () => {
  for (const [what, fields, problems] of refused)
    test(`refuses ${what}`, () => expect(pathsOf(fields)).toEqual(problems))
  for (const [what, fields] of accepted) test(`accepts ${what}`, () => expect(pathsOf(fields)).toEqual([]))

  test('reads model, stream and user', () => {
    const { problems, ...rest } = inspectFields({ stream: true, user: 'u' })
    expect(rest).toEqual({ model: 'm', stream: true, endUser: 'u' })
    expect(problems).toEqual([])
    expect(inspectFields({ safety_identifier: 's' }).endUser).toBe('s')
    expect(inspectFields({ safety_identifier: 's', user: 'u' }).endUser).toBe('u')
  })

  test('says field, problem and remedy', () => {
    expect(inspectFields({ temperature: 'hot' }).problems).toEqual([
      {
        loc: ['body', 'temperature'],
        msg: '`temperature` must be a number between 0 and 2; got "hot"',
        type: 'wrong_type',
      },
    ])
  })

  test('refuses numbers that JSON allows and no machine holds', () => {
    for (const field of ['temperature', 'n', 'max_tokens', 'seed', 'top_p', 'num_retries']) {
      const { problems } = openaiChat.inspect(bodyOf(`{"messages":[{"role":"user","content":"x"}],"${field}":1e999}`))
      expect(problems.map(problem => problem.type)).toEqual(['out_of_range'])
      expect(problems[0]!.msg).toContain('too large')
    }
  })

  test('sends a Responses body to its own path', () => {
    const { problems } = openaiChat.inspect(bodyOf('{"model":"m","input":"hi"}'))
    expect(problems).toHaveLength(1)
    expect(problems[0]!.msg).toContain('/v1/responses')
  })

  test('stops at 20 problems and never repeats a long value', () => {
    const secret = 'x'.repeat(5000)
    const { problems } = inspectFields({ messages: Array(40).fill(secret), user: [secret] })
    expect(problems).toHaveLength(20)
    for (const problem of problems) expect(problem.msg.length).toBeLessThan(200)
  })

  test('a value cut inside a surrogate pair is still valid text', () => {
    const [problem] = inspectFields({ temperature: 'a'.repeat(59) + '\u{1F600}'.repeat(9) }).problems
    expect(problem!.msg.isWellFormed()).toBe(true)
  })

  test('a key named __proto__ changes nothing', () => {
    const text = '{"__proto__":{"messages":1},"messages":[{"role":"user","content":"x","__proto__":{"role":3}}]}'
    expect(openaiChat.inspect(bodyOf(text)).problems).toEqual([])
    const request = openaiChat.decode(bodyOf(text))
    expect(Object.keys(request.extra.fields)).toEqual([])
  })

  test('checks large messages, too', () => {
    const filler = ' '.repeat(300 * 1024)
    const large = bodyOf(`{"model":"m","temperature":3,"messages":[{"role":"robot","content":"${filler}"}]}`)
    expect(openaiChat.inspect(large).problems.map(problem => problem.loc.join('.'))).toEqual([
      'body.temperature',
      'body.messages.0.role',
    ])
    const good = bodyOf(`{"model":"m","messages":[{"role":"user","content":"${filler}"}]}`)
    expect(openaiChat.decode(good).messages[0]!.parts).toEqual([{ type: 'text', text: filler }])
  })

  test("broken JSON anywhere in a large body is the client's fault, not the gateway's", () => {
    const filler = ' '.repeat(300 * 1024)
    const kindOf = (text: string) => {
      try {
        readJsonBody(Buffer.from(text))
      } catch (thrown) {
        return thrown instanceof GatewayError ? thrown.kind : thrown
      }
      return 'nothing thrown'
    }
    for (const text of [
      `{"temperature":tru,"messages":["${filler}"]}`,
      `{"model":x,"messages":["${filler}"]}`,
      `{"stream":true,"stream_options":{x},"messages":["${filler}"]}`,
      `{"messages":["${filler}" 5]}`,
      `{"messages":["${filler}\\x"]}`,
    ])
      expect([text.slice(0, 20), kindOf(text)]).toEqual([text.slice(0, 20), 'invalid-request'])
  })
})
