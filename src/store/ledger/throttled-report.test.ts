import { expect, test } from 'bun:test'
import { ThrottledReport } from './throttled-report.ts'

function rig() {
  const reported: string[] = []
  const time = { ms: 5 }
  const report = new ThrottledReport({
    failing: 'it fails',
    recovered: 'it works',
    report: problem => reported.push(problem),
    nowMs: () => time.ms,
  })
  return { reported, time, report }
}

test('ten minutes of failures twenty times a second are eleven lines and an end', () => {
  const { reported, time, report } = rig()
  for (let at = 0; at <= 10 * 60 * 20; at++, time.ms += 50) report.failed(new Error('no disk'))
  report.succeeded()
  report.succeeded()
  expect(reported[0]).toBe('it fails: Error: no disk')
  expect(reported[1]).toBe('it fails: Error: no disk (1200 times)')
  expect(reported).toHaveLength(12)
  expect(reported.at(-1)).toBe('it works (failed 12001 times)')
})

test('what comes and goes all the time does not flood the log either, and a later one is reported', () => {
  const { reported, time, report } = rig()
  for (let at = 0; at < 1000; at++, time.ms += 50) {
    report.failed('flaky')
    report.succeeded()
  }
  expect(reported).toEqual(['it fails: flaky', 'it works'])
  time.ms += 60_000
  report.failed('again')
  expect(reported.at(-1)).toStartWith('it fails: again')
})

test('without a failure nothing is reported', () => {
  const { reported, report } = rig()
  report.succeeded()
  expect(reported).toEqual([])
})
