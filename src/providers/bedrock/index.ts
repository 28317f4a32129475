/** Amazon Bedrock: the models of many vendors through Converse, embeddings through `invoke`. */
import { headOf } from '../../core/target-cache.ts'
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { bedrockHead, regionalBaseUrl } from './address.ts'
import { authorizeBedrock } from './authorization.ts'
import { countCall, countResult } from './count.ts'
import { embeddingInputsMax, embeddingsCall, embeddingsResult } from './embeddings.ts'
import { bedrockModel } from './model.ts'
import { converseReader, converseResult } from './read.ts'
import { converseBody } from './request.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

const converseHead = (target: Target, stream: boolean): CallHead =>
  bedrockHead(target, stream ? 'converse-stream' : 'converse')

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
  takesFormatBesideTools: ({ model }) => bedrockModel(model).jsonSchema,
  chat: {
    framing: 'aws-event-stream',
    request: (request, target) => ({
      head: headOf(target, converseHead, request.stream),
      ...converseBody(request, target),
    }),
    argumentNames: argumentNames.messages,
    result: converseResult,
    reader: converseReader,
  },
  embedsTextOnly: true,
  embeddings: { request: embeddingsCall, result: embeddingsResult, inputsMax: embeddingInputsMax },
  countTokens: { request: countCall, result: countResult },
  authorize: authorizeBedrock,
}
