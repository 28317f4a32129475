/** `/openapi.json`, made from the registered endpoints, and `/docs`, which needs no network to show it. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { jsonAnswer } from '../core/answer.ts'
import type { Answer } from '../core/answer.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import { schemas } from './openapi-schemas.ts'

const errorAnswer = (description: string, schema: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
})

const callTags = ['Chat', 'Completions', 'Embeddings']

/** Gateway API specification, "Errors"; 401 and 422 are those of every operation. */
const callErrors: readonly (readonly [number, string])[] = [
  [400, 'BadRequestError, or ContentPolicyViolationError: the model or its provider refused the content'],
  [403, 'PermissionDeniedError: the model is not for this key'],
  [404, 'NotFoundError: there is no such model'],
  [408, 'Timeout: the upstream was too slow'],
  [429, 'RateLimitError: a limit was reached; wait for `retry-after` seconds'],
  [500, 'InternalServerError, or JSONSchemaValidationError: the answer does not fit the schema that was asked for'],
  [503, 'APIConnectionError, or ServiceUnavailableError: the upstream cannot be reached or is overloaded'],
]

/** The OpenAPI 3.1 document of these endpoints. */
export function openapiDocument(endpoints: readonly Endpoint[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const endpoint of endpoints)
    for (const path of endpoint.paths) {
      const shown = path.replaceAll('+}', '}')
      paths[shown] = { ...paths[shown], [endpoint.method.toLowerCase()]: operation(endpoint, shown) }
    }
  return {
    openapi: '3.1.0',
    info: { title: 'Modelgate', version, description: 'One API in front of many language models.' },
    components: {
      schemas,
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A virtual key or the master key.' } },
    },
    paths,
  }
}

function operation({ method, auth, doc }: Endpoint, path: string): object {
  const names = [...path.matchAll(/\{([^}]+)\}/g)].map(found => found[1]!)
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+/g, '_')}`,
    summary: doc.summary,
    tags: [doc.tag],
    ...(auth !== 'none' && { security: [{ key: [] }] }),
    parameters: [
      ...names.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...Object.entries(doc.query ?? {}).map(([name, parameter]) => ({
        name,
        in: 'query',
        required: parameter.required ?? false,
        description: parameter.description,
        schema: parameter.schema,
      })),
    ],
    ...(doc.request && {
      requestBody: {
        required: !doc.requestOptional,
        content: { [doc.requestType ?? 'application/json']: { schema: doc.request } },
      },
    }),
    responses: {
      200: {
        description: 'Success',
        content: { [doc.responseType ?? 'application/json']: { schema: doc.response ?? {} } },
      },
      ...(auth !== 'none' && { 401: errorAnswer('AuthenticationError: no valid key', 'Error') }),
      ...(doc.request && { 422: errorAnswer('UnprocessableEntityError: the body is not valid', 'ValidationError') }),
      ...(callTags.includes(doc.tag) &&
        doc.request &&
        Object.fromEntries(callErrors.map(([status, text]) => [status, errorAnswer(text, 'Error')]))),
      default: errorAnswer('Any other failure', 'Error'),
    },
  }
}

/** `/openapi.json` over all endpoints, these two included. */
export function openapiEndpoints(others: readonly Endpoint[]): Endpoint[] {
  const all: Endpoint[] = [...others]
  const document: Endpoint = {
    method: 'GET',
    paths: ['/openapi.json'],
    auth: 'none',
    doc: { summary: 'This document', tag: 'Docs', response: { type: 'object' } },
    handle: (_request, services) => jsonAnswer(openapiDocument(all, services.version)),
  }
  all.push(document, docsPage, docsAsset)
  return [document, docsPage, docsAsset]
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Modelgate API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`
const startScript = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#api', deepLinking: true, validatorUrl: null })\n`
const securityHeaders = {
  // Swagger UI sets inline styles and draws its icons from data: addresses; scripts only come from here.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

const docsPage: Endpoint = {
  method: 'GET',
  paths: ['/docs', '/'],
  auth: 'none',
  doc: { summary: 'This document, to read and try', tag: 'Docs', response: { type: 'string' } },
  handle(request): Answer {
    if (request.path === '/') return { status: 302, headers: { location: 'docs' }, body: null }
    // What the page links to stands beside it: under `/docs/` it would be looked for one floor too low.
    if (request.path.endsWith('/')) return { status: 302, headers: { location: '../docs' }, body: null }
    return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8', ...securityHeaders }, body: page }
  },
}

/** Only these names exist: nothing a client writes ever becomes a path of the file system. */
const assets: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
}

const docsAsset: Endpoint = {
  method: 'GET',
  paths: ['/docs/{asset}'],
  auth: 'none',
  doc: { summary: 'Parts of the documentation page', tag: 'Docs', response: { type: 'string' } },
  async handle(request): Promise<Answer> {
    const asset = request.params.asset!
    const headers = (type: string) => ({ 'content-type': type, 'cache-control': 'max-age=3600', ...securityHeaders })
    if (asset === 'start.js')
      return { status: 200, headers: headers('text/javascript; charset=utf-8'), body: startScript }
    const type = Object.hasOwn(assets, asset) ? assets[asset] : undefined
    if (!type) throw new GatewayError('not-found', 'the documentation has no such part')
    const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    return { status: 200, headers: headers(type), body: await Bun.file(join(folder, asset)).bytes() }
  },
}
