/** Amazon Bedrock: the models of many vendors through Converse, embeddings through `invoke`. */
import type { Provider } from '../../core/provider.ts'
import { bedrockHead, regionalBaseUrl } from './address.ts'
import { bedrockAuthorization } from './authorization.ts'
import { countCall, countResult } from './count.ts'
import { embeddingsCall, embeddingsResult } from './embeddings.ts'
import { awsFault } from './fault.ts'
import { converseReader, converseResult } from './read.ts'
import { converseBody } from './request.ts'

/**
 * `bedrock/...`: no client dialect is served, so everything is translated. Calls carry the API key, or are signed with
 * AWS credentials where there is none.
 */
export const bedrock: Provider = {
  name: 'bedrock',
  defaultBaseUrl: regionalBaseUrl,
  apiKeyEnv: ['AWS_BEARER_TOKEN_BEDROCK'],
  ownNames: /^(?:[a-z-]{2,6}\.)?(?:ai21|amazon|anthropic|cohere|meta|mistral|stability)\.[a-z]/,
  // Without a key, calls are signed.
  keyless: true,
  speaks: {},
  chat: {
    framing: 'aws-event-stream',
    request: (request, target) => ({
      head: bedrockHead(target, request.stream ? 'converse-stream' : 'converse'),
      ...converseBody(request, target),
    }),
    result: converseResult,
    reader: converseReader,
  },
  embedsTextOnly: true,
  embeddings: { request: embeddingsCall, result: embeddingsResult },
  countTokens: { request: countCall, result: countResult },
  authorization: bedrockAuthorization,
  fault: (status, body) => awsFault(status, body),
}
