import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import { chatRequest } from '../../tests/support/provider-rig.ts'
import { fitToolNames } from './tool-names.ts'

const toolsOf = (...names: string[]): Pick<ChatRequest, 'tools'> => ({ tools: names.map(name => ({ name })) })

function sentNames(request: ChatRequest): string[] {
  return fitToolNames(request)!.request!(request).tools!.map(tool => tool.name)
}

test('names that every upstream takes are left alone', () => {
  expect(fitToolNames(chatRequest())).toBeUndefined()
  expect(fitToolNames(chatRequest(toolsOf('get_weather', 'mcp__a-b__C9', 'x'.repeat(64))))).toBeUndefined()
})

test('others get a form that is the same in every call, beside any other names', () => {
  const long = `mcp__${'very_'.repeat(20)}long`
  const [first, second, third] = sentNames(chatRequest(toolsOf(long, 'mcp.server/tool', '9lives')))
  const hash = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 8)
  expect(first).toBe(`${long.slice(0, 55)}_${hash(long)}`)
  expect(first).toHaveLength(64)
  expect(second).toBe(`mcp_server_tool_${hash('mcp.server/tool')}`)
  expect(third).toBe(`_9lives_${hash('9lives')}`)
  expect(sentNames(chatRequest(toolsOf('other', 'mcp.server/tool')))).toEqual(['other', second!])
})

test('two names that look alike, and one that looks like the form of another, stay apart', () => {
  const [form] = sentNames(chatRequest(toolsOf('a.b')))
  const names = sentNames(chatRequest(toolsOf('a.b', 'a:b', 'a/b', form!)))
  expect(new Set(names).size).toBe(4)
  expect(names.at(-1)).toBe(form!)
})

test('the conversation and the choice name the same tool; the answer has its own name again', () => {
  const request = chatRequest({
    ...toolsOf('mcp.read'),
    toolChoice: { name: 'mcp.read' },
    messages: [
      { role: 'assistant', parts: [{ type: 'tool-call', id: '1', name: 'mcp.read', arguments: '{}' }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: '1', name: 'mcp.read', parts: [] }] },
      // No longer among the tools.
      { role: 'assistant', parts: [{ type: 'tool-call', id: '2', name: 'mcp.gone', arguments: '{}' }] },
    ],
  })
  const before = JSON.stringify(request)
  const fitted = fitToolNames(request)!
  const sent = fitted.request!(request)
  const form = sent.tools![0]!.name
  expect(sent.toolChoice).toEqual({ name: form })
  expect(sent.messages.map(({ parts }) => (parts[0] as { name: string }).name)).toEqual([
    form,
    form,
    expect.stringMatching(/^mcp_gone_[0-9a-f]{8}$/) as unknown as string,
  ])
  expect(JSON.stringify(request)).toBe(before)
  const read = fitted.filter!()
  const start = (name: string): ChatEvent => ({ type: 'tool-call-start', choice: 0, index: 0, id: '3', name })
  expect(read(start(form))).toEqual([start('mcp.read')])
  expect(read(start('unknown'))).toEqual([start('unknown')])
})
