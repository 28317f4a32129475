/** Chat requests of clients: every field and every kind of message that is translated for an upstream. */

export type Json = Record<string, unknown>

export interface Shape {
  readonly name: string
  /** A chat completion body without `model` and `stream`. */
  readonly body: Json
}

const png = 'data:image/png;base64,iVBORw0KGgo='
const pngUrl = 'https://images.example/boardwalk.jpg'
const pdf = 'data:application/pdf;base64,JVBERi0xLjQK'
const say = (content: unknown): Json => ({ role: 'user', content })
const text = (value: string): Json => ({ type: 'text', text: value })
const image = (url: string, detail?: string): Json => ({
  type: 'image_url',
  image_url: { url, ...(detail && { detail }) },
})
const hello = say('Hello!')
const asks = (...messages: Json[]): Json => ({ messages })

const weatherSchema = {
  type: 'object',
  properties: {
    location: { type: 'string', description: 'City and state' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
  },
  required: ['location'],
}
const fullWeather: Json = {
  type: 'function',
  function: { name: 'get_weather', description: 'Get the current weather', parameters: weatherSchema },
}
/** Shortened, to keep the results short. */
const weather: Json = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { location: { type: 'string' } } } },
}
const clock: Json = { type: 'function', function: { name: 'get_time' } }
const call = (id: string, name: string, args: string): Json => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const called = (...calls: Json[]): Json => ({ role: 'assistant', content: null, tool_calls: calls })
const result = (id: string, content: unknown, more: Json = {}): Json => ({
  role: 'tool',
  tool_call_id: id,
  content,
  ...more,
})
const boston = call('call_abc123', 'get_weather', '{"location": "Boston, MA"}')
const paris = call('call_def456', 'get_weather', '{"location": "Paris"}')
const asked = say('What is the weather in Boston?')
const withTools = (more: Json): Json => ({ messages: [asked], tools: [weather, clock], ...more })

const personSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: ['integer', 'null'], minimum: 0 },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
  },
  required: ['name', 'age', 'tags'],
  additionalProperties: false,
  $defs: { tag: { type: 'string' } },
}
const jsonSchema = (more: Json = {}): Json => ({
  type: 'json_schema',
  json_schema: { name: 'person', schema: personSchema, ...more },
})
const cached = { cache_control: { type: 'ephemeral' } }
const thinking = { type: 'thinking', thinking: 'The user greets me.', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' }

const messages: Shape[] = [
  { name: 'text', body: asks(hello) },
  { name: 'system', body: asks({ role: 'system', content: 'You are terse.' }, hello) },
  { name: 'developer', body: asks({ role: 'developer', content: 'You are terse.' }, hello) },
  {
    name: 'system in the middle',
    body: asks(
      { role: 'system', content: 'Be kind.' },
      hello,
      { role: 'assistant', content: 'Hi.' },
      { role: 'system', content: 'Now be terse.' },
      say('And now?'),
    ),
  },
  { name: 'only a system message', body: asks({ role: 'system', content: 'Say hello.' }) },
  {
    name: 'several turns',
    body: asks(hello, { role: 'assistant', content: 'Hi, how can I help?' }, say('Tell me a joke.')),
  },
  {
    name: 'neighbours of one role',
    body: asks(
      hello,
      say('Are you there?'),
      { role: 'assistant', content: 'Yes.' },
      { role: 'assistant', content: 'What is it?' },
      say('Nothing.'),
    ),
  },
  { name: 'begins with the assistant', body: asks({ role: 'assistant', content: 'Hi, I am a bot.' }, hello) },
  {
    name: 'ends with a prefix',
    body: asks(say('Name a colour as JSON.'), { role: 'assistant', content: '{"colour": ' }),
  },
  { name: 'text parts', body: asks(say([text('One.'), text('Two.')])) },
  {
    name: 'names',
    body: asks(
      { role: 'system', name: 'boss', content: 'Be brief.' },
      { ...hello, name: 'ada' },
      { role: 'assistant', name: 'bot', content: 'Hi.' },
      { ...say('Bye.'), name: 'bob' },
    ),
  },
  { name: 'image by address', body: asks(say([text('What is this?'), image(pngUrl)])) },
  { name: 'image inline', body: asks(say([text('What is this?'), image(png)])) },
  { name: 'image with detail', body: asks(say([text('What is this?'), image(png, 'low')])) },
  {
    name: 'several images',
    body: asks(say([image(png), text('and'), image('data:image/jpeg;base64,/9j/4AA='), text('differ how?')])),
  },
  {
    name: 'document inline',
    body: asks(say([text('Summarise.'), { type: 'file', file: { filename: 'report 2024.pdf', file_data: pdf } }])),
  },
  {
    name: 'document of text',
    body: asks(
      say([
        text('Summarise.'),
        { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,R3LDvMOfZQ==' } },
      ]),
    ),
  },
  { name: 'document by id', body: asks(say([text('Summarise.'), { type: 'file', file: { file_id: 'file-abc123' } }])) },
  {
    name: 'audio',
    body: asks(say([text('What is said?'), { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }])),
  },
  { name: 'empty content', body: asks(say('')) },
  { name: 'blank content', body: asks(say(' \n')) },
  { name: 'null content of the assistant', body: asks(hello, { role: 'assistant', content: null }, say('Well?')) },
  {
    name: 'refusal in the history',
    body: asks(say('Do evil.'), { role: 'assistant', content: null, refusal: 'I will not.' }, say('Fine.')),
  },
  {
    name: 'unicode',
    body: asks(say('Grüße, 世界 👩‍👩‍👧‍👦 \u0000\u001b[31m\u2028 "quoted" \\ </script> \ud83d\ude00 e\u0301')),
  },
  { name: 'very long text', body: asks(say('All work and no play makes Jack a dull boy. '.repeat(1000))) },
]

const tools: Shape[] = [
  { name: 'tools', body: { messages: [asked], tools: [fullWeather, clock] } },
  { name: 'short tools', body: withTools({}) },
  { name: 'tool choice auto', body: withTools({ tool_choice: 'auto' }) },
  { name: 'tool choice none', body: withTools({ tool_choice: 'none' }) },
  { name: 'tool choice required', body: withTools({ tool_choice: 'required' }) },
  {
    name: 'tool choice by name',
    body: withTools({ tool_choice: { type: 'function', function: { name: 'get_weather' } } }),
  },
  {
    name: 'tool choice of allowed tools',
    body: withTools({
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'get_time' } }] },
      },
    }),
  },
  { name: 'tool choice without tools', body: { messages: [hello], tool_choice: 'auto' } },
  { name: 'no tools in the list', body: { messages: [hello], tools: [] } },
  {
    name: 'strict tool',
    body: {
      messages: [asked],
      tools: [{ type: 'function', function: { name: 'save', strict: true, parameters: personSchema } }],
    },
  },
  { name: 'parallel tool calls off', body: withTools({ parallel_tool_calls: false }) },
  {
    name: 'legacy functions',
    body: { messages: [asked], functions: [fullWeather.function], function_call: { name: 'get_weather' } },
  },
  {
    name: 'tool result',
    body: { ...withTools({}), messages: [asked, called(boston), result('call_abc123', '{"temperature": 22}')] },
  },
  {
    name: 'tool result and a question',
    body: { ...withTools({}), messages: [asked, called(boston), result('call_abc123', 'sunny'), say('And tomorrow?')] },
  },
  {
    name: 'parallel tool results',
    body: {
      ...withTools({}),
      messages: [asked, called(boston, paris), result('call_def456', 'rain'), result('call_abc123', 'sun')],
    },
  },
  {
    name: 'tool result with a name',
    body: {
      ...withTools({}),
      messages: [asked, called(boston), result('call_abc123', 'sunny', { name: 'get_weather' })],
    },
  },
  {
    name: 'tool result with an image',
    body: { ...withTools({}), messages: [asked, called(boston), result('call_abc123', [text('a chart'), image(png)])] },
  },
  {
    name: 'empty tool result',
    body: { ...withTools({}), messages: [asked, called(boston), result('call_abc123', '')] },
  },
  {
    name: 'text beside a tool call',
    body: {
      ...withTools({}),
      messages: [asked, { ...called(boston), content: 'Let me look.' }, result('call_abc123', 'sunny')],
    },
  },
  {
    name: 'tool call without arguments',
    body: {
      ...withTools({}),
      messages: [say('Time?'), called(call('call_1', 'get_time', '')), result('call_1', '12:00')],
    },
  },
  {
    name: 'tool call with broken arguments',
    body: {
      ...withTools({}),
      messages: [
        asked,
        called(call('call_1', 'get_weather', '{"location": "Bos')),
        result('call_1', 'invalid arguments'),
      ],
    },
  },
  {
    name: 'tool history without tools',
    body: asks(asked, called(boston), result('call_abc123', 'sunny'), say('Thanks!')),
  },
  {
    name: 'tool call id of another vendor',
    body: {
      ...withTools({}),
      messages: [
        asked,
        called(call('functions.get_weather:0', 'get_weather', '{}')),
        result('functions.get_weather:0', 'sunny'),
      ],
    },
  },
]

const settings: Shape[] = [
  { name: 'sampling', body: { messages: [hello], temperature: 0.7, top_p: 0.9, top_k: 40 } },
  { name: 'temperature 2', body: { messages: [hello], temperature: 2 } },
  { name: 'temperature 0 and top_p 1', body: { messages: [hello], temperature: 0, top_p: 1 } },
  { name: 'penalties', body: { messages: [hello], frequency_penalty: 0.5, presence_penalty: -0.5 } },
  { name: 'logit bias', body: { messages: [hello], logit_bias: { 50256: -100 } } },
  { name: 'logprobs', body: { messages: [hello], logprobs: true, top_logprobs: 3 } },
  { name: 'logprobs off', body: { messages: [hello], logprobs: false } },
  { name: 'two choices', body: { messages: [hello], n: 2 } },
  { name: 'seed', body: { messages: [hello], seed: 42 } },
  { name: 'seed of 53 bits', body: { messages: [hello], seed: 9_007_199_254_740_991 } },
  { name: 'stop as text', body: { messages: [hello], stop: 'END' } },
  { name: 'many stops', body: { messages: [hello], stop: ['END', '\n', '###', 'a', 'b', 'c'] } },
  { name: 'max_tokens', body: { messages: [hello], max_tokens: 100 } },
  { name: 'max_completion_tokens', body: { messages: [hello], max_completion_tokens: 100 } },
  { name: 'both limits', body: { messages: [hello], max_tokens: 50, max_completion_tokens: 100 } },
  {
    name: 'json object',
    body: { messages: [say('Name a colour as JSON.')], response_format: { type: 'json_object' } },
  },
  {
    name: 'json schema strict',
    body: { messages: [say('Who?')], response_format: jsonSchema({ strict: true, description: 'A person' }) },
  },
  { name: 'json schema loose', body: { messages: [say('Who?')], response_format: jsonSchema() } },
  { name: 'json schema and tools', body: withTools({ response_format: jsonSchema({ strict: true }) }) },
  { name: 'response format text', body: { messages: [hello], response_format: { type: 'text' } } },
  { name: 'user and metadata', body: { messages: [hello], user: 'user-123', metadata: { team: 'blue' } } },
  { name: 'service tier auto', body: { messages: [hello], service_tier: 'auto' } },
  { name: 'service tier default', body: { messages: [hello], service_tier: 'default' } },
  { name: 'service tier flex', body: { messages: [hello], service_tier: 'flex' } },
  { name: 'stream options', body: { messages: [hello], stream_options: { include_usage: true } } },
  {
    name: 'unknown fields',
    body: { messages: [hello], verbosity: 'low', store: true, prompt_cache_key: 'k', some_future_field: { a: [1] } },
  },
  {
    name: 'fields for the gateway',
    body: { messages: [hello], api_base: 'https://evil.example', num_retries: 3, guardrails: [] },
  },
  { name: 'web search', body: { messages: [hello], web_search_options: { search_context_size: 'low' } } },
]

const reasoning: Shape[] = [
  { name: 'reasoning effort low', body: { messages: [hello], reasoning_effort: 'low' } },
  { name: 'reasoning effort high', body: { messages: [hello], reasoning_effort: 'high', max_completion_tokens: 2000 } },
  { name: 'reasoning effort none', body: { messages: [hello], reasoning_effort: 'none' } },
  {
    name: 'reasoning budget',
    body: { messages: [hello], thinking: { type: 'enabled', budget_tokens: 2048 }, temperature: 0.5 },
  },
  { name: 'reasoning without a measure', body: { messages: [hello], reasoning: { enabled: true } } },
  { name: 'reasoning off', body: { messages: [hello], thinking: { type: 'disabled' } } },
  { name: 'reasoning and a forced tool', body: withTools({ tool_choice: 'required', reasoning_effort: 'high' }) },
  { name: 'template thinking on', body: { messages: [hello], chat_template_kwargs: { thinking_mode: 'on' } } },
  {
    name: 'signed reasoning',
    body: asks(
      hello,
      { role: 'assistant', content: 'Hi.', thinking_blocks: [thinking], reasoning_content: thinking.thinking },
      say('Why?'),
    ),
  },
  {
    name: 'signed reasoning before a call',
    body: {
      ...withTools({ reasoning_effort: 'medium' }),
      messages: [asked, { ...called(boston), thinking_blocks: [thinking] }, result('call_abc123', 'sunny')],
    },
  },
  {
    name: 'redacted reasoning',
    body: asks(
      hello,
      {
        role: 'assistant',
        content: 'Hi.',
        thinking_blocks: [{ type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }],
      },
      say('Why?'),
    ),
  },
  {
    name: 'unsigned reasoning',
    body: asks(hello, { role: 'assistant', content: 'Hi.', reasoning_content: 'The user greets me.' }, say('Why?')),
  },
  {
    name: 'reasoning that Gemini signed',
    body: {
      ...withTools({}),
      messages: [
        asked,
        {
          ...called(boston),
          thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'gemini/call/000/CiQBjz1rX0t2' }],
        },
        result('call_abc123', 'sunny'),
      ],
    },
  },
]

const caching: Shape[] = [
  { name: 'cached system', body: asks({ role: 'system', content: [{ ...text('Long rules.'), ...cached }] }, hello) },
  {
    name: 'cached user part for an hour',
    body: asks(say([{ ...text('A long book.'), cache_control: { type: 'ephemeral', ttl: '1h' } }, text('Summarise.')])),
  },
  { name: 'cached tools', body: { messages: [asked], tools: [clock, { ...weather, ...cached }] } },
  { name: 'cached message', body: asks({ ...hello, ...cached }, { role: 'assistant', content: 'Hi.' }, say('Bye.')) },
  {
    name: 'cached tool result',
    body: { ...withTools({}), messages: [asked, called(boston), result('call_abc123', 'sunny', cached)] },
  },
]

export const shapes: readonly Shape[] = [...messages, ...tools, ...settings, ...reasoning, ...caching]
