import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { embeddingsTable, openaiEmbeddings } from '../../formats/openai/embeddings.ts'
import { named } from '../openapi/schema.ts'

/** OpenAI API reference, "Create embeddings". No field of the body chooses host or key. */
export const embeddings: Endpoint = {
  method: 'POST',
  paths: [
    '/embeddings',
    '/v1/embeddings',
    '/openai/v1/embeddings',
    '/compat/deployments/{model+}/embeddings',
    '/openai/deployments/{model+}/embeddings',
    '/engines/{model+}/embeddings',
    '/v1/engines/{model+}/embeddings',
  ],
  auth: 'key',
  doc: {
    operationId: 'createEmbeddings',
    summary: 'Create embeddings',
    tag: 'Embeddings',
    request: named('EmbeddingsRequest', () => bodySchema(embeddingsTable.fields)),
    success: async () => (await import('./answers/vectors.ts')).embeddingsSuccess,
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiEmbeddings,
      route: '/v1/embeddings',
      model: request.params.model,
    }),
}
