/**
 * What is loaded late: all of it can be loaded, and the table finds the same endpoint in the order that it is asked in.
 */
import { expect, test } from 'bun:test'
import { PathTable } from '../../lib/path-table.ts'
import { EndpointTable } from '../endpoint-table.ts'
import { allEndpoints, publicPaths } from '../index.ts'

const { endpoints: firstEndpoints, lazyGroups } = publicPaths
const loaded = await Promise.all(lazyGroups.map(async ({ segments, load }) => ({ segments, endpoints: await load() })))
const all = await allEndpoints()
/** A request's path for a pattern. */
const pathOf = (pattern: string) => pattern.replaceAll(/\{[^}]*\}/g, 'x')

test('every path of a lazy group has one of its segments, and every segment is the first of a path', () => {
  for (const { segments, endpoints } of loaded) {
    const paths = endpoints.flatMap(endpoint => endpoint.paths)
    const isNamed = (part: string) => !['', 'v1', 'v2', 'openai'].includes(part) && !part.startsWith('{')
    const parts = paths.map(path => path.split('/').filter(isNamed))
    expect([...new Set(parts.map(([first]) => first!))].toSorted()).toEqual(segments.toSorted())
  }
})

test('no path is found in two places: what is loaded later takes no request from what was there before', () => {
  const places = [firstEndpoints, ...loaded.map(({ endpoints }) => endpoints)]
  const tables = places.map(endpoints => {
    const table = new PathTable<string>()
    for (const path of endpoints.flatMap(one => one.paths)) table.add(path, path)
    return table
  })
  for (const path of new Set(all.flatMap(endpoint => endpoint.paths)))
    expect([path, tables.filter(table => table.find(pathOf(path)) !== undefined).length]).toEqual([path, 1])
})

test('an endpoint of a lazy group is found once that is loaded, and what is not there loads a group once at most', async () => {
  for (const endpoint of loaded.flatMap(group => group.endpoints))
    for (const path of endpoint.paths) {
      const table = new EndpointTable(firstEndpoints, lazyGroups)
      expect(table.find(pathOf(path))).toBeUndefined()
      await table.loadFor(pathOf(path))
      expect(table.find(pathOf(path))!.value.get(endpoint.method)?.doc.operationId).toBe(endpoint.doc.operationId)
      expect(table.loadFor(pathOf(path))).toBeUndefined()
    }
})

test('a path of calls and one that has no word of a lazy group load nothing', () => {
  const table = new EndpointTable(firstEndpoints, lazyGroups)
  for (const path of ['/favicon.ico', '/', '/v1/no/such', '/.env']) expect(table.loadFor(path)).toBeUndefined()
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1beta/models/m:generateContent'])
    expect(table.find(path)).toBeDefined()
})

test('a lazy group whose module could not be loaded is loaded by the next request', async () => {
  let tries = 0
  const group = {
    segments: ['late'],
    load: () => (++tries === 1 ? Promise.reject(new Error('the disk is away')) : Promise.resolve([])),
  }
  const table = new EndpointTable(firstEndpoints, [group])
  const both = await Promise.allSettled([table.loadFor('/late'), table.loadFor('/late/path')])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(tries).toBe(1)
  await table.loadFor('/late')
  expect(tries).toBe(2)
  expect(table.loadFor('/late')).toBeUndefined()
})
