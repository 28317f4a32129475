import { expect, test } from 'bun:test'
import { Trouble } from './throttled-report.ts'

function rig() {
  const told: string[] = []
  const time = { ms: 5 }
  const trouble = new Trouble({
    begins: 'it fails',
    ends: 'it works',
    report: problem => told.push(problem),
    nowMs: () => time.ms,
  })
  return { told, time, trouble }
}

test('ten minutes of trouble twenty times a second are eleven lines and an end', () => {
  const { told, time, trouble } = rig()
  for (let at = 0; at <= 10 * 60 * 20; at++, time.ms += 50) trouble.met(new Error('no disk'))
  trouble.over()
  trouble.over()
  expect(told[0]).toBe('it fails: Error: no disk')
  expect(told[1]).toBe('it fails: Error: no disk (1200 times)')
  expect(told).toHaveLength(12)
  expect(told.at(-1)).toBe('it works')
})

test('what comes and goes all the time does not flood the log either, and a later one is told', () => {
  const { told, time, trouble } = rig()
  for (let at = 0; at < 1000; at++, time.ms += 50) {
    trouble.met('flaky')
    trouble.over()
  }
  expect(told).toEqual(['it fails: flaky', 'it works'])
  time.ms += 60_000
  trouble.met('again')
  expect(told.at(-1)).toStartWith('it fails: again')
})

test('without trouble nothing is told', () => {
  const { told, trouble } = rig()
  trouble.over()
  expect(told).toEqual([])
})
