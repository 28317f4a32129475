/** The ids of deployments: the same while a place is the same, however it is reached and used. */
import { expect, test } from 'bun:test'
import { ModelIndex } from '../accounts/model-index.ts'
import { deploymentKnownAs } from '../core/deployment.ts'
import type { Deployment } from '../core/deployment.ts'
import { providers } from '../providers/index.ts'
import { concreteModel } from './model-facts.ts'
import { readSettings } from './settings.ts'

const entry = (params: string, more = '') => `  - { model_name: m, proxy_params: { ${params} }${more} }\n`
const plain = 'model: openai/gpt-4o, api_key: k'
const azure = 'model: azure/gpt, api_key: k, api_base: "https://a.openai.azure.com"'

function read(...entries: string[]) {
  const reading = readSettings({ text: `model_list:\n${entries.join('')}`, file: 'c.yaml', environment: {}, providers })
  return { ...reading, deployments: reading.settings?.deployments.filter(one => one.modelName === 'm') ?? [] }
}
const only = (params: string, more?: string): Deployment => read(entry(params, more)).deployments[0]!
const ids = (...entries: string[]) => read(...entries).deployments.map(one => one.id)

test('how a place is reached and used is no part of the id: it is what it was for an entry that says the place alone', () => {
  expect(only(plain)).toMatchObject({ id: 'ff268d659b5ba73f32acf272cef17c95' })
  for (const more of [
    'proxy: false', 'proxy: "http://own:2"', 'proxy: "http://a:b@own:2"', 'timeout: 5', 'stream_timeout: 5', 'connect_timeout: 5', 'idle_timeout: 5',
    'total_timeout: 5', 'weight: 2', 'order: 1', 'drop_params: false', 'max_tokens: 9', 'input_cost_per_token: 0.1', 'extra_headers: { x-a: b }',
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
    plain, plain.replace('4o', '5'), `${plain}, api_base: "https://x.example"`, `${plain}, organization: o`, `${plain}, project: p`,
    vertex, `${vertex}, vertex_project: p-1, vertex_location: global`, `${vertex}, vertex_project: p-1, vertex_location: us-central1`,
    `${bedrock}, aws_region_name: us-east-1`, `${bedrock}, aws_region_name: us-west-2`, azure,
  ].flatMap(params => read(entry(params)).deployments.map(one => one.id))
  expect(found.length).toBeGreaterThan(8)
  expect(new Set(found).size).toBe(found.length)
})

test('an id that an entry had while it depended on all settings still finds it', () => {
  const before = { timeout: '3a2a9c6f8db9c41ac3d2db88eeb22c29', proxy: 'f51926bf10608c8543cc897b8d7bfd1e' }
  const [timed, proxied] = [only(`${plain}, timeout: 5`), only(`${plain}, proxy: "http://a:b@own:2"`)]
  expect([timed.formerIds, proxied.formerIds]).toEqual([[before.timeout], [before.proxy]])
  expect(deploymentKnownAs([proxied, timed], before.timeout)).toBe(timed)
  expect(deploymentKnownAs([proxied], before.timeout)).toBeUndefined()
  expect(only(plain).formerIds).toBeUndefined()
  const { settings } = read(entry(`${plain}, timeout: 5`))
  const index = new ModelIndex(settings!, concreteModel)
  expect(index.resolve(before.timeout).map(one => one.modelName)).toEqual(['m'])
  expect(index.resolve(index.resolve('m')[0]!.id)).toEqual(index.resolve('m'))
})

test('entries of one place are told apart by their settings, as ever; the first keeps what was stored when it was alone', () => {
  const [alone] = ids(entry(plain))
  const [timed, heavy] = read(entry(`${plain}, timeout: 5`), entry(`${plain}, weight: 2`)).deployments
  expect([timed!.id, heavy!.id]).toEqual([only(`${plain}, timeout: 5`).formerIds![0]!, only(`${plain}, weight: 2`).formerIds![0]!])
  expect(deploymentKnownAs([heavy!, timed!], alone!)).toBe(timed!)
  // An entry that says the place alone has its id, wherever it stands.
  const mixed = read(entry(`${plain}, weight: 2`), entry(plain)).deployments
  expect([mixed[0]!.id, mixed[1]!.id]).toEqual([heavy!.id, alone!])
  expect(deploymentKnownAs(mixed, alone!)).toBe(mixed[1]!)
})

test('entries that nothing tells apart are a mistake, and a given id is the id', () => {
  const [first, second] = [entry(`${plain}, weight: 2`), entry(`${plain.replace(': k', ': other')}, weight: 2`)]
  expect(read(first, second).mistakes).toEqual([expect.stringContaining('model_list.1: is the same as')])
  const given = read(first, entry(`${plain}, weight: 2`, ', model_info: { id: two }')).deployments
  expect(given.map(one => one.id)).toEqual([only(plain).id, 'two'])
  expect(given[1]!.formerIds).toBeUndefined()
})
