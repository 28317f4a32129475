import { expect, test } from 'bun:test'
import { atEndOfTick, inTickOfItsOwn, tickClock } from './end-of-tick.ts'

const task = (work: () => void) => ({ endOfTick: work })

test('tasks run in order behind the events and microtasks of the tick, and what they add runs in the next', async () => {
  const seen: string[] = []
  atEndOfTick(
    task(() => {
      seen.push('first')
      atEndOfTick(task(() => seen.push('later')))
    }),
  )
  atEndOfTick(task(() => seen.push('second')))
  queueMicrotask(() => seen.push('microtask'))
  seen.push('now')
  await new Promise(resolve => setImmediate(resolve))
  expect(seen).toEqual(['now', 'microtask', 'first', 'second'])
  await new Promise(resolve => setImmediate(resolve))
  expect(seen.at(-1)).toBe('later')
})

test('a task that throws does not keep the others from running', async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      '-e',
      `
    const { atEndOfTick } = await import(${JSON.stringify(`${import.meta.dir}/end-of-tick.ts`)})
    process.on('uncaughtException', error => console.log('caught ' + error.message))
    atEndOfTick({ endOfTick() { throw new Error('broken') } })
    atEndOfTick({ endOfTick() { console.log('ran') } })
  `,
    ],
    { stdout: 'pipe' },
  )
  expect((await new Response(child.stdout).text()).trim().split('\n').sort()).toEqual(['caught broken', 'ran'])
})

test('the clock of the tick stands still until its tasks have run, and is the system clock in the next tick', async () => {
  const [readMs, readEpochMs] = [tickClock.monotonicMs(), tickClock.epochMs()]
  Bun.sleepSync(3)
  const atEnd = new Promise(resolve => atEndOfTick(task(() => resolve([tickClock.monotonicMs(), tickClock.epochMs()]))))
  expect([tickClock.monotonicMs(), tickClock.epochMs()]).toEqual([readMs, readEpochMs])
  expect(await atEnd).toEqual([readMs, readEpochMs])
  await new Promise(resolve => setImmediate(resolve))
  expect(tickClock.monotonicMs()).toBeGreaterThanOrEqual(readMs + 3)
  expect(tickClock.epochMs()).toBeGreaterThan(readEpochMs)
})

test('the clock of the tick goes on where nothing else happens', async () => {
  const readMs = tickClock.monotonicMs()
  await Bun.sleep(5)
  expect(tickClock.monotonicMs()).toBeGreaterThanOrEqual(readMs + 4)
})

test('tasks with a tick of their own run one a tick; the first at once, the next one after one that throws too', async () => {
  const seen: string[] = []
  const nextTick = () => new Promise(resolve => setImmediate(resolve))
  inTickOfItsOwn(() => seen.push('first'))
  inTickOfItsOwn(() => seen.push('second'))
  inTickOfItsOwn(() => seen.push('third'))
  expect(seen).toEqual(['first'])
  await nextTick()
  inTickOfItsOwn(() => seen.push('fourth'))
  expect(seen).toEqual(['first', 'second'])
  for (let tick = 0; tick < 3; tick++) await nextTick()
  expect(seen).toEqual(['first', 'second', 'third', 'fourth'])
  const broken = () => {
    throw new Error('broken')
  }
  expect(() => inTickOfItsOwn(broken)).toThrow('broken')
  inTickOfItsOwn(() => seen.push('fifth'))
  await nextTick()
  expect(seen.at(-1)).toBe('fifth')
})
