import { expect, test } from 'bun:test'
import { lastStructure } from './json-last.ts'

const lastOf = (text: string): string | undefined => {
  const found = lastStructure(Buffer.from(text))
  return found && Buffer.from(found).toString()
}

test.each([
  [[{ role: 'user' }, { role: 'assistant', content: 'a' }]],
  [[[1], [[2], { a: [] }]]],
  [['x', { text: 'brackets ]}[{ and "quotes" \\" and \\\\', '\\"{': ['\\', '"', '\\"'] }]],
  [[{ text: 'é😀\u2028', last: {} }]],
])('the last of %j', list => {
  for (const text of [JSON.stringify(list), JSON.stringify(list, undefined, 2)])
    expect(JSON.parse(lastOf(text)!)).toEqual(list.at(-1))
})

test.each(['[]', '[ ]', '["a"]', '[{}, 1]', '{}', '"]"', 'null', '["{}"]'])('none in %s', text => {
  expect(lastOf(text)).toBeUndefined()
})
