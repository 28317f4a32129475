import { expect, test } from 'bun:test'
import { withSources, withToolCalls } from './answer-parts.ts'

test('pieces of tool calls are joined by their index, and gaps are left out', () => {
  const first = withToolCalls([], { tool_calls: [{ index: 0, function: { name: 'look_up', arguments: '{"a"' } }] })
  const second = withToolCalls(first, { tool_calls: [{ index: 0, function: { arguments: ':1}' } }, { index: 7 }] })
  expect(second).toEqual([{ name: 'look_up', arguments: '{"a":1}' }])
  expect(withToolCalls(second, { content: 'x' })).toBe(second)
})

test('a page is a source once, and only if a browser opens it as a page', () => {
  const page = (url: unknown) => ({ type: 'url_citation', url_citation: { url, title: 'T' } })
  const first = withSources([], { annotations: [page('https://a.example/'), page('javascript:alert(1)'), page(7), {}] })
  expect(first).toEqual([{ url: 'https://a.example/', title: 'T' }])
  expect(withSources(first, { annotations: [page('https://a.example/')] })).toBe(first)
})
