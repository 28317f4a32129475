/**
 * Azure AI Foundry: models of other vendors in OpenAI's dialect
 * (learn.microsoft.com, "Azure AI Model Inference REST API").
 */
import { noFieldRules } from '../../core/dialects/field-rules.ts'
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { embeddingsAdapter } from '../openai-compatible/embeddings.ts'
import { contentHeaders, dialectPaths } from '../openai-compatible/head.ts'
import type { CompatibleDialect } from '../openai-compatible/head.ts'
import { chatAdapter } from '../openai-compatible/index.ts'
import { chatByResponses } from '../openai-compatible/responses/index.ts'
import { keyHeaders } from './address.ts'
import { authorizeAzure } from './entra.ts'

const defaultVersion = '2024-05-01-preview'

/**
 * A resource (`https://name.services.ai.azure.com`) serves its models under `/models`, or under `/openai/v1` where
 * `api_base` ends so; Responses are only there. Any other URL is an endpoint of one model, with a bearer token and
 * without a version.
 */
function foundryHead(target: Target, dialect: CompatibleDialect): CallHead {
  const { baseUrl } = target
  const isV1 = baseUrl.endsWith('/openai/v1')
  const isResource =
    /\.services\.ai\.azure\.(com|us|cn)$/.test(new URL(baseUrl).hostname) || baseUrl.endsWith('/models')
  const headers = { ...contentHeaders(dialect), ...(isV1 || isResource ? keyHeaders(target) : bearerHeaders(target)) }
  if (dialect === 'openai-responses' && isResource && !isV1)
    return {
      url: `${baseUrl.replace(/\/models$/, '')}/openai/v1/responses`,
      headers: { ...headers, ...target.headers },
    }
  if (isV1 || !isResource)
    return { url: `${baseUrl}${dialectPaths[dialect]}`, headers: { ...headers, ...target.headers } }
  const { api_version: given } = target.options
  const version = encodeURIComponent(typeof given === 'string' ? given : defaultVersion)
  return {
    url: `${baseUrl.replace(/\/models$/, '')}/models${dialectPaths[dialect]}?api-version=${version}`,
    // Otherwise the service refuses fields that it does not know itself but the model may.
    headers: { ...headers, 'extra-parameters': 'pass-through', ...target.headers },
  }
}

function bearerHeaders(target: Target): Record<string, string> {
  const { 'api-key': key, ...token } = keyHeaders(target)
  return key === undefined ? token : { authorization: `Bearer ${key}` }
}

const chatHead = (target: Target): CallHead => foundryHead(target, 'openai-chat')
const embeddingsHead = (target: Target): CallHead => foundryHead(target, 'openai-embeddings')

/** `azure_ai/...`: chat and embeddings in OpenAI's dialect. */
export const azureAi: Provider = {
  name: 'azure_ai',
  apiKeyEnv: ['AZURE_AI_API_KEY'],
  speaks: { 'openai-chat': chatHead, 'openai-embeddings': embeddingsHead },
  chat: chatAdapter({ rules: () => noFieldRules }, chatHead),
  chatByResponses: chatByResponses({ head: target => foundryHead(target, 'openai-responses'), textTools: true }),
  textTools: true,
  embeddings: embeddingsAdapter(embeddingsHead, {}),
  authorize: authorizeAzure,
}
