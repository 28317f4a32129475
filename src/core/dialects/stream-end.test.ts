import { expect, test } from 'bun:test'
import { ChoiceStates, endWaitMs, silentEndMs, unfinishedStream } from './stream-end.ts'

test('a complete answer waits a second for its terminal event, three for its usage, ten where there is neither', () => {
  expect([endWaitMs(true), endWaitMs(false), silentEndMs]).toEqual([1000, 3000, 10_000])
})

test('an answer without content or finish has no end', () => {
  const states = new ChoiceStates()
  expect([states.mayEnd, states.complete]).toEqual([false, false])
  states.begin(0)
  expect([states.mayEnd, states.complete]).toEqual([false, false])
})

test('the finish of the one choice is the end; the same finish again says nothing new', () => {
  const states = new ChoiceStates()
  states.begin(0)
  states.begin(0)
  expect(states.finish(0)).toBe(true)
  expect([states.mayEnd, states.complete]).toEqual([true, true])
  expect(states.finish(0)).toBe(false)
  expect([states.mayEnd, states.complete]).toEqual([true, true])
})

test('a choice may finish without content, once', () => {
  const states = new ChoiceStates()
  expect([states.finish(0), states.finish(0)]).toEqual([true, false])
  expect(states.complete).toBe(true)
})

test('content after the finish has to finish again', () => {
  const states = new ChoiceStates()
  states.begin(0)
  states.finish(0)
  states.begin(0)
  expect([states.mayEnd, states.complete]).toEqual([false, false])
  expect(states.finish(0)).toBe(true)
  expect([states.mayEnd, states.complete]).toEqual([true, true])
})

test('all choices that began have to finish, and the first among them', () => {
  const states = new ChoiceStates(2)
  states.begin(1)
  states.begin(0)
  expect(states.finish(0)).toBe(true)
  expect(states.mayEnd).toBe(false)
  expect(states.finish(1)).toBe(true)
  expect([states.mayEnd, states.complete]).toEqual([true, true])
  const later = new ChoiceStates(1)
  later.begin(1)
  later.finish(1)
  expect([later.mayEnd, later.complete]).toEqual([false, false])
})

test('an answer is complete with as many choices as were asked for; an upstream may end one with fewer', () => {
  const states = new ChoiceStates(3)
  states.finish(0)
  states.finish(1)
  states.finish(1)
  expect([states.mayEnd, states.complete]).toEqual([true, false])
  states.finish(2)
  expect(states.complete).toBe(true)
})

test('a stream that ended too early is a failure of the upstream, for which another is asked', () => {
  expect(unfinishedStream()).toMatchObject({ kind: 'upstream-broken', status: 502, retry: 'other-target' })
})
