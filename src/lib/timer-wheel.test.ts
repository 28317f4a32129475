import { expect, test } from 'bun:test'
import type { Clock } from './clock.ts'
import { TimerEntry, TimerWheel } from './timer-wheel.ts'

class FakeClock implements Clock {
  nowMs = 1_000_000
  epochMs(): number {
    return this.nowMs
  }
  monotonicMs(): number {
    return this.nowMs
  }
}

class Alarm extends TimerEntry {
  readonly firedAtMs: number[] = []
  then: (() => void) | undefined
  override expired(nowMs: number): void {
    this.firedAtMs.push(nowMs)
    this.then?.()
  }
}

function bench(): { clock: FakeClock; wheel: TimerWheel; advance: (ms: number) => void } {
  const clock = new FakeClock()
  const wheel = new TimerWheel(clock, 50)
  return {
    clock,
    wheel,
    advance(ms) {
      const untilMs = clock.nowMs + ms
      while (clock.nowMs < untilMs) {
        clock.nowMs = Math.min(untilMs, clock.nowMs + 50)
        wheel.tick()
      }
    },
  }
}

test('an entry fires once, never early and at most two steps late', () => {
  const { clock, wheel, advance } = bench()
  const startMs = clock.nowMs
  for (const delayMs of [0, 1, 49, 50, 51, 999, 25_599, 25_600, 25_601, 60_000, 300_123]) {
    const alarm = new Alarm()
    const setMs = clock.nowMs
    wheel.touch(alarm, setMs + delayMs)
    advance(delayMs + 100)
    expect(alarm.firedAtMs.length).toBe(1)
    expect(alarm.firedAtMs[0]! - setMs).toBeGreaterThanOrEqual(delayMs)
    expect(alarm.firedAtMs[0]! - setMs).toBeLessThanOrEqual(delayMs + 100)
  }
  expect(wheel.size).toBe(0)
  expect(clock.nowMs).toBeGreaterThan(startMs)
})

test('a touched entry does not fire until its last deadline', () => {
  const { clock, wheel, advance } = bench()
  const alarm = new Alarm()
  for (let i = 0; i < 100; i++) {
    wheel.touch(alarm, clock.nowMs + 1000)
    advance(500)
  }
  expect(alarm.firedAtMs).toEqual([])
  const lastMs = clock.nowMs + 500
  advance(700)
  expect(alarm.firedAtMs.length).toBe(1)
  expect(alarm.firedAtMs[0]!).toBeGreaterThanOrEqual(lastMs)
})

test('a deadline can be moved to an earlier moment', () => {
  const { clock, wheel, advance } = bench()
  const alarm = new Alarm()
  wheel.touch(alarm, clock.nowMs + 600_000)
  wheel.touch(alarm, clock.nowMs + 200)
  advance(300)
  expect(alarm.firedAtMs.length).toBe(1)
})

test('a resting deadline never fires and can be woken', () => {
  const { clock, wheel, advance } = bench()
  const alarm = new Alarm()
  wheel.touch(alarm, Infinity)
  advance(100_000)
  expect(alarm.firedAtMs).toEqual([])
  wheel.touch(alarm, clock.nowMs + 100)
  advance(200)
  expect(alarm.firedAtMs.length).toBe(1)
})

test('a cancelled entry does not fire, and cancelling twice is harmless', () => {
  const { clock, wheel, advance } = bench()
  const alarm = new Alarm()
  wheel.touch(alarm, clock.nowMs + 100)
  wheel.cancel(alarm)
  wheel.cancel(alarm)
  expect(wheel.size).toBe(0)
  advance(1000)
  expect(alarm.firedAtMs).toEqual([])
})

test('an entry may cancel its neighbours and schedule itself again while it fires', () => {
  const { clock, wheel, advance } = bench()
  const neighbour = new Alarm()
  const later = new Alarm()
  const first = new Alarm()
  first.then = () => {
    wheel.cancel(neighbour)
    wheel.cancel(later)
    if (first.firedAtMs.length < 3) wheel.touch(first, clock.nowMs)
  }
  const deadlineMs = clock.nowMs + 100
  wheel.touch(first, deadlineMs)
  wheel.touch(neighbour, deadlineMs)
  wheel.touch(later, deadlineMs + 50)
  advance(1000)
  expect(first.firedAtMs.length).toBe(3)
  expect(neighbour.firedAtMs).toEqual([])
  expect(later.firedAtMs).toEqual([])
  expect(wheel.size).toBe(0)
})

test('after a standstill the loop gets one turn before anything fires', () => {
  const { clock, wheel } = bench()
  const alarm = new Alarm()
  wheel.touch(alarm, clock.nowMs + 100)
  clock.nowMs += 60_000
  wheel.tick()
  expect(alarm.firedAtMs).toEqual([])
  clock.nowMs += 50
  wheel.tick()
  expect(alarm.firedAtMs.length).toBe(1)
})

test('ten thousand entries with random deadlines all fire at their time', () => {
  const { clock, wheel, advance } = bench()
  const dueMs = new Map<Alarm, number>()
  let seed = 1
  for (let i = 0; i < 10_000; i++) {
    seed = (seed * 48271) % 2147483647
    const alarm = new Alarm()
    dueMs.set(alarm, clock.nowMs + (seed % 100_000))
    wheel.touch(alarm, dueMs.get(alarm)!)
  }
  advance(101_000)
  for (const [alarm, due] of dueMs) {
    expect(alarm.firedAtMs.length).toBe(1)
    const lateMs = alarm.firedAtMs[0]! - due
    if (lateMs < 0 || lateMs > 100) throw new Error(`off by ${lateMs} ms`)
  }
})

test('real time drives the wheel, and it stops when it is empty', async () => {
  const wheel = new TimerWheel({ epochMs: () => 0, monotonicMs: () => performance.now() }, 10)
  const alarm = new Alarm()
  const startMs = performance.now()
  const fired = new Promise<void>(resolve => (alarm.then = resolve))
  wheel.touch(alarm, startMs + 60)
  await fired
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(60)
  expect(wheel.size).toBe(0)
})
