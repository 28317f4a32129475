import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import { bodySchema } from '../core/fields.ts'
import type { UnaryFormat } from '../core/format.ts'
import { cohereRerank, jinaRerank, rerankTable } from '../formats/rerank.ts'

const request = bodySchema(rerankTable.fields)
const result = { index: { type: 'integer' }, relevance_score: { type: 'number' }, document: { type: 'object' } }
const response = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    results: { type: 'array', items: { type: 'object', properties: result } },
    meta: { type: 'object' },
    usage: { type: 'object', description: 'Not in version 2.' },
  },
}
const doc: EndpointDoc = {
  summary: 'Order documents by how well they answer a query',
  tag: 'Reranking',
  request,
  response,
}

const rerankAt = (format: UnaryFormat<'rerank'>, route: string, paths: readonly string[]): Endpoint => ({
  method: 'POST',
  paths,
  auth: 'key',
  doc,
  errorBody: format.errorBody,
  handle: (http, services, caller) => services.callModel(http, caller!, { format, route }),
})

/** Jina's path and that of Cohere's version 1. */
export const rerank: Endpoint = rerankAt(jinaRerank, '/v1/rerank', ['/rerank', '/v1/rerank'])
/** Cohere's version 2. */
export const rerankTwo: Endpoint = rerankAt(cohereRerank, '/v2/rerank', ['/v2/rerank'])
