/** What an answer holds beside its text: calls of tools, and the pages that it names as its sources. */
import type { AnswerSource, AnswerToolCall } from '../core/objects/conversations.ts'
import { isObject, objectsOf, textOf } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/** What is kept of an answer at most; a person reads less. */
const callsMax = 100
const argumentsLengthMax = 100_000
const sourcesMax = 100

/** With the pieces of a `delta` or a `message`; the same list = there is none. */
export function withToolCalls(before: readonly AnswerToolCall[], delta: Json): readonly AnswerToolCall[] {
  const pieces = objectsOf(delta.tool_calls)
  if (pieces.length === 0) return before
  const calls = [...before]
  for (const [at, piece] of pieces.entries()) {
    const index = typeof piece.index === 'number' ? piece.index : at
    // Models count from 0 without a gap.
    if (index > calls.length || index < 0 || index >= callsMax) continue
    const { name, arguments: given } = isObject(piece.function) ? piece.function : {}
    const call = calls[index] ?? { name: '', arguments: '' }
    calls[index] = {
      name: call.name + textOf(name),
      arguments: (call.arguments + textOf(given)).slice(0, argumentsLengthMax),
    }
  }
  return calls
}

/** With the pages that a `delta` or a `message` names; the same list = none is new. */
export function withSources(before: readonly AnswerSource[], delta: Json): readonly AnswerSource[] {
  const found = objectsOf(delta.annotations).flatMap(({ url_citation: page }): AnswerSource[] => {
    const url = isObject(page) ? textOf(page.url) : ''
    // Only addresses that a browser opens as pages.
    return /^https?:\/\//i.test(url) ? [{ url, title: isObject(page) ? textOf(page.title) : '' }] : []
  })
  const added = found.filter(({ url }, at) => {
    const isFirst = found.findIndex(one => one.url === url) === at
    return isFirst && !before.some(one => one.url === url)
  })
  return added.length === 0 ? before : [...before, ...added].slice(0, sourcesMax)
}
