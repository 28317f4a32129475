import { expect, test } from 'bun:test'
import type { ChatRequest, Message, Role } from '../hub/chat.ts'
import { markedFields, withMarks } from './prompt-marks.ts'
import type { CachePoint, PromptMarks } from './prompt-marks.ts'

const message = (role: Role): Message => ({ role, parts: [{ type: 'text', text: role }] })
const chat = (...roles: Role[]): ChatRequest =>
  ({ model: 'm', messages: roles.map(message), tools: [{ name: 'a' }, { name: 'b' }] }) as unknown as ChatRequest
const at = (...points: CachePoint[]): PromptMarks => ({ points, isAutomatic: false })
const automatic: PromptMarks = { points: [], isAutomatic: true }

/** `t` = behind the tools, and the indexes of marked messages. */
function places(request: ChatRequest, marks: PromptMarks): (string | number)[] {
  const { messages, tools = [] } = withMarks(request, marks)
  const marked = messages.flatMap(({ parts }, index) =>
    parts.some(part => 'cache' in part && part.cache) ? [index] : [],
  )
  expect(tools.slice(0, -1).some(one => one.cache)).toBe(false)
  return tools.at(-1)?.cache ? ['t', ...marked] : marked
}

test('points are messages of a role, or at an index, and the tools', () => {
  const request = chat('system', 'user', 'assistant', 'user')
  expect(places(request, at({ location: 'message', role: 'system' }))).toEqual([0])
  expect(places(request, at({ location: 'message', role: 'user' }))).toEqual([1, 3])
  expect(places(request, at({ location: 'message', index: -1 }, { location: 'tool_config' }))).toEqual(['t', 3])
  expect(places(request, at({ location: 'message', index: 1, role: 'assistant' }))).toEqual([])
  expect(places(request, at({ location: 'message', index: 9 }))).toEqual([])
})

test('automatically they stand behind tools, system, and the last but one turn', () => {
  expect(places(chat('system', 'user'), automatic)).toEqual(['t', 0])
  expect(places(chat('system', 'developer', 'user', 'assistant', 'user'), automatic)).toEqual(['t', 1, 2])
  expect(places(chat('user', 'assistant', 'tool', 'tool', 'user', 'assistant', 'tool'), automatic)).toEqual(['t', 4])
})

test('there are four at most, and none beside those of the client', () => {
  const many = chat('user', 'user', 'user', 'user', 'user', 'user')
  expect(places(many, at({ location: 'message', role: 'user' }))).toEqual([0, 1, 2, 3])
  const own = chat('system', 'user')
  own.messages[1]!.parts[0] = { type: 'text', text: 'x', cache: { type: 'ephemeral' } }
  expect(withMarks(own, automatic)).toBe(own)
})

test('of a Messages body only what is marked changes', () => {
  const mark = { type: 'ephemeral' }
  const body = {
    system: 'Be brief.',
    tools: [{ name: 'a' }, { name: 'b' }],
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }] },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
    ],
  }
  expect(markedFields(body, automatic)).toEqual({
    tools: [{ name: 'a' }, { name: 'b', cache_control: mark }],
    system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'one', cache_control: mark }] },
      body.messages[1]!,
      body.messages[2]!,
    ],
  })
  expect(markedFields(body, at({ location: 'message', index: 2 }))).toEqual({})
  const own = { ...body, messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: mark }] }] }
  expect(markedFields(own, automatic)).toEqual({})
})
