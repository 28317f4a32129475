/** Which passwords are taken. */
import { expect, test } from 'bun:test'
import { normalPassword, passwordProblem } from './password-strength.ts'

const names = ['ada-1815', 'ada.lovelace@example.com', 'Ada Lovelace']
const problem = (password: string) => passwordProblem(password, names)

test('what attackers try first is refused, in every case and spelling', () => {
  for (const password of [
    'password1234',
    'Password1234!',
    'P@ssw0rd2026!',
    'passwordpassword',
    'qwertyuiop123',
    'poiuytrewq99',
    '1qaz2wsx3edc',
    'abcdefghijkl',
    '987654321000',
    'aaaaaaaaaaaa',
    'abababababab',
    'hunter2hunter2',
    'Summer2026!!',
    'Willkommen2026',
    'letmeinletmein1',
    'modelgate-2026',
    'Lovelace1815!',
    'ada.lovelace12',
    '\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff441234',
  ])
    expect([password, problem(password)]).toEqual([password, expect.stringContaining('tried first')])
})

test('others are taken: several words, random signs, any script', () => {
  for (const password of [
    'correct horse battery',
    'a password nobody guesses',
    'xK9#mQ2$vL7!',
    'tin-cactus-orbit-lamp',
    '\u043a\u043e\u0440\u043e\u0432\u0430 \u043f\u043e\u0434 \u043b\u0443\u043d\u043e\u0439',
    'gr\u00fcne \u00c4pfel am Fluss',
  ])
    expect([password, problem(password)]).toEqual([password, undefined])
})

test('the bounds of the length, and the names of the user', () => {
  expect(problem('xK9#mQ2$vL7')).toContain('12 to 256 characters')
  expect(problem('xK9#mQ2$vL7!'.repeat(22))).toContain('12 to 256 characters')
  expect(problem('ADA.lovelace@example.com')).toContain('name or address')
})

test('one password in two spellings of Unicode is one', () => {
  expect(normalPassword('A\u0308pfel')).toBe(normalPassword('\u00c4pfel'))
})
