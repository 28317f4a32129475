import { expect, test } from 'bun:test'
import type { VirtualKey } from '../core/caller.ts'
import { mayUseModel } from './key.ts'

const keyFor = (...models: string[]): VirtualKey => ({ id: 'k', models }) as unknown as VirtualKey

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
