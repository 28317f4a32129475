import { expect, test } from 'bun:test'
import { PathTable } from './path-table.ts'

const table = new PathTable<string>()
table.add('/v1/models', 'list')
table.add('/v1/models/{id+}', 'one')
table.add('/engines/{model+}/chat/completions', 'chat')
table.add('/docs/{asset}', 'asset')
table.add('/v1beta/models/{model+}:count', 'count')
table.add('/v1beta/models/{model+}', 'other')

test.each([
  ['/v1/models', 'list', {}],
  ['/v1/models/', 'list', {}],
  ['/v1/models/gpt', 'one', { id: 'gpt' }],
  ['/v1/models/org/name', 'one', { id: 'org/name' }],
  ['/v1/models/org%2Fname', 'one', { id: 'org/name' }],
  ['/engines/a/b/c/chat/completions', 'chat', { model: 'a/b/c' }],
  ['/docs/x.js', 'asset', { asset: 'x.js' }],
  ['/v1beta/models/m:count', 'count', { model: 'm' }],
  ['/v1beta/models/org/m:free:count/', 'count', { model: 'org/m:free' }],
  ['/v1beta/models/org%2Fm%3Afree:count', 'count', { model: 'org/m:free' }],
  ['/v1beta/models/m:counts', 'other', { model: 'm:counts' }],
  ['/v1beta/models/:count', 'other', { model: ':count' }],
  ['/v1beta/models/m:count/x', 'other', { model: 'm:count/x' }],
])('%s is found', (path, value, params) => {
  expect(table.find(path)).toEqual({ value, params })
})

test.each([
  '/',
  '/v1',
  '/docs',
  '/docs/a/b',
  '/engines/chat/completions',
  '/v1/models/%ZZ',
  '/V1/models',
  '/engines//chat/completions',
  '/engines/a//chat/completions',
  '/v1/models//x',
])('%s is not', path => {
  expect(table.find(path)).toBeUndefined()
})
