/** The filter of the page `/docs`, as its own script gives it to Swagger UI. */
import { expect, test } from 'bun:test'
import { openapiEndpoints } from './openapi.ts'
import type { Endpoint } from '../core/endpoint.ts'

/** As much of Immutable's maps and lists as the script uses. */
class Values extends Map<string, unknown> {
  getIn(path: readonly string[], otherwise: unknown): unknown {
    const [name, ...rest] = path
    const value = this.get(name!)
    return rest.length > 0 && value instanceof Values ? value.getIn(rest, otherwise) : (value ?? otherwise)
  }
  update(name: string, change: (value: unknown) => unknown): Values {
    return new Values([...this, [name, change(this.get(name))]])
  }
  map(change: (value: Values, name: string) => Values): Values {
    return new Values([...this].map(([name, value]) => [name, change(value as Values, name)]))
  }
  filter(isKept: (value: Values) => boolean): Values {
    return new Values([...this].filter(([, value]) => isKept(value as Values)))
  }
}
class List extends Array<Values> {
  get size(): number {
    return this.length
  }
}

interface Bundle {
  readonly filter: boolean
  readonly plugins: readonly ((system: object) => { fn: { opsFilter(tagged: Values, phrase: string): Values } })[]
}

test('operations are found by words of their path, method, group and summary', async () => {
  const [, , asset] = openapiEndpoints(async () => []) as [Endpoint, Endpoint, Endpoint]
  const request = { params: { asset: 'start.js' }, headers: new Headers(), path: '/docs/start.js' }
  const answer = (await asset.handle(request as never, {} as never, undefined as never)) as { body: Uint8Array }
  let given: Bundle | undefined
  // The script that the page loads, in a function of its own.
  new Function('SwaggerUIBundle', new TextDecoder().decode(answer.body))((bundle: Bundle) => (given = bundle))
  const operation = (method: string, path: string, summary: string) =>
    new Values([
      ['method', method],
      ['path', path],
      ['operation', new Values([['summary', summary]])],
    ])
  const tagged = new Values([
    [
      'Keys',
      new Values([
        ['operations', List.of(operation('post', '/key/generate', 'Create a key'), operation('get', '/key/list', ''))],
      ]),
    ],
    ['Teams', new Values([['operations', List.of(operation('post', '/team/new', 'Make a team'))]])],
  ])
  const found = (phrase: string) =>
    [...given!.plugins[0]!({}).fn.opsFilter(tagged, phrase)].flatMap(([tag, value]) =>
      ((value as Values).get('operations') as List).map(one => `${tag} ${String(one.get('path'))}`),
    )
  expect(given!.filter).toBe(true)
  expect(found('GENERATE')).toEqual(['Keys /key/generate'])
  expect(found('post  e')).toEqual(['Keys /key/generate', 'Teams /team/new'])
  expect(found('keys list')).toEqual(['Keys /key/list'])
  expect(found('make team')).toEqual(['Teams /team/new'])
  expect(found('nothing like it')).toEqual([])
})
