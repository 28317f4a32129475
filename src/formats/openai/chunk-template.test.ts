import { describe, expect, test } from 'bun:test'
import { ChunkTemplate } from './chunk-template.ts'

const openai = (text: string, hidden = 'p7Bq') =>
  `data: {"id":"c1","model":"up","choices":[{"index":0,"delta":{"content":"${text}"}}],` +
  `"usage":null,"obfuscation":"${hidden}"}\n\n`
const spaced = (text: string) =>
  `data: {"model": "up", "choices": [{"index": 2, "delta": {"content": "${text}"}}]}\r\n\r\n`
const shownOf = (event: string) => event.replace('"model":"up"', '"model":"public"').replace('"usage":null,', '')

function learned(event: string, shown = event, field = 'content'): ChunkTemplate {
  const template = new ChunkTemplate()
  template.learn(event, shown, field)
  return template
}

interface Chunk {
  readonly choices: { delta: { content: string } }[]
  readonly obfuscation?: string
}

const parse = (event: string) => JSON.parse(event.slice('data:'.length)) as Chunk

const withoutTexts = (chunk: Chunk) => ({ ...chunk, choices: [{ ...chunk.choices[0], delta: {} }], obfuscation: '' })

describe('chunks that differ in their texts', () => {
  test('match with the number of their characters, and go out as the first one did', () => {
    const template = learned(openai('one'), shownOf(openai('one')))
    for (const event of [
      openai('one'),
      openai(' Seine '),
      openai('x', ''),
      openai('\xc3\xbc', 'much longer than that'),
    ]) {
      const characters = template.match(event)
      expect(characters).toBe(parse(event).choices[0]!.delta.content.length)
      expect(template.shownFor(event, characters)).toBe(shownOf(event))
    }
  })

  test('without obfuscation, with spaces, passed as they are, until they are forgotten', () => {
    const template = learned(spaced('one'))
    expect(template.match(spaced('three'))).toBe(5)
    expect(template.shownFor(spaced('three'), 5)).toBe(spaced('three'))
    template.forget()
    expect(template.match(spaced('three'))).toBe(0)
  })

  test('in the thinking, and in what a text completion adds', () => {
    for (const field of ['reasoning_content', 'text'])
      expect(
        learned(openai('one').replace('content', field), undefined, field).match(
          openai('two!').replace('content', field),
        ),
      ).toBe(4)
  })
})

describe('what differs elsewhere does not match', () => {
  const template = learned(openai('one'))
  test.each([
    ['no text', openai('')],
    ['an escape', openai('a\\nb')],
    ['a quote', openai('a"b')],
    ['a control character', openai('a\tb')],
    ['the end of a line', openai('a\nb')],
    ['an escape in the obfuscation', openai('a', '\\u0020')],
    ['another choice', openai('a').replace('"index":0', '"index":1')],
    ['a finish reason', openai('a').replace('}}]', '},"finish_reason":"stop"}]')],
    ['usage', openai('a').replace('null', '{"prompt_tokens":1}')],
    ['another field', openai('a').replace('content', 'refusal')],
    ['more behind it', `${openai('a')} `],
    ['two events', openai('a') + openai('b')],
    ['a piece of it', openai('a').slice(0, -1)],
    ['the end', 'data: [DONE]\n\n'],
    ['nothing', ''],
  ])('%s', (_, event) => {
    expect(template.match(event)).toBe(0)
  })
})

test.each([
  ['an escape anywhere', openai('a').replace('c1', 'c\\u0031')],
  ['the field twice', openai('a').replace('"id"', '"content":"b","id"')],
  ['a value that reads like its name', openai('a').replace('c1', 'content')],
  ['the obfuscation first', openai('a').replace('"id"', '"obfuscation":"b","id"').replace(',"obfuscation":"p7Bq"', '')],
  ['a list of parts', openai('a').replace('"content":"a"', '"content":[{"text":"a"}]')],
])('an event with %s is not learned', (_, event) => {
  parse(event)
  const template = learned(openai('a'))
  template.learn(event, event, 'content')
  expect(template.match(event)).toBe(0)
  expect(template.match(openai('a'))).toBe(0)
})

test('what matches is JSON in which only the texts differ, for any change of bytes', () => {
  const alphabet = [
    '"',
    '\\',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    ' ',
    '\n',
    'a',
    '1',
    '\x7f',
    '\xff',
    '\x00',
    '"content":"',
    '\\"',
  ]
  let state = 1
  const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below
  let matched = 0
  for (const first of [openai('one'), spaced('one')]) {
    const template = learned(first)
    for (let round = 0; round < 20_000; round++) {
      let event = first
      for (let change = random(3); change >= 0; change--) {
        const at = first.indexOf('one') + (random(2) === 0 ? random(4) : random(event.length) - first.indexOf('one'))
        event = event.slice(0, at) + alphabet[random(alphabet.length)] + event.slice(at + random(3))
      }
      const characters = template.match(event)
      if (characters === 0) continue
      matched++
      const chunk = parse(event) as Chunk
      expect(chunk.choices[0]!.delta.content).toHaveLength(characters)
      expect(typeof chunk.obfuscation).toBe(typeof parse(first).obfuscation)
      expect(withoutTexts(chunk)).toEqual(withoutTexts(parse(first)))
    }
  }
  expect(matched).toBeGreaterThan(1000)
})
