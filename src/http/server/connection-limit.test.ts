import { expect, test } from 'bun:test'
import { connectionLimit } from './connection-limit.ts'

test('what is left for clients leaves their upstreams as much, and the rest of the gateway its own', () => {
  expect(connectionLimit(undefined, 128)).toBe(25)
  expect(connectionLimit('', 1024)).toBe(384)
  expect(connectionLimit(undefined, undefined)).toBe(384)
  expect(connectionLimit(undefined, 20_000)).toBe(7974)
  // More is no good, less is no service.
  expect(connectionLimit(undefined, 1_048_576)).toBe(20_000)
  expect(connectionLimit(undefined, Infinity)).toBe(20_000)
  expect(connectionLimit(undefined, 64)).toBe(8)
})

test('a setting is followed as far as it can be', () => {
  expect(connectionLimit('5', 1024)).toBe(5)
  expect(connectionLimit('480', 1024)).toBe(480)
  expect(connectionLimit('50000', undefined)).toBe(50_000)
  expect(() => connectionLimit('481', 1024)).toThrow(
    'MODELGATE_MAX_CONNECTIONS is 481, which needs 1026 open files (each client has an upstream), ' +
      'and this process may open 1024; ' +
      'raise that limit (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker) or lower the variable',
  )
  for (const bad of ['0', '-1', '1e3', 'many', '1.5', ' 5', '99999999'])
    expect(() => connectionLimit(bad, 1024)).toThrow(
      `MODELGATE_MAX_CONNECTIONS must be a whole number of connections from 1 to 9999999; got '${bad}'`,
    )
})
