import { expect, test } from 'bun:test'
import { citedSource } from './citations.ts'

const source = (citation: Record<string, unknown>, span?: { start: number; end: number }) =>
  citedSource({ citation, span } as never)

test("a source is read in OpenAI's, Anthropic's and Bedrock's words", () => {
  const cited = { url: 'http://x', title: 'X', start_index: 0, end_index: 5 }
  const read = { url: 'http://x', title: 'X', span: { start: 0, end: 5 } }
  expect(source({ url_citation: cited, url: 'http://y' })).toEqual(read)
  expect(source(cited)).toEqual(read)
  expect(source({ document_title: 'Doc' })).toEqual({ url: undefined, title: 'Doc', span: undefined })
  expect(source({ title: 'T', document_title: 'Doc', location: { web: { url: 'http://w' } } })).toEqual({
    url: 'http://w',
    title: 'T',
    span: undefined,
  })
})

test('the span of the event wins, and one with a place that is no number is none', () => {
  const cited = { start_index: 1, end_index: 5 }
  expect(source(cited, { start: 7, end: 8 }).span).toEqual({ start: 7, end: 8 })
  expect(source({ start_index: 1 }).span).toBeUndefined()
  expect(source({ end_index: 1 }).span).toBeUndefined()
  expect(source({ start_index: 1, end_index: 1.5 }).span).toBeUndefined()
  expect(source({ url: 5 }).url).toBeUndefined()
})
