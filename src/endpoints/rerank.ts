import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import type { UnaryFormat } from '../core/format.ts'
import { cohereRerank, jinaRerank } from '../formats/rerank.ts'

const request = {
  type: 'object',
  required: ['model', 'query', 'documents'],
  properties: {
    model: { type: 'string' },
    query: { type: 'string' },
    documents: { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, { type: 'object' }] } },
    top_n: { type: 'integer', minimum: 1, description: 'How many of the best; all when left out.' },
    return_documents: { type: 'boolean', default: false },
    max_tokens_per_doc: { type: 'integer', minimum: 1 },
    rank_fields: { type: 'array', items: { type: 'string' }, description: 'The fields of documents that count.' },
  },
}
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
