import type { Endpoint } from '../../core/endpoint.ts'
import { answerFixed, fixedContent } from '../openapi/fixed-content.ts'
import type { FixedContent } from '../openapi/fixed-content.ts'
import { json, listOf, named, shape, text } from '../openapi/schema.ts'

const routeListSchema = named('RouteList', () =>
  shape({
    routes: listOf(shape({ path: text, methods: listOf(text), name: text, endpoint: text })),
  }),
)

/** GET /routes: every path of the endpoints, which are asked for at the first request. */
export function routesEndpoint(endpoints: () => Promise<readonly Endpoint[]>): Endpoint {
  /** Made at the first request. */
  let content: Promise<FixedContent> | undefined
  return {
    method: 'GET',
    paths: ['/routes'],
    auth: 'none',
    doc: {
      operationId: 'listRoutes',
      summary: 'Every path of this gateway',
      tag: 'Docs',
      success: json(routeListSchema),
      headers: ['etag'],
    },
    async handle(request) {
      // The promise is kept, so that a crowd that asks meanwhile waits for the same one.
      content ??= endpoints().then(contentOf)
      return answerFixed(request, await content)
    },
  }
}

const routesOf = (endpoints: readonly Endpoint[]) =>
  endpoints.flatMap(({ method, paths, doc }) =>
    paths.map(path => ({
      path: path.replaceAll('+}', '}'),
      methods: method === 'GET' ? ['GET', 'HEAD'] : [method],
      name: doc.operationId,
      endpoint: doc.operationId,
    })),
  )

const contentOf = (endpoints: readonly Endpoint[]): FixedContent =>
  fixedContent(Buffer.from(JSON.stringify({ routes: routesOf(endpoints) })), {
    'content-type': 'application/json',
    'cache-control': 'no-cache',
  })
