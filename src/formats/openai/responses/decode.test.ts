import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiResponses } from './index.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', ...fields })))
const problemsOf = (fields: object) => openaiResponses.inspect(bodyOf(fields)).problems
const decode = (fields: object) => {
  expect(problemsOf(fields)).toEqual([])
  return openaiResponses.decode(bodyOf(fields))
}

function failure(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** What Codex 0.147 and later send (github.com/envoyproxy/ai-gateway#2317, codex-relay#6), shortened. */
const codex = {
  instructions: 'You are Codex.',
  input: [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'sandbox: read-only' }] },
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'functions', description: 'd', tools: [{ type: 'custom', name: 'exec' }] }],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'patch it' }] },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'I think' }],
      encrypted_content: 'modelgate-signature-SIG=',
    },
    { type: 'function_call', call_id: 'call_1', namespace: 'mcp__burp__', name: 'status', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin "Patch"\n' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: 'up' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
  ],
  tools: [
    { type: 'function', name: 'shell', strict: false, parameters: { type: 'object', properties: {} } },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    {
      type: 'namespace',
      name: 'mcp__burp__',
      description: 'Burp',
      tools: [{ type: 'function', name: 'status', parameters: {} }],
    },
    { type: 'web_search', external_web_access: false },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'xhigh', summary: 'auto' },
  text: { verbosity: 'low' },
  prompt_cache_key: 'k',
  client_metadata: { a: 'b' },
}

describe('a Codex call', () => {
  const request = decode(codex)

  test('becomes turns that any vendor takes', () => {
    expect(request.messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'You are Codex.' }] },
      { role: 'developer', parts: [{ type: 'text', text: 'sandbox: read-only' }] },
      { role: 'user', parts: [{ type: 'text', text: 'patch it' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'I think', signature: 'SIG=' },
          { type: 'tool-call', id: 'call_1', name: 'mcp__burp__status', arguments: '{}' },
          { type: 'tool-call', id: 'call_2', name: 'apply_patch', arguments: '{"input":"*** Begin \\"Patch\\"\\n"}' },
        ],
      },
      {
        role: 'tool',
        parts: [
          {
            type: 'tool-result',
            callId: 'call_1',
            parts: [
              { type: 'text', text: 'up' },
              { type: 'image', source: { data: 'AAAA', mediaType: 'image/png' } },
            ],
          },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'call_2', parts: [{ type: 'text', text: 'done' }] }] },
    ])
  })

  test('has its tools as functions, the hosted one left out', () => {
    expect(request.tools?.map(tool => tool.name)).toEqual([
      'shell',
      'apply_patch',
      'mcp__burp__status',
      'functions__exec',
    ])
    expect(request.tools?.[1]).toMatchObject({
      description: 'Edits files\n\nThe input must follow this grammar (lark):\nstart: "x"',
      parameters: { required: ['input'] },
    })
    expect(request.toolChoice).toBe('auto')
    expect(request.parallelToolCalls).toBe(false)
    expect(request.reasoning).toEqual({ effort: 'xhigh' })
  })

  test('reports what no other vendor has', () => {
    expect([...request.dropped!].sort()).toEqual(['text.verbosity', 'tools.format', 'tools.web_search'])
    expect(Object.keys(request.extra.fields).sort()).toEqual(['client_metadata', 'prompt_cache_key'])
  })
})

test('the plain fields', () => {
  const request = decode({
    input: 'hi',
    max_output_tokens: 9,
    temperature: 0.5,
    top_p: 0.5,
    top_logprobs: 2,
    safety_identifier: 'u',
    service_tier: 'flex',
    truncation: 'auto',
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } },
    reasoning: { effort: 'max', context: 'all_turns' },
    metadata: { a: 'b' },
  })
  expect(request).toMatchObject({
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
    maxOutputTokens: 9,
    temperature: 0.5,
    topP: 0.5,
    logprobs: true,
    topLogprobs: 2,
    user: 'u',
    serviceTier: 'flex',
    responseFormat: { type: 'json-schema', name: 'n', schema: { type: 'object' }, strict: true },
    reasoning: { effort: 'max' },
  })
  // The gateway stores them itself; no upstream needs to know.
  expect(request.metadata).toBeUndefined()
  expect([...request.dropped!].sort()).toEqual(['reasoning.context', 'truncation'])
  expect(decode({ input: 'hi' }).dropped).toBeUndefined()
})

test('parts of every kind', () => {
  const content = [
    { type: 'input_image', image_url: 'https://a/b.png', detail: 'original' },
    { type: 'input_image', file_id: 'file-1' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
    { type: 'input_file', file_url: 'https://a/b.pdf' },
    { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
  ]
  expect(decode({ input: [{ role: 'user', content }] }).messages[0]?.parts).toEqual([
    { type: 'image', source: { url: 'https://a/b.png', field: 'input.0.content.0.image_url' }, detail: 'high' },
    { type: 'image', source: { fileId: 'file-1' } },
    { type: 'document', source: { data: 'JVBE', mediaType: 'application/pdf' }, name: 'a.pdf' },
    { type: 'document', source: { url: 'https://a/b.pdf', field: 'input.0.content.3.file_url' } },
    { type: 'audio', data: 'AA', format: 'wav' },
  ])
  const assistant = [
    { type: 'output_text', text: 'a', annotations: [] },
    { type: 'refusal', refusal: 'no' },
  ]
  expect(decode({ input: [{ type: 'message', role: 'assistant', content: assistant }] }).messages[0]?.parts).toEqual([
    { type: 'text', text: 'a' },
    { type: 'refusal', text: 'no' },
  ])
})

test('thinking of other vendors loses its proof, not its words', () => {
  const request = decode({
    input: [
      {
        type: 'reasoning',
        id: 'rs',
        summary: [
          { type: 'summary_text', text: 'a' },
          { type: 'summary_text', text: 'b' },
        ],
        encrypted_content: 'gAAAA',
      },
      { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'modelgate-redacted-XX' },
      { type: 'web_search_call', id: 'ws', status: 'completed' },
      { role: 'assistant', content: 'so' },
    ],
  })
  expect(request.messages).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'a\n\nb' },
        { type: 'reasoning', text: '', redacted: 'XX' },
        { type: 'text', text: 'so' },
      ],
    },
  ])
  expect(request.dropped).toEqual(['input.encrypted_content', 'input.web_search_call'])
})

describe('names of namespaced tools', () => {
  const long = 'n'.repeat(60)
  const tools = [
    { type: 'function', name: 'a__b' },
    { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b' }] },
    {
      type: 'namespace',
      name: long,
      tools: [
        { type: 'function', name: 'first tool' },
        { type: 'function', name: 'second tool' },
      ],
    },
  ]

  test('differ, fit, and say the same in the conversation and in the choice', () => {
    const call = { type: 'function_call', call_id: 'c', namespace: long, name: 'second tool', arguments: '{}' }
    const request = decode({ input: [call], tools, tool_choice: { type: 'function', name: 'b', namespace: 'a' } })
    const names = request.tools!.map(tool => tool.name)
    expect(new Set(names).size).toBe(4)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(request.messages[0]!.parts[0]).toMatchObject({ name: names[3]! })
    expect(request.toolChoice).toEqual({ name: names[1]! })
  })

  test('allowed tools are the only ones left', () => {
    const request = decode({
      input: 'x',
      tools,
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'function', name: 'a__b' },
          { type: 'mcp', server_label: 's' },
        ],
      },
    })
    expect(request.tools?.map(tool => tool.name)).toEqual(['a__b'])
    expect(request.toolChoice).toBe('required')
  })
})

describe('refused on a closer look', () => {
  const cases: [string, object, string][] = [
    [
      'a forced hosted tool',
      { tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }], tool_choice: { type: 'web_search' } },
      'tool_choice',
    ],
    [
      'a call demanded without any tool left',
      { tools: [{ type: 'mcp', server_label: 's' }], tool_choice: 'required' },
      'tool_choice',
    ],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 'prompt'],
    [
      'what the client ran for a vendor tool',
      { input: [{ type: 'local_shell_call_output', id: 'x', output: '' }] },
      'input.0.type',
    ],
    ['an unknown reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input.0.id'],
    ['an unknown part', { input: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'input.0.content.0.type'],
    [
      'a broken data: URL',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png,xx' }] }] },
      'input.0.content.0.image_url',
    ],
  ]
  for (const [what, fields, param] of cases)
    test(what, () => {
      const error = failure(() => decode({ input: 'x', ...fields }))
      expect({ status: error.status, param: error.param }).toEqual({ status: 422, param })
    })
})

describe('problems that need no model', () => {
  const cases: [string, object, string][] = [
    ['no input and no instructions', {}, '`input` is missing; send a string or an array of items'],
    [
      'a chat body',
      { messages: [] },
      '`input` is missing; this is a chat body (`messages`): send it to /v1/chat/completions, or send `input` here',
    ],
    ['input of a wrong type', { input: 5 }, '`input` must be a string or an array of items; got 5'],
    ['an item that is none', { input: ['x'] }, '`input[0]` must be an item (an object); got "x"'],
    [
      'an unknown role',
      { input: [{ role: 'tool', content: '' }] },
      '`input[0].role` must be "user", "assistant", "system" or "developer"; got "tool"',
    ],
    [
      'a call without id',
      { input: [{ type: 'function_call', name: 'f', arguments: '' }] },
      '`input[0].call_id` is missing; send a string',
    ],
    [
      'an output that is a number',
      { input: [{ type: 'function_call_output', call_id: 'c', output: 1 }] },
      '`input[0].output` must be a string or an array of parts; got 1',
    ],
    [
      'a conversation',
      { input: 'x', conversation: 'conv_1' },
      'conversations are not kept here; continue an answer with `previous_response_id`, or send the items in `input`',
    ],
    [
      'a tool of chat completions',
      { input: 'x', tools: [{ type: 'function', function: { name: 'f' } }] },
      '`function` belongs to chat completions; here `name`, `description` and `parameters` stand in the tool itself',
    ],
    [
      'a namespace in a namespace',
      { input: 'x', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'namespace' }] }] },
      '`tools[0].tools[0].type` must be "function" or "custom"; got "namespace"',
    ],
    ['a temperature too high', { input: 'x', temperature: 3 }, '`temperature` must be a number between 0 and 2; got 3'],
    [
      'a schema that is none',
      { input: 'x', text: { format: { type: 'json_schema', name: 'n', schema: 1 } } },
      '`text.format.schema` must be an object (JSON Schema); got 1',
    ],
    [
      'allowed tools without a mode',
      { input: 'x', tool_choice: { type: 'allowed_tools', tools: [] } },
      '`tool_choice.mode` is missing; send one of "auto", "required"',
    ],
  ]
  for (const [what, fields, msg] of cases)
    test(what, () => expect(problemsOf(fields).map(one => one.msg)).toEqual([msg]))

  test('a large body is checked as a small one', () => {
    const input = [
      { role: 'user', content: 'x'.repeat(300 * 1024) },
      { role: 'nobody', content: '' },
    ]
    expect(problemsOf({ input }).map(one => one.loc.join('.'))).toEqual(['body.input.1.role'])
  })
})
