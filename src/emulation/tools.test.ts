/** Calls in text: every notation, everything that must stay text, and the same result wherever the text is cut. */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest, Message, Part } from '../core/hub/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { Target } from '../core/provider.ts'
import { emulate } from './index.ts'
import { ask, prompted, upstream, collect } from './tools-fixture.ts'
import type { Collected } from './tools-fixture.ts'

const target = { model: 'up' } as Target

function answer(pieces: readonly (string | ChatEvent)[], request = ask(), profile = prompted): Collected {
  const emulated = emulate(upstream(pieces), profile, request)!
  const whole = collect(emulated.adapter.result({}))
  const read = emulated.adapter.reader()
  const streamed = Array.from({ length: pieces.length + 3 }, (_, at) => read({ data: String(at) })).flat()
  expect(collect(streamed)).toEqual(whole)
  return whole
}

const paris = { name: 'get_weather', arguments: { city: 'Paris' } }
const fence = (label: string, content: string) => `\`\`\`${label}\n${content}\n\`\`\``

/** Text of a model -> the calls in it and the text that stays. */
const notations: Record<string, [string, object[], string]> = {
  'our own': [fence('tool_code', '{"name":"get_weather","arguments":{"city":"Paris"}}'), [paris], ''],
  'with text around it': [
    `I look.\n\n${fence('tool_code', '{"name":"get_weather","arguments":{"city":"Paris"}}')}\nWait.`,
    [paris],
    'I look.\n\nWait.',
  ],
  'parameters, CRLF and a list': [
    '```json\r\n[{"name":"get_weather","parameters":{"city":"Paris"}},{"name":"get_time","arguments":{}}]\r\n```',
    [paris, { name: 'get_time', arguments: {} }],
    '',
  ],
  "OpenAI's own object": [
    fence(
      'json',
      '{"id":"1","type":"function","function":{"name":"get_weather","arguments":"{\\"city\\":\\"Paris\\"}"}}',
    ),
    [paris],
    '',
  ],
  'fence closed in its own line, at the end': ['```tool_code\nget_weather(city="Paris")```', [paris], ''],
  python: [fence('tool_code', 'get_weather(city="Par\\u0069s")'), [paris], ''],
  'python printed, with a comment': [
    fence('tool_code', "# now\nprint(default_api.get_weather(city='Paris'))  # done"),
    [paris],
    '',
  ],
  'python by position, several lines': [
    fence('tool_code', 'get_weather("Paris", 3)\nget_time()'),
    [
      { name: 'get_weather', arguments: { city: 'Paris', days: 3 } },
      { name: 'get_time', arguments: {} },
    ],
    '',
  ],
  'python with nested values': [
    fence('tool_code', `get_weather(city="a'b" "c", days=-1_000, x=[1.5, None, {'k': (True, "\\n")}], y=0x1f)`),
    [{ name: 'get_weather', arguments: { city: "a'bc", days: -1000, x: [1.5, null, { k: [true, '\n'] }], y: 31 } }],
    '',
  ],
  'a bare list': [
    '[get_weather(city="]Paris["), get_time()]',
    [
      { name: 'get_weather', arguments: { city: ']Paris[' } },
      { name: 'get_time', arguments: {} },
    ],
    '',
  ],
  'Hermes, twice': [
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>\n' +
      '<tool_call>{"name":"get_time","arguments":{}}</tool_call>',
    [paris, { name: 'get_time', arguments: {} }],
    '',
  ],
  'Qwen coder': [
    '<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n' +
      '<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>',
    [{ name: 'get_weather', arguments: { city: '12', days: 3 } }],
    '',
  ],
  'XML alone': ['Ok. <function=get_weather><parameter=city>Paris</parameter></function>', [paris], 'Ok.'],
  Llama: [
    '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "get_time", "parameters": {}}',
    [paris, { name: 'get_time', arguments: {} }],
    '',
  ],
  'Llama without a tag': [
    '\n{"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "get_time", "parameters": {}}',
    [paris, { name: 'get_time', arguments: {} }],
    '',
  ],
  'one object as in the API': [
    '{"type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}}',
    [paris],
    '',
  ],
  'a list of objects': ['[ {"name": "get_weather", "arguments": {"city": "Paris"}}]', [paris], ''],
  'Llama with the name in a tag': [
    'Ok.\n<function=get_weather>{"city": "Paris"}</function>\n<function=get_time>{}</function>',
    [paris, { name: 'get_time', arguments: {} }],
    'Ok.',
  ],
  Nemotron: [
    'Ok. <TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {}}]</TOOLCALL>',
    [paris, { name: 'get_time', arguments: {} }],
    'Ok.',
  ],
  'Nemotron in Python': ['<TOOLCALL>[get_weather(city="Paris")]</TOOLCALL>', [paris], ''],
  Mistral: [
    '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Pa]ris"}}]',
    [{ name: 'get_weather', arguments: { city: 'Pa]ris' } }],
    '',
  ],
}

/** What has to stay as it is, character by character. */
const plainTexts = [
  'Just text with `code`, a < b, [links](x) and ``` ticks.\n\n  ',
  fence('json', '{"name":"Ada","arguments":1}'),
  fence('json', '{"name":"get_weather"}'),
  fence('json', '{"name":"get_weather","description":"d","parameters":{"type":"object"}}'),
  fence('json', '{"answer": [1,2,3]}') + '\nthat was JSON',
  fence('tool_code', 'get_moon(phase="new")'),
  fence('tool_code', 'get_weather(city=open("/etc/passwd"))'),
  fence('tool_code', 'get_weather(city="Paris"); import os'),
  fence('tool_code', 'get_weather(city="a", city="b")'),
  fence('tool_code', '[{"name":"get_weather","arguments":{}},{"name":"stranger","arguments":{}}]'),
  fence('python', 'x = 1\n<tool_call>{"name":"get_time","arguments":{}}</tool_call>'),
  '```tool_code\n{"name":"get_weather","arguments":{"city":"Par',
  '<tool_call>{"name":"get_weather"',
  '<tool_call>{"name":"stranger","arguments":{}}</tool_call>',
  '<function=stranger><parameter=a>1</parameter></function>',
  '[TOOL_CALLS] none',
  '[get_weather(city="Par',
  '[get_weather] is a function',
  '[stranger(a=1)]',
  'see [get_weather(city="x")]',
  '<|python_tag|>import os',
  '{"name":"get_weather"}',
  '{"name":"stranger","arguments":{}}',
  '{"city": "Paris", "days": 3}',
  '[{"name":"get_weather","description":"d","parameters":{"type":"object"}}]',
  '{"name":"get_weather","arguments":{"city":"Par',
  'Such as {"name":"get_weather","arguments":{"city":"Paris"}}',
  'Such as\n{"name":"get_weather","arguments":{"city":"Paris"}}',
  '{"name":"get_weather","arguments":{"city":"Paris"}} is how it is called',
  '<function=get_weather>["Paris"]</function>',
  '<TOOLCALL>none</TOOLCALL>',
  '{',
  '<|python_tag|>',
  '```',
  '``',
  '[',
  '<',
  '',
]

describe('calls in the text', () => {
  for (const [name, [text, calls, rest]] of Object.entries(notations))
    test(`${name}: read, and cut at every place`, () => {
      const expected = { text: rest, reasoning: '', calls, finish: 'tool-calls' } as Collected
      expect(answer([text])).toEqual(expected)
      for (let at = 1; at < text.length; at++) expect(answer([text.slice(0, at), text.slice(at)])).toEqual(expected)
      expect(answer([...text])).toEqual(expected)
    })

  test('what is no call of an offered tool stays text, wherever it is cut', () => {
    for (const text of plainTexts) {
      const expected: Collected = { text, reasoning: '', calls: [], finish: 'stop' }
      expect(answer([text])).toEqual(expected)
      for (let at = 1; at < text.length; at++) expect(answer([text.slice(0, at), text.slice(at)])).toEqual(expected)
      expect(answer([...text])).toEqual(expected)
    }
  })

  test('random mixtures in random pieces give the same as in one piece', () => {
    let seed = 7
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below
    const parts = [...Object.values(notations).map(([text]) => text), ...plainTexts, '\n', ' ', '\n\n', 'word ']
    for (let round = 0; round < 400; round++) {
      const text = Array.from({ length: 1 + random(5) }, () => parts[random(parts.length)]).join(
        ['', '\n', ' '][random(3)],
      )
      const expected = answer([text])
      const pieces: string[] = []
      for (let at = 0; at < text.length; ) {
        const size = 1 + random(12)
        pieces.push(text.slice(at, at + size))
        at += size
      }
      expect(answer(pieces)).toEqual(expected)
    }
  })

  test('numbers keep all digits, __proto__ is a plain key, deep nesting is text', () => {
    const events = emulate(
      upstream([fence('tool_code', '{"name":"get_time","arguments":{"id":12345678901234567890,"__proto__":{"a":1}}}')]),
      prompted,
      ask(),
    )!.adapter.result({})
    expect(events.find(event => event.type === 'tool-call-arguments')).toMatchObject({
      fragment: '{"id":12345678901234567890,"__proto__":{"a":1}}',
    })
    const deep = fence('tool_code', `get_time(a=${'['.repeat(5000)}${']'.repeat(5000)})`)
    expect(answer([deep]).text).toBe(deep)
  })

  test('text passes at once; only what may become a marker waits', () => {
    const read = emulate(
      upstream(['Hello ', 'there ``', 'x <tool', 'box> ', '```json\n{"answer"', ': 1, ', '"b": 2}\n```']),
      prompted,
      ask(),
    )!.adapter.reader()
    const collected = Array.from({ length: 10 }, (_, at) => collect(read({ data: String(at) })).text)
    expect(collected).toEqual([
      '',
      'Hello',
      ' there',
      ' ``x',
      ' <toolbox>',
      ' ```json\n{"answer"',
      ': 1,',
      ' "b": 2}\n```',
      '',
      '',
    ])
  })

  test('one call where parallel calls are off; a length that cuts is still a length', () => {
    const two = fence('tool_code', 'get_time()\nget_weather(city="Paris")')
    expect(answer([two], ask({ parallelToolCalls: false })).calls).toEqual([{ name: 'get_time', arguments: {} }])
    expect(answer([two], ask({ toolChoice: { name: 'get_weather' } })).text).toBe(two)
    const cut = emulate(
      upstream([fence('tool_code', 'get_time()'), '\n```tool_code\nget'], 'length'),
      prompted,
      ask(),
    )!.adapter.result({})
    expect(collect(cut)).toMatchObject({ finish: 'length', calls: [{ name: 'get_time' }], text: '```tool_code\nget' })
  })

  test('calls of the host itself keep their place in the numbering', () => {
    const native: ChatEvent[] = [
      { type: 'tool-call-start', choice: 0, index: 0, id: `call_${'a'.repeat(24)}`, name: 'get_time' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{}' },
      { type: 'tool-call-end', choice: 0, index: 0 },
    ]
    expect(answer([fence('tool_code', 'get_weather(city="Paris")'), ...native]).calls).toEqual([
      paris,
      { name: 'get_time', arguments: {} },
    ])
  })
})

describe('after the thinking only', () => {
  const reasoner: ModelProfile = { ...nativeProfile, toolCalling: 'after-think', thinking: 'tags' }
  const call = fence('tool_code', 'get_weather(city="Paris")')

  test('a call inside the thinking is none, one after it is', () => {
    const text = `<think>\nI could do ${call}\n</think>\n\nOk.\n${call}`
    const expected: Collected = { text: 'Ok.', reasoning: `I could do ${call}\n`, calls: [paris], finish: 'tool-calls' }
    for (let at = 0; at < text.length; at++)
      expect(answer([text.slice(0, at), text.slice(at)], ask(), reasoner)).toEqual(expected)
  })

  test('a thinking that the template opened ends at its tag; without any end nothing is a call', () => {
    const text = `plan ${call}</think>${call}`
    for (let at = 0; at < text.length; at++)
      expect(answer([text.slice(0, at), text.slice(at)], ask(), reasoner)).toEqual({
        text: '',
        reasoning: `plan ${call}`,
        calls: [paris],
        finish: 'tool-calls',
      })
    expect(answer([call], ask(), reasoner).calls).toEqual([])
    expect(answer([call], ask({ reasoning: { enabled: false } }), reasoner).calls).toEqual([paris])
    expect(
      answer([{ type: 'reasoning', choice: 0, text: 'hm' }, call], ask(), { ...reasoner, thinking: 'separate' }).calls,
    ).toEqual([paris])
  })
})

describe('what the model is asked', () => {
  const asked = (profile: ModelProfile, request: ChatRequest): ChatRequest => {
    const adapter = upstream([])
    const emulated = emulate(adapter, profile, request)
    const before = JSON.stringify(request)
    emulated?.adapter.request(request, target)
    expect(JSON.stringify(request)).toBe(before)
    return adapter.asked ?? request
  }
  const forcedOnly: ModelProfile = { ...nativeProfile, toolCalling: 'forced-only', alternateRoles: true }
  const system: Message = { role: 'system', parts: [{ type: 'text', text: 'Be kind.', cache: { type: 'ephemeral' } }] }
  const words = (message: Message | undefined) =>
    message?.parts.map(part => ('text' in part ? part.text : `<${part.type}>`)).join('')

  test('tools stand in the system prompt, deterministic, with the choice in words', () => {
    const request = ask({ messages: [system, ...ask().messages], parallelToolCalls: false })
    const first = asked(prompted, request)
    expect(asked(prompted, request)).toEqual(first)
    expect([first.tools, first.toolChoice, first.parallelToolCalls]).toEqual([undefined, undefined, undefined])
    expect(first.messages.map(message => message.role)).toEqual(['system', 'user'])
    expect(first.messages[0]!.parts[0]).toEqual(system.parts[0]!)
    expect(words(first.messages[0])).toContain(
      '{"name":"get_weather","description":"The weather of a city","parameters":{"type":"object"',
    )
    expect(words(first.messages[0])).toContain('at most one function')
    expect(words(asked(prompted, ask({ toolChoice: 'required' })).messages[0])).toContain('must call at least one')
    const named = words(asked(prompted, ask({ toolChoice: { name: 'get_time' } })).messages[0])
    expect(named).toContain('must call the function get_time')
    expect(named).not.toContain('get_weather')
    expect(asked(prompted, ask({ toolChoice: 'none' }))).toMatchObject({ messages: ask().messages })
    expect(asked(prompted, ask({ toolChoice: 'none' })).tools).toBeUndefined()
  })

  test('forced-only: forced calls go natively, others in the prompt', () => {
    expect(emulate(upstream([]), forcedOnly, ask({ toolChoice: 'required' }))).toBeUndefined()
    expect(emulate(upstream([]), forcedOnly, ask({ toolChoice: { name: 'get_time' } }))).toBeUndefined()
    expect(asked(forcedOnly, ask()).messages[0]!.role).toBe('system')
  })

  test('a client that describes its tools by hand is left alone', () => {
    const byHand = ask({
      tools: undefined,
      messages: [
        system,
        ...ask().messages,
        { role: 'assistant', parts: [{ type: 'text', text: fence('tool_code', 'f()') }] },
        { role: 'user', parts: [{ type: 'text', text: 'sunny' }] },
      ],
    })
    for (const profile of [prompted, forcedOnly, { ...prompted, toolCalling: 'none' as const }])
      expect(emulate(upstream([]), profile, byHand)).toBeUndefined()
  })

  const history: Message[] = [
    { role: 'user', parts: [{ type: 'text', text: 'Weather?' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'text', text: 'I look.' },
        { type: 'tool-call', id: 'a', name: 'get_weather', arguments: '{"city": "Paris"}' },
        { type: 'tool-call', id: 'b', name: 'get_time', arguments: 'broken' },
      ],
    },
    { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'sunny ```` 21' }] }] },
    {
      role: 'tool',
      parts: [
        { type: 'tool-result', callId: 'b', isError: true, parts: [{ type: 'image', source: { url: 'http://x' } }] },
      ],
    },
    { role: 'user', parts: [{ type: 'text', text: 'And?' }] },
  ]

  test('past calls and results are written in the same notation, with alternating roles', () => {
    const { messages } = asked(forcedOnly, ask({ messages: history }))
    expect(messages.map(message => message.role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(words(messages[2])).toBe(
      'I look.\n\n```tool_code\n{"name":"get_weather","arguments":{"city":"Paris"}}\n```\n\n' +
        '```tool_code\n{"name":"get_time","arguments":"broken"}\n```',
    )
    expect(words(messages[3])).toBe(
      'Result of get_weather:\n`````tool_output\nsunny ```` 21\n`````\n\n' +
        'The call of get_time failed:\n```tool_output\n\n```<image>And?',
    )
    expect(asked(prompted, ask({ messages: history })).messages.map(message => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
      'user',
    ])
  })

  test('several texts of one result stay apart', () => {
    const result: Part = {
      type: 'tool-result',
      callId: 'a',
      parts: [
        { type: 'text', text: 'first page' },
        { type: 'text', text: 'second page' },
      ],
    }
    const { messages } = asked(prompted, ask({ messages: [...history.slice(0, 2), { role: 'tool', parts: [result] }] }))
    expect(words(messages.at(-1))).toContain('\nfirst page\nsecond page\n')
  })

  test('a model without tools: `tools` is refused; a history of calls is sent as text', () => {
    const none: ModelProfile = { ...nativeProfile, toolCalling: 'none' }
    expect(() => emulate(upstream([]), none, ask())).toThrow("tools: the model 'm' cannot call tools")
    for (const more of [{ tools: undefined }, { toolChoice: 'none' as const }]) {
      const request = asked(none, ask({ messages: history, ...more }))
      expect(request.tools).toBeUndefined()
      expect(request.messages.map(message => message.role)).toEqual(['user', 'assistant', 'user', 'user'])
    }
  })

  test('alternating roles: adjacent messages joined, late system messages as the user, the user first', () => {
    const say = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })
    const turns: ModelProfile = { ...nativeProfile, alternateRoles: true }
    const request = ask({
      tools: undefined,
      messages: [
        system,
        say('developer', 'd'),
        say('assistant', 'a'),
        say('user', 'b'),
        say('system', 'c'),
        say('user', 'e'),
      ],
    })
    const { messages } = asked(turns, request)
    expect(messages.map(message => [message.role, words(message)])).toEqual([
      ['system', 'Be kind.\n\nd'],
      ['user', '(The assistant speaks first.)'],
      ['assistant', 'a'],
      ['user', 'b\n\nc\n\ne'],
    ])
    expect(emulate(upstream([]), turns, ask())).toBeUndefined()
  })
})
