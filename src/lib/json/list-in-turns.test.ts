/** Long lists of JSON are parsed as a whole would be, and other work goes on meanwhile. */
import { expect, test } from 'bun:test'
import { parseListInTurns } from './list-in-turns.ts'

const texts = ['', 'a "quoted" one', 'back\\slash\\', '],[{', '東京 \u2028', '\\"', '\n']
const element = (at: number) => ({
  id: `item-${at}`,
  text: texts[at % texts.length],
  list: [at, [null, { x: true }], '}'],
})

test('yields what JSON.parse yields, for short and long lists', async () => {
  for (const list of [
    [],
    [1],
    Array.from({ length: 30_000 }, (_, at) => element(at)),
    ['x'.repeat(600_000), { y: 'z"'.repeat(400_000) }, 1, null],
    Array.from({ length: 200_000 }, (_, at) => at),
  ])
    expect(await parseListInTurns(JSON.stringify(list), [])).toEqual(list)
  const spaced = JSON.stringify(
    Array.from({ length: 10_000 }, (_, at) => element(at)),
    null,
    2,
  )
  expect(await parseListInTurns(spaced, [])).toEqual(JSON.parse(spaced))
})

test('other work goes on between the elements', async () => {
  const json = JSON.stringify(Array.from({ length: 50_000 }, (_, at) => element(at)))
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await parseListInTurns(json, [])
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(Math.floor(json.length / (256 * 1024)) - 1)
})
