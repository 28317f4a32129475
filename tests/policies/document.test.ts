/** docs/policies.md quotes the example policies as they are. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'

const root = `${import.meta.dir}/../..`
const examples = ['reject-word', 'add-system-line', 'mask-word', 'answer-from-table']

test('the examples in the document are the files', () => {
  const document = readFileSync(`${root}/docs/policies.md`, 'utf8')
  const quoted = new Map(
    [...document.matchAll(/```ts\n\/\/ tests\/policies\/([\w-]+)\.ts\n(.*?)```/gs)].map(([, name, text]) => [
      name,
      text,
    ]),
  )
  expect([...quoted.keys()]).toEqual(examples)
  for (const name of examples) {
    const file = readFileSync(`${root}/tests/policies/${name}.ts`, 'utf8')
    expect(quoted.get(name)).toBe(file)
    expect(file.split('\n').length).toBeLessThanOrEqual(60)
  }
})
