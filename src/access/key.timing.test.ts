import { expect, test } from 'bun:test'
import { mayUseModel } from './key.ts'

const keyFor = (...models: string[]): readonly string[] => models

test('a long list of models costs little for each model that is looked up, on a key and in a group', () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `vendor-${at % 97}/model-${at}`)
  const groups = { group: names }
  for (const key of [keyFor(...names), keyFor('group')]) {
    const started = performance.now()
    expect(names.filter(name => mayUseModel(key, name, groups))).toHaveLength(names.length)
    expect(performance.now() - started).toBeLessThan(250)
  }
})
