import { expect, test } from 'bun:test'
import { GatewayError } from '../errors.ts'
import { replacedIds, replacedIdsIn, withLocalIds } from './local-ids.ts'

const ids = new Map([
  ['file-1', 'mine-1'],
  ['file-12', 'mine-12'],
  ['abcde', 'mine-x'],
])

test('ids are replaced in texts, the longest first; one of less than six characters only where it is the whole text', () => {
  expect(replacedIds('no file-12 and file-1.', ids)).toBe('no mine-12 and mine-1.')
  expect(replacedIds('abcde', ids)).toBe('mine-x')
  expect(replacedIds('in abcde', ids)).toBe('in abcde')
  expect(replacedIds('nothing', ids)).toBe('nothing')
})

test('ids are replaced in all texts of a value', () => {
  expect(replacedIdsIn({ a: ['file-1', 5, null, true], b: { c: 'x file-1' } }, ids)).toEqual({
    a: ['mine-1', 5, null, true],
    b: { c: 'x mine-1' },
  })
})

test('an error has its ids replaced and all else as it was', () => {
  const error = new GatewayError('upstream-refused', 'no file-1', {
    code: 'x',
    status: 422,
    retryAfterMs: 5,
    param: 'n',
  })
  const { kind, message, code, status, retryAfterMs, param } = withLocalIds(error, ids)
  expect({ kind, message, code, status, retryAfterMs, param }).toEqual({
    kind: 'upstream-refused',
    message: 'no mine-1',
    code: 'x',
    status: 422,
    retryAfterMs: 5,
    param: 'n',
  })
  const other = new GatewayError('upstream-failed', 'nothing')
  expect(withLocalIds(other, ids)).toBe(other)
  expect(withLocalIds(new GatewayError('upstream-failed', 'file-1'), ids).param).toBeNull()
})
