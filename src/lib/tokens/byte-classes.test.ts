import { expect, test } from 'bun:test'
import { classifyBytes, countBytes } from './byte-classes.ts'

const found = (text: string): string[] => {
  const bytes = Buffer.from(text)
  const runs: string[] = []
  let end = 0
  classifyBytes(bytes, (kind, from, to) => {
    expect(from).toBe(end)
    end = to
    runs.push(`${kind} ${bytes.toString('utf8', from, to)}`)
  })
  expect(end).toBe(bytes.length)
  return runs
}

test.each([
  ['The fox, (really).', ['word The', 'space  ', 'word fox,', 'dense  ', 'word (really).']],
  ['a 1 camelCase', ['word a', 'dense  ', 'dense 1', 'space  ', 'dense camelCase']],
  ['x\n  y', ['word x', 'gap \n  ', 'word y']],
  ['né 漢字 🦊', ['dense n', 'two é', 'dense  ', 'eastern 漢', 'eastern 字', 'dense  ', 'four 🦊']],
  ['“ा', ['three “', 'three ा']],
  ['', []],
])('the classes of %j', (text, classes) => {
  expect(found(text)).toEqual(classes)
})

test('texts are counted together, halves of characters too', () => {
  expect(countBytes(['ab 9', 'é\ud800'])).toMatchObject({ word: 2, dense: 2, two: 2, eastern: 3 })
})
