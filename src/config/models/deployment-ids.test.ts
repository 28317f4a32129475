/** Deployment ids stay the same while account and model stay the same. */
import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'

const entry = (params: string, more = '') => `  - { model_name: m, proxy_params: { ${params} }${more} }\n`
const plain = 'model: openai/gpt-4o, api_key: k'
const azure = 'model: azure/gpt, api_key: k, api_base: "https://a.openai.azure.com"'

function read(...entries: string[]) {
  const reading = readSettings({ text: `model_list:\n${entries.join('')}`, file: 'c.yaml', environment: {}, providers })
  return { ...reading, deployments: reading.settings?.deployments.filter(one => one.modelName === 'm') ?? [] }
}
const only = (params: string, more?: string): Deployment => read(entry(params, more)).deployments[0]!
const ids = (...entries: string[]) => read(...entries).deployments.map(one => one.id)

test('settings that do not identify the account or model do not change the id', () => {
  // Stored files and the ledger refer to it: changing the algorithm needs a migration.
  expect(only(plain).id).toBe('c1494399dab00e31ccac0a407c2f9aef')
  for (const more of [
    'proxy: false',
    'proxy: "http://own:2"',
    'proxy: "http://a:b@own:2"',
    'timeout: 5',
    'stream_timeout: 5',
    'connect_timeout: 5',
    'idle_timeout: 5',
    'total_timeout: 5',
    'weight: 2',
    'order: 1',
    'drop_params: false',
    'max_tokens: 9',
    'input_cost_per_token: 0.1',
    'extra_headers: { x-a: b }',
  ])
    expect(only(`${plain}, ${more}`).id, more).toBe(only(plain).id)
  expect(only(plain.replace('api_key: k', 'api_key: other')).id).toBe(only(plain).id)
  expect(only(`${azure.slice(0, -1)}?api-version=2025-01-01"`).id).toBe(only(azure).id)
  expect(only(`${azure}, api_version: "2025-01-01"`).id).toBe(only(azure).id)
})

test('another model, address, region or account is another deployment', () => {
  const vertex = 'model: vertex_ai/gemini-2.5-pro, api_key: k'
  const bedrock = 'model: bedrock/a.b, api_key: k'
  const found = [
    plain,
    plain.replace('4o', '5'),
    `${plain}, api_base: "https://x.example"`,
    `${plain}, organization: o`,
    `${plain}, project: p`,
    vertex,
    `${vertex}, vertex_project: p-1, vertex_location: global`,
    `${vertex}, vertex_project: p-1, vertex_location: us-central1`,
    `${bedrock}, aws_region_name: us-east-1`,
    `${bedrock}, aws_region_name: us-west-2`,
    azure,
  ].flatMap(params => read(entry(params)).deployments.map(one => one.id))
  expect(found.length).toBeGreaterThan(8)
  expect(new Set(found).size).toBe(found.length)
})

test(
  'of the entries of one place the first has its id, alone or not; the others are distinguished by their ' + 'settings',
  () => {
    const [alone] = ids(entry(`${plain}, timeout: 5`))
    const [first, second, third] = ids(entry(`${plain}, timeout: 5`), entry(plain), entry(`${plain}, weight: 2`))
    expect(first).toBe(alone!)
    expect(new Set([first, second, third]).size).toBe(3)
    // Removing an entry does not change the ids before it, and a rotated key changes none.
    expect(ids(entry(`${plain}, timeout: 6`), entry(plain.replace(': k', ': other')))).toEqual([first!, second!])
  },
)

test('identical entries are a mistake; a configured id is used unchanged', () => {
  const [first, second] = [entry(`${plain}, weight: 2`), entry(`weight: 2, ${plain}`)]
  expect(read(first, second).mistakes).toEqual([expect.stringContaining('model_list.1: is the same as')])
  const given = read(first, entry(`${plain}, weight: 2`, ', model_info: { id: two }')).deployments
  expect(given.map(one => one.id)).toEqual([only(plain).id, 'two'])
})

test('a pool of keys: entries that differ in their key alone have ids of their own, in the order of the list', () => {
  const pool = ['a', 'b', 'c'].map(key => entry(plain.replace('api_key: k', `api_key: ${key}`)))
  const found = ids(...pool)
  expect(read(...pool).mistakes).toEqual([])
  expect(new Set(found).size).toBe(3)
  expect(found[0]).toBe(only(plain).id)
  // They follow the place in the list, and not the key: a key may change.
  expect(ids(...pool.toReversed())).toEqual(found)
  const weighted = pool.map(one => one.replace('model:', 'weight: 2, model:'))
  expect(new Set(ids(...pool, ...weighted)).size).toBe(6)
  expect(read(...pool, pool[1]!).mistakes).toEqual([expect.stringContaining('is the same as c.yaml:3; keep one')])
})
