import { expect, test } from 'bun:test'
import { emulate } from './index.ts'
import { ask, prompted, upstream, collect } from './tools-fixture.ts'

test('a long plain answer in small pieces is quick', () => {
  const text = '```python\nprint("x")\n[1]<a>`b`\n'.repeat(8000)
  const from = performance.now()
  expect(collect(emulate(upstream(text.match(/[\s\S]{1,4}/g)!), prompted, ask())!.adapter.result({})).text).toBe(text)
  const open = '```json\n{"name":"get_weather","arguments":{"city":"' + 'x'.repeat(300_000)
  expect(collect(emulate(upstream(open.match(/.{1,5}|\n/g)!), prompted, ask())!.adapter.result({})).text).toBe(open)
  expect(performance.now() - from).toBeLessThan(2500)
})
