import { expect, test } from 'bun:test'
import { newUserCode, readUserCode } from './user-code.ts'

test('codes have eight consonants, and no two of a thousand are the same', () => {
  const codes = Array.from({ length: 1000 }, newUserCode)
  for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(new Set(codes).size).toBe(1000)
})

test('a code is read however it is typed, and nothing else is one', () => {
  for (const typed of ['WDJB-MJHT', 'wdjbmjht', ' wdjb mjht ', 'W-D-J-B-M-J-H-T'])
    expect(readUserCode(typed)).toBe('WDJB-MJHT')
  for (const typed of ['', 'WDJB-MJH', 'WDJB-MJHTX', 'ADJB-MJHT', 'WDJB-MJH1', 'ＷDJB-MJHT'])
    expect(readUserCode(typed)).toBeUndefined()
})
