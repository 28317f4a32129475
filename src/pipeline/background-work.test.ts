import { expect, test } from 'bun:test'
import { DetachedWork } from './background-work.ts'

const untilAborted = (said: string[]) => (signal: AbortSignal) =>
  new Promise<void>(resolve =>
    signal.addEventListener('abort', () => {
      said.push('aborted')
      resolve()
    }),
  )

test('work is known by its id, is cancelled alone, and is forgotten at its end', async () => {
  const work = new DetachedWork()
  const said: string[] = []
  expect(work.start('a', untilAborted(said))).toBe(true)
  expect(work.start('b', untilAborted(said))).toBe(true)
  expect(work.start('a', untilAborted(said))).toBe(false)
  work.cancel('a')
  work.cancel('unknown')
  await Bun.sleep(1)
  expect(said).toEqual(['aborted'])
  expect(work.start('a', async () => {})).toBe(true)
})

test('a stop ends everything, waits for last words, and lets nothing new begin', async () => {
  const work = new DetachedWork()
  const said: string[] = []
  work.start('a', async signal => {
    await untilAborted(said)(signal)
    await Bun.sleep(20)
    said.push('last words')
  })
  work.start('b', () => Promise.reject(new Error('thrown')))
  await work.stop()
  expect(said).toEqual(['aborted', 'last words'])
  expect(work.start('c', async () => {})).toBe(false)
})

test('there is a limit', () => {
  const work = new DetachedWork()
  const started = Array.from({ length: 1001 }, (_, at) => work.start(String(at), () => new Promise(() => {})))
  expect(started.filter(Boolean).length).toBe(1000)
})
