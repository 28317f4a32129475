import { expect, test } from 'bun:test'
import { masterKeyProblem, mayUseModel, mintKey } from './key.ts'

const keyFor = (...models: string[]): readonly string[] => models

test('a key may use what its list names: names, patterns, the names and patterns of its groups, or everything', () => {
  const groups = { fast: ['tiny', 'quick/*'], constructor: ['odd'] }
  const cases: [string[], string, boolean][] = [
    [[], 'any', true],
    [['all-proxy-models'], 'any', true],
    [['a', 'b/*'], 'a', true],
    [['a', 'b/*'], 'b/c', true],
    [['a', 'b/*'], 'b/*', true],
    [['a', 'b/*'], 'b/', false],
    [['a', 'b/*'], 'c', false],
    [['fast'], 'fast', true],
    [['fast'], 'tiny', true],
    [['fast'], 'quick/one', true],
    [['fast'], 'quick/', false],
    [['other'], 'tiny', false],
    [['constructor'], 'odd', true],
    [['toString'], 'odd', false],
  ]
  for (const [models, model, may] of cases)
    expect([models, model, mayUseModel(keyFor(...models), model, groups)]).toEqual([models, model, may])
})

test('a key follows its groups when they are read anew', () => {
  const key = keyFor('fast')
  expect([
    mayUseModel(key, 'tiny', { fast: ['tiny'] }),
    mayUseModel(key, 'tiny', { fast: ['other'] }),
    mayUseModel(key, 'tiny', {}),
  ]).toEqual([true, false, false])
})

test('an alphabet, a row of keys and a repeated word are weak master keys; random ones are not', () => {
  for (const weak of [
    'abcdefghijklmnopqrstuvwxyz0123456789',
    'sk-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345',
    'zyxwvutsrqponmlkjihgfedcba9876543210',
    'qwertyuiopasdfghjklzxcvbnm1234567890',
    'aabbccddeeffgghhiijjkkllmmnnooppqq',
    'Kx7dQpL2mWKx7dQpL2mWKx7dQpL2mWKx7dQpL2mW',
  ])
    expect([weak, masterKeyProblem(weak)]).toEqual([weak, expect.stringContaining('is an alphabet')])
  const hexadecimal = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
  for (let round = 0; round < 2000; round++)
    for (const key of [mintKey(), hexadecimal()]) expect(masterKeyProblem(key) ?? '').not.toContain('is an alphabet')
})
