/** Requests of Converse: conversations, tools, thinking and the features of each vendor's models. */
import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { ChatRequest, Message, Part } from '../../core/hub/chat.ts'
import { bedrock } from './index.ts'
import { bedrockModel } from './model.ts'

type Json = Record<string, unknown>

const claude35 = 'anthropic.claude-3-5-sonnet-20241022-v2:0'
const claude37 = 'us.anthropic.claude-3-7-sonnet-20250219-v1:0'
const claude45 = 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'
const claude46 = 'us.anthropic.claude-opus-4-6-v1'
const claude47 = 'us.anthropic.claude-opus-4-7'
const nova = 'amazon.nova-pro-v1:0'
const nova2 = 'us.amazon.nova-2-lite-v1:0'
const llama = 'us.meta.llama3-3-70b-instruct-v1:0'
const mistral = 'mistral.mistral-large-2407-v1:0'
const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3'

function sent(
  model: string,
  more: Partial<ChatRequest> = {},
  options: Json = {},
): Json & { dropped: readonly string[] } {
  const aim = targetOf(bedrock, { model, options: { aws_region_name: 'us-east-1', ...options } })
  const { body, dropped } = bedrock.chat!.request(chatRequest(more), aim)
  return { ...(JSON.parse(JSON.stringify(body)) as Json), dropped }
}
const text = (words: string): Part => ({ type: 'text', text: words })
const said = (role: Message['role'], ...parts: Part[]): Message => ({ role, parts })
const hello = { role: 'user', content: [{ text: 'hi' }] }
const weather = {
  name: 'top_song',
  description: 'Get the most popular song',
  parameters: { type: 'object', properties: { sign: { type: 'string' } } },
}
const call: Part = { type: 'tool-call', id: 'tooluse_hbTgdi0CSLq', name: 'top_song', arguments: '{"sign":"WZPZ"}' }
const result: Part = { type: 'tool-result', callId: 'tooluse_hbTgdi0CSLq', parts: [text('Elemental Hotel')] }

test('the models of the ids', () => {
  const versions = [
    claude35,
    claude37,
    claude45,
    claude46,
    claude47,
    'anthropic.claude-opus-4-20250514-v1:0',
    'anthropic.claude-v2:1',
    'anthropic.claude-3-haiku-20240307-v1:0',
    'anthropic.claude-next',
  ]
  const said = versions
    .map(id => bedrockModel(id).claude!)
    .map(({ thinking, prefill }) => `${thinking.join()} ${prefill}`)
  expect(said).toEqual([
    ' true',
    'enabled true',
    'enabled true',
    'adaptive,enabled false',
    'adaptive false',
    'enabled true',
    ' true',
    ' true',
    'adaptive false',
  ])
  const families = [
    profile,
    'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0',
    'arn:aws:bedrock:us-east-1::foundation-model/meta.llama3-8b',
    llama,
  ]
  expect(families.map(id => bedrockModel(id).family)).toEqual(['hidden', 'claude', 'other', 'other'])
})

test('the example of the guide', () => {
  const messages = [
    said('system', text('You are an app that creates playlists.')),
    said('user', text('Create a list of 3 pop songs.')),
  ]
  const { dropped, ...body } = sent(claude35, {
    messages,
    maxOutputTokens: 512,
    temperature: 0.5,
    stop: ['</list>'],
    topK: 200,
  })
  expect(body).toEqual({
    system: [{ text: 'You are an app that creates playlists.' }],
    messages: [{ role: 'user', content: [{ text: 'Create a list of 3 pop songs.' }] }],
    inferenceConfig: { maxTokens: 512, temperature: 0.5, stopSequences: ['</list>'] },
    additionalModelRequestFields: { top_k: 200 },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
  })
  expect(dropped).toEqual([])
})

describe('conversations', () => {
  test('roles take turns, results stand first, their cache points follow them', () => {
    const { messages } = sent(claude45, {
      messages: [
        said('assistant', text('Welcome.')),
        said('user', text('Which song?')),
        said('user', text(' ')),
        said('assistant', { type: 'reasoning', text: 'Look it up.', signature: 'sig' }, call),
        said('user', text('Be quick.')),
        said('tool', { ...result, cache: { type: 'ephemeral', ttl: '1h' } } as Part),
        said('developer', text('Answer in French.')),
        said('assistant', text('La chanson : \n')),
      ],
    })
    expect(messages).toEqual([
      { role: 'user', content: [{ text: '.' }] },
      { role: 'assistant', content: [{ text: 'Welcome.' }] },
      { role: 'user', content: [{ text: 'Which song?' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Look it up.', signature: 'sig' } } },
          { toolUse: { toolUseId: 'tooluse_hbTgdi0CSLq', name: 'top_song', input: { sign: 'WZPZ' } } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'tooluse_hbTgdi0CSLq', content: [{ text: 'Elemental Hotel' }] } },
          { cachePoint: { type: 'default', ttl: '1h' } },
          { text: 'Be quick.' },
          { text: 'Answer in French.' },
        ],
      },
      { role: 'assistant', content: [{ text: 'La chanson :' }] },
    ])
  })

  test('ids that AWS refuses are changed, the same way for a call and its result', () => {
    const long = `call|${'x'.repeat(90)}`
    const { messages } = sent(nova, {
      messages: [
        said('assistant', { ...call, id: long } as Part, { ...call, id: 'a b', arguments: '{"broken' } as Part),
        said('tool', { ...result, callId: long, parts: [], isError: true } as Part),
        said('tool', { ...result, callId: 'a b' } as Part),
      ],
    }) as unknown as { messages: { content: { toolUse?: Json; toolResult?: Json }[] }[] }
    const [, calls, results] = messages
    const ids = calls!.content.map(one => one.toolUse!.toolUseId)
    expect(ids).toEqual(results!.content.map(one => one.toolResult!.toolUseId))
    expect(ids.map(String).every(id => /^[A-Za-z0-9_-]{1,64}$/.test(id))).toBe(true)
    expect(calls!.content[1]!.toolUse!.input).toEqual({ invalid_json: '{"broken' })
    expect(results!.content[0]!.toolResult).toMatchObject({ status: 'error', content: [{ text: '(empty)' }] })
  })

  test('only Claude gets its thinking back; redacted thinking too', () => {
    const messages = [
      said('user', text('a')),
      said(
        'assistant',
        { type: 'reasoning', text: 'unsigned' },
        { type: 'reasoning', text: '', redacted: 'cmVkYWN0ZWQ=' },
        text('b'),
      ),
    ]
    expect((sent(claude37, { messages }).messages as Json[])[1]!.content).toEqual([
      { reasoningContent: { redactedContent: 'cmVkYWN0ZWQ=' } },
      { text: 'b' },
    ])
    expect((sent(llama, { messages }).messages as Json[])[1]!.content).toEqual([{ text: 'b' }])
  })

  test('models without a system prompt read it in the first turn', () => {
    const { system, messages } = sent('mistral.mistral-7b-instruct-v0:2', {
      messages: [said('system', text('Be brief.')), said('user', text('hi'))],
    })
    expect([system, messages]).toEqual([
      undefined,
      [{ role: 'user', content: [{ text: 'Be brief.' }, { text: 'hi' }] }],
    ])
  })

  test('cache points where the vendor has a cache', () => {
    const cache = { type: 'ephemeral', ttl: '1h' } as const
    const asked = {
      messages: [said('system', { type: 'text', text: 's', cache }), said('user', text('hi'))],
      tools: [{ ...weather, cache }],
    }
    expect(sent(claude45, asked)).toMatchObject({
      system: [{ text: 's' }, { cachePoint: { type: 'default', ttl: '1h' } }],
      dropped: [],
    })
    expect((sent(claude45, asked).toolConfig as { tools: Json[] }).tools[1]).toEqual({
      cachePoint: { type: 'default', ttl: '1h' },
    })
    expect(sent(claude35, asked)).toMatchObject({
      system: [{ text: 's' }, { cachePoint: { type: 'default' } }],
      dropped: ['cache_control.ttl'],
    })
    expect(sent(nova, asked)).toMatchObject({
      system: [{ text: 's' }, { cachePoint: { type: 'default' } }],
      dropped: ['cache_control.ttl', 'cache_control'],
    })
    expect(sent(llama, asked)).toMatchObject({ system: [{ text: 's' }], dropped: ['cache_control'] })
  })
})

describe('media', () => {
  const content = (...parts: Part[]) =>
    (sent(claude45, { messages: [said('user', ...parts)] }).messages as { content: Json[] }[])[0]!.content
  const pdf = (name?: string): Part => ({
    type: 'document',
    source: { data: 'JVBERi0=', mediaType: 'application/pdf' },
    ...(name !== undefined && { name }),
  })

  test('images, audio, objects in S3', () => {
    const image: Part = { type: 'image', source: { data: 'aGk=', mediaType: 'image/jpg' } }
    expect(
      content(
        image,
        { type: 'image', source: { url: 's3://b/k.PNG' } },
        { type: 'audio', data: 'AAAA', format: 'wav' },
      ),
    ).toEqual([
      { image: { format: 'jpeg', source: { bytes: 'aGk=' } } },
      { image: { format: 'png', source: { s3Location: { uri: 's3://b/k.PNG' } } } },
      { audio: { format: 'wav', source: { bytes: 'AAAA' } } },
    ])
  })

  test('documents have names of their own, and a text beside them', () => {
    expect(content(pdf('Q3_report (final).pdf'), pdf('Q3_report (final).pdf'), pdf(), pdf('☃.pdf'))).toEqual([
      ...['Q3 report (final)', 'Q3 report (final) (2)', 'document', 'document (2)'].map(name => ({
        document: { format: 'pdf', name, source: { bytes: 'JVBERi0=' } },
      })),
      { text: '.' },
    ])
  })

  test.each([
    [
      'a picture on the web',
      { type: 'image', source: { url: 'https://x.example/a.png?sig=1' } },
      'or use a deployment of a vendor that takes URLs',
    ],
    ['an uploaded file', { type: 'document', source: { fileId: 'file-1' } }, 'knows no uploaded files'],
    [
      'another type',
      { type: 'image', source: { data: '', mediaType: 'image/tiff' } },
      'takes no image of the type "image/tiff"',
    ],
    ['another sound', { type: 'audio', data: '', format: 'midi' }, 'takes no audio of the type "audio/midi"'],
    [
      'sound as a result',
      { type: 'tool-result', callId: 'a', parts: [{ type: 'audio', data: '', format: 'wav' }] },
      "a tool's result cannot hold",
    ],
  ] as [string, Part, string][])('%s is refused with a remedy', (_, part, words) => {
    expect(() => content(part)).toThrow(words)
  })
})

describe('tools', () => {
  const tools = [weather, { name: 'other' }]
  const spec = {
    toolSpec: { name: 'top_song', description: 'Get the most popular song', inputSchema: { json: weather.parameters } },
  }
  const bare = (name: string) => ({ toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } } })

  test.each([
    ['auto', claude35, 'auto', undefined, []],
    ['required', claude35, 'required', { any: {} }, []],
    ['a certain one', nova, { name: 'other' }, { tool: { name: 'other' } }, []],
    ['required where nothing can be forced', llama, 'required', undefined, ['tool_choice']],
  ] as const)('%s', (_, model, toolChoice, expected, dropped) => {
    const body = sent(model, { tools, toolChoice: toolChoice as ChatRequest['toolChoice'] & {} })
    expect(body.toolConfig).toEqual({ tools: [spec, bare('other')], ...(expected && { toolChoice: expected }) })
    expect(body.dropped).toEqual([...dropped])
  })

  test('a certain one of Mistral: by offering no other', () => {
    expect(sent(mistral, { tools, toolChoice: { name: 'other' } }).toolConfig).toEqual({
      tools: [bare('other')],
      toolChoice: { any: {} },
    })
  })

  test('none: no tools, unless the history needs them', () => {
    expect(sent(claude35, { tools, toolChoice: 'none' })).toEqual({ messages: [hello], dropped: [] })
    const messages = [said('user', text('a')), said('assistant', call), said('tool', result)]
    expect(sent(claude35, { tools, toolChoice: 'none', messages })).toMatchObject({
      toolConfig: { tools: [spec] },
      dropped: ['tool_choice'],
    })
    // Clients that leave the tools out of the last call.
    expect(sent(claude35, { messages })).toMatchObject({ toolConfig: { tools: [bare('top_song')] }, dropped: [] })
    expect(sent(claude35, { messages: [said('tool', result)] })).toMatchObject({
      toolConfig: { tools: [bare('tool')] },
    })
  })

  test('what a model cannot promise is reported', () => {
    const strict = [{ ...weather, strict: true }]
    // Where it is enforced, objects are closed: the service refuses others.
    const closed = { json: { ...spec.toolSpec.inputSchema.json, additionalProperties: false } }
    expect(sent(claude45, { tools: strict }).toolConfig).toEqual({
      tools: [{ toolSpec: { ...spec.toolSpec, inputSchema: closed, strict: true } }],
    })
    expect(sent(claude35, { tools: strict, parallelToolCalls: false }).dropped).toEqual([
      'tools.function.strict',
      'parallel_tool_calls',
    ])
  })

  test('one call at a time: by a field of Claude, where Converse itself forces no choice', () => {
    expect(sent(claude45, { tools, parallelToolCalls: false })).toMatchObject({
      additionalModelRequestFields: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      dropped: [],
    })
    const forced = sent(claude45, { tools, parallelToolCalls: false, toolChoice: 'required' })
    expect(forced.additionalModelRequestFields).toBeUndefined()
    expect(forced).toMatchObject({ toolConfig: { toolChoice: { any: {} } }, dropped: ['parallel_tool_calls'] })
  })
})

describe('structured output', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
  const responseFormat = { type: 'json-schema', name: 'place', schema, strict: true } as const

  test('by the service', () => {
    expect(sent(claude45, { responseFormat, tools: [weather] })).toMatchObject({
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { name: 'place', schema: JSON.stringify(schema) } },
        },
      },
      dropped: [],
    })
  })

  test('by a forced tool', () => {
    const tool = {
      toolSpec: {
        name: 'gateway_json_answer',
        description: 'Gives the answer to the user.',
        inputSchema: { json: schema },
      },
    }
    expect(sent(claude35, { responseFormat })).toEqual({
      messages: [hello],
      toolConfig: { tools: [tool], toolChoice: { tool: { name: 'gateway_json_answer' } } },
      dropped: [],
    })
    expect(sent(mistral, { responseFormat }).toolConfig).toEqual({ tools: [tool], toolChoice: { any: {} } })
    // A forced tool and thinking exclude each other.
    expect(sent(claude37, { responseFormat, reasoning: { effort: 'low' } })).toMatchObject({
      toolConfig: { tools: [tool] },
      dropped: ['reasoning_effort'],
    })
  })

  test('only by an instruction: reported as dropped', () => {
    for (const asked of [
      sent(llama, { responseFormat }),
      sent(claude35, { responseFormat, tools: [weather] }),
      sent(nova, { responseFormat: { ...responseFormat, schema: { type: 'array' } } }),
    ]) {
      expect(asked.dropped).toEqual(['response_format'])
      expect((asked.system as Json[])[0]!.text).toContain('fits this JSON Schema')
      expect(asked.outputConfig).toBeUndefined()
    }
    expect(sent(llama, { responseFormat: { type: 'json-object' } })).toMatchObject({
      dropped: [],
      system: [{ text: 'Answer with one valid JSON object and nothing else.' }],
    })
  })
})

describe('thinking', () => {
  const budget = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } })
  test.each([
    ['a budget for an effort', claude37, { reasoning: { effort: 'medium' } }, budget(4096), undefined, []],
    [
      'a budget above the limit',
      claude45,
      { reasoning: { budgetTokens: 9000 }, maxOutputTokens: 4000 },
      budget(2976),
      4000,
      ['thinking.budget_tokens'],
    ],
    [
      'no sampling beside it',
      claude37,
      { reasoning: { effort: 'low' }, temperature: 0.3, topP: 0.9, topK: 5 },
      budget(1024),
      undefined,
      ['temperature', 'top_p', 'top_k'],
    ],
    [
      'adaptive',
      claude46,
      { reasoning: { effort: 'xhigh' } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      undefined,
      ['reasoning_effort'],
    ],
    [
      'the highest effort',
      claude46,
      { reasoning: { effort: 'max' } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      undefined,
      [],
    ],
    [
      'an effort beside a budget',
      claude46,
      { reasoning: { effort: 'max', budgetTokens: 2000 } },
      { ...budget(2000), output_config: { effort: 'max' } },
      undefined,
      [],
    ],
    [
      'an effort beside a budget, where none counts',
      claude45,
      { reasoning: { effort: 'low', budgetTokens: 2000 } },
      budget(2000),
      undefined,
      ['reasoning_effort'],
    ],
    ['a budget where one is still taken', claude46, { reasoning: { budgetTokens: 2000 } }, budget(2000), undefined, []],
    [
      'a budget where none is',
      claude47,
      { reasoning: { budgetTokens: 9000 } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      undefined,
      ['thinking.budget_tokens'],
    ],
    ['Claude before 3.7', claude35, { reasoning: { effort: 'high' } }, undefined, undefined, ['reasoning_effort']],
    [
      'a forced tool',
      claude45,
      { reasoning: { enabled: true }, tools: [weather], toolChoice: 'required' },
      undefined,
      undefined,
      ['thinking'],
    ],
    ['none', claude45, { reasoning: { effort: 'none' } }, undefined, undefined, []],
    [
      'Nova 2',
      nova2,
      { reasoning: { effort: 'high' } },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
      undefined,
      [],
    ],
    [
      'Nova 2 at its most',
      nova2,
      { reasoning: { effort: 'max' } },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
      undefined,
      ['reasoning_effort'],
    ],
    [
      'Nova 2 with a limit',
      nova2,
      { reasoning: { effort: 'high' }, maxOutputTokens: 100 },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
      100,
      ['reasoning_effort'],
    ],
    ['Nova 1', nova, { reasoning: { effort: 'high' } }, undefined, undefined, ['reasoning_effort']],
    [
      'gpt-oss',
      'openai.gpt-oss-120b-1:0',
      { reasoning: { effort: 'xhigh' } },
      { reasoning_effort: 'high' },
      undefined,
      ['reasoning_effort'],
    ],
    [
      'gpt-oss cannot stop',
      'openai.gpt-oss-120b-1:0',
      { reasoning: { effort: 'none' } },
      { reasoning_effort: 'low' },
      undefined,
      ['reasoning_effort'],
    ],
    [
      'a profile that hides its model',
      profile,
      { reasoning: { effort: 'high' } },
      undefined,
      undefined,
      ['reasoning_effort'],
    ],
  ] as [string, string, Partial<ChatRequest>, Json | undefined, number | undefined, string[]][])(
    '%s',
    (_, model, more, fields, maxTokens, dropped) => {
      const body = sent(model, more)
      expect(body.additionalModelRequestFields).toEqual(fields)
      expect((body.inferenceConfig as Json | undefined)?.maxTokens).toBe(maxTokens)
      expect(body.dropped).toEqual(dropped)
    },
  )

  test('only thinking with a signature of Claude is sent back', () => {
    const thoughts = ['modelgate-unsigned', 'gemini/note/012/x', '', 'sig'].map(
      (signature): Part => ({ type: 'reasoning', text: 'hm', signature }),
    )
    const { messages } = sent(claude45, { messages: [said('user', text('a')), said('assistant', ...thoughts)] })
    expect((messages as Json[])[1]).toEqual({
      role: 'assistant',
      content: [{ reasoningContent: { reasoningText: { text: 'hm', signature: 'sig' } } }],
    })
  })

  test('a tool call without its thinking excludes a budget, which Claude would refuse', () => {
    const messages = [said('user', text('a')), said('assistant', call), said('tool', result)]
    expect(sent(claude45, { messages, reasoning: { effort: 'low' } })).toMatchObject({ dropped: ['reasoning_effort'] })
    const signed = [
      messages[0]!,
      said('assistant', { type: 'reasoning', text: 't', signature: 's' }, call),
      messages[2]!,
    ]
    expect(sent(claude45, { messages: signed, reasoning: { effort: 'low' } })).toMatchObject({
      additionalModelRequestFields: budget(1024),
      dropped: [],
    })
    expect(sent(claude47, { messages, reasoning: { effort: 'low' } }).dropped).toEqual([])
  })
})

describe('other fields', () => {
  test('what Converse lacks is reported by its name', () => {
    const { requestMetadata, dropped } = sent(claude35, {
      choices: 2,
      seed: 1,
      frequencyPenalty: 0.1,
      presencePenalty: 0.1,
      logitBias: { 1: 1 },
      logprobs: true,
      topLogprobs: 2,
      user: 'u',
      metadata: { a: 'b', b: 'é', c: 1 },
      serviceTier: 'scale',
      temperature: 1.5,
      topP: 0.5,
      stop: ['\n', 'END'],
      extra: { format: 'openai-chat', fields: { prediction: {} } },
    })
    expect([...dropped].sort()).toEqual([
      'frequency_penalty',
      'logit_bias',
      'logprobs',
      'metadata',
      'n',
      'prediction',
      'presence_penalty',
      'seed',
      'service_tier',
      'stop',
      'temperature',
      'top_logprobs',
      'top_p',
      'user',
    ])
    expect(requestMetadata).toEqual({ a: 'b' })
  })

  test("Converse's own fields go through; the client's additional ones win", () => {
    const fields = {
      guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
      additionalModelRequestFields: { top_k: 3 },
      requestMetadata: { team: 'x' },
    }
    expect(
      sent(
        claude35,
        { topK: 9, serviceTier: 'flex', extra: { format: 'openai-chat', fields } },
        { anthropic_beta: 'a, b', max_tokens: 77 },
      ),
    ).toEqual({
      messages: [hello],
      ...fields,
      inferenceConfig: { maxTokens: 77 },
      serviceTier: { type: 'flex' },
      additionalModelRequestFields: { top_k: 3, anthropic_beta: ['a', 'b'] },
      dropped: [],
    })
    expect(() => sent(claude35, { extra: { format: 'openai-chat', fields: { guardrailConfig: 'g' } } })).toThrow(
      'guardrailConfig: must be an object',
    )
  })

  test('top_k has another name at each vendor', () => {
    const fields = [nova, 'cohere.command-r-plus-v1:0', llama].map(model => sent(model, { topK: 20 }))
    expect(fields.map(one => one.additionalModelRequestFields)).toEqual([
      { inferenceConfig: { topK: 20 } },
      { k: 20 },
      undefined,
    ])
    expect(fields.map(one => one.dropped)).toEqual([[], [], ['top_k']])
    expect(sent(claude47, { temperature: 0.2, topP: 1 }).dropped).toEqual(['temperature'])
  })
})
