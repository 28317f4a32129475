import type { Endpoint, EndpointDoc } from '../../core/endpoint.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import type { UnaryFormat } from '../../core/format.ts'
import { cohereRerank, jinaRerank, rerankTable } from '../../formats/rerank.ts'

const answers = () => import('./answers/vectors.ts')

const doc: Omit<EndpointDoc, 'operationId'> = {
  summary: 'Order documents by how well they answer a query',
  tag: 'Reranking',
  request: () => bodySchema(rerankTable.fields),
  success: async () => (await answers()).rerankSuccess,
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
