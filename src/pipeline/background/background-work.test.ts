import { expect, test } from 'bun:test'
import type { GatewayError } from '../../core/errors.ts'
import { DetachedWork } from './background-work.ts'

const untilAborted = (said: string[]) => (signal: AbortSignal) =>
  new Promise<void>(resolve =>
    signal.addEventListener('abort', () => {
      said.push('aborted')
      resolve()
    }),
  )

const run = (id: string, keyId = 'key') => ({ id, keyId })
const refusal = (act: () => void): string | undefined => {
  try {
    act()
    return undefined
  } catch (thrown) {
    return (thrown as GatewayError).kind
  }
}

test('work is known by its id, is cancelled alone, and is forgotten at its end', async () => {
  const work = new DetachedWork()
  const said: string[] = []
  work.start(run('a'), untilAborted(said))
  work.start(run('b'), untilAborted(said))
  expect(refusal(() => work.start(run('a'), untilAborted(said)))).toBe('conflict')
  work.cancel('a')
  work.cancel('unknown')
  await Bun.sleep(1)
  expect(said).toEqual(['aborted'])
  work.start(run('a'), async () => {})
})

test('a stop ends everything, waits for last words, and lets nothing new begin', async () => {
  const work = new DetachedWork()
  const said: string[] = []
  work.start(run('a'), async signal => {
    await untilAborted(said)(signal)
    await Bun.sleep(20)
    said.push('last words')
  })
  work.start(run('b'), () => Promise.reject(new Error('thrown')))
  await work.stop()
  expect(said).toEqual(['aborted', 'last words'])
  expect(refusal(() => work.start(run('c'), async () => {}))).toBe('overloaded')
})

test('there is a limit', () => {
  const work = new DetachedWork()
  const started = Array.from({ length: 1001 }, (_, at) =>
    refusal(() => work.start(run(String(at), `key-${at}`), () => new Promise(() => {}))),
  )
  expect(started.filter(one => one === undefined).length).toBe(1000)
  expect(started.at(-1)).toBe('overloaded')
})

test('one key cannot take all background runs: others start, and its own go on when some have ended', async () => {
  const work = new DetachedWork()
  const ends: (() => void)[] = []
  const begin = (at: number, keyId: string) =>
    refusal(() => work.start(run(`${keyId}-${at}`, keyId), () => new Promise(resolve => ends.push(resolve))))
  const greedy = Array.from({ length: 1000 }, (_, at) => begin(at, 'greedy'))
  expect(greedy.filter(one => one === undefined).length).toBe(500)
  expect(new Set(greedy.slice(500))).toEqual(new Set(['rate-limited']))
  expect(Array.from({ length: 100 }, (_, at) => begin(at, 'modest')).filter(Boolean)).toEqual([])
  for (const end of ends.slice(0, 100)) end()
  await Bun.sleep(1)
  expect(begin(1000, 'greedy')).toBeUndefined()
})
