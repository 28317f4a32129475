import { expect, test } from 'bun:test'
import { TimerWheel } from '../lib/timer-wheel.ts'
import { AuthFailureLog } from './auth-failures.ts'

test('refused keys are logged at once, and then together every ten seconds', () => {
  const lines: unknown[] = []
  const timers = new TimerWheel({ monotonicMs: () => 0, epochMs: () => 0 })
  const log = new AuthFailureLog(timers, { warn: (message, fields) => void lines.push([message, fields]) })
  const failure = { reason: 'unknown', clientAddress: '10.0.0.9', keyId: undefined } as const
  log.add(failure)
  for (let at = 0; at < 999; at++) log.add(failure)
  log.add({ reason: 'expired', clientAddress: '10.0.0.8', keyId: 'k-1' })
  const first = ['a request was refused for its API key', { reason: 'unknown', client: '10.0.0.9', key: undefined }]
  expect(lines).toEqual([first])
  log.expired()
  expect(lines.slice(1)).toEqual([
    [
      'further requests were refused for their API keys; the last of them',
      { refused: 1000, reason: 'expired', client: '10.0.0.8', key: 'k-1' },
    ],
  ])
  // A window without any closes; the next one is told at once again.
  log.expired()
  log.add(failure)
  expect(lines.slice(2)).toEqual([first])
  timers.cancel(log)
})
