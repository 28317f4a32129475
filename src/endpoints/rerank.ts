import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import type { UnaryFormat } from '../core/format.ts'
import { cohereRerank, jinaRerank } from '../formats/rerank.ts'
import { json } from './openapi/schema.ts'

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
const doc: Omit<EndpointDoc, 'operationId'> = {
  summary: 'Order documents by how well they answer a query',
  tag: 'Reranking',
  request,
  success: json('RerankResults'),
  callsModel: true,
}

interface Version {
  readonly operationId: string
  /** Canonical path for metrics and the ledger. */
  readonly route: string
  readonly paths: readonly string[]
}

const rerankAt = (format: UnaryFormat<'rerank'>, { operationId, route, paths }: Version): Endpoint => ({
  method: 'POST',
  paths,
  auth: 'key',
  doc: { operationId, ...doc },
  errorBody: format.errorBody,
  handle: (http, services, caller) => services.callModel(http, caller!, { format, route }),
})

/** Jina's path and that of Cohere's version 1. */
export const rerank: Endpoint = rerankAt(jinaRerank, {
  operationId: 'createRerank',
  route: '/v1/rerank',
  paths: ['/rerank', '/v1/rerank'],
})
/** Cohere's version 2. */
export const rerankTwo: Endpoint = rerankAt(cohereRerank, {
  operationId: 'createRerankV2',
  route: '/v2/rerank',
  paths: ['/v2/rerank'],
})
