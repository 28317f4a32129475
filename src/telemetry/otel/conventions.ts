/**
 * Names of attributes, metrics and events. `gen_ai.*` as of github.com/open-telemetry/semantic-conventions-genai,
 * commit 004902b8cb70aa5ae6ca4ae07132b7daabcd3e10 (pages of spans, metrics and events below docs/gen-ai there);
 * `http.*`, `server.*`, `error.*` and the like as of semantic-conventions 1.42.0. `modelgate.*` are our own.
 */
import type { Operation } from '../../core/hub/operation.ts'

/** Names of attributes of spans, metrics and log records. */
export const attribute = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  responseModel: 'gen_ai.response.model',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  conversationId: 'gen_ai.conversation.id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  clientAddress: 'client.address',
  userAgent: 'user_agent.original',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  callId: 'modelgate.call.id',
  outcome: 'modelgate.call.outcome',
  costUsd: 'modelgate.cost_usd',
  usageSource: 'modelgate.usage.source',
  keyId: 'modelgate.key.id',
  keyAlias: 'modelgate.key.alias',
  userId: 'modelgate.user.id',
  teamId: 'modelgate.team.id',
  organizationId: 'modelgate.organization.id',
  endUser: 'modelgate.end_user.id',
  tags: 'modelgate.tags',
  attempts: 'modelgate.attempts',
  fallbacks: 'modelgate.fallbacks',
  deploymentId: 'modelgate.deployment.id',
  cacheHit: 'modelgate.cache.hit',
  guardrailName: 'modelgate.guardrail.name',
  guardrailVerdict: 'modelgate.guardrail.verdict',
  policy: 'modelgate.policy',
} as const

/** One histogram of the conventions: its name, what it says, its unit and its bounds. */
interface ConventionalHistogram {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly bounds: readonly number[]
}

const durationBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

/** Histograms of calls, and of requests to upstreams. */
export const histograms = {
  tokenUsage: {
    name: 'gen_ai.client.token.usage',
    description: 'Number of input and output tokens used.',
    unit: '{token}',
    bounds: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
  },
  operationDuration: {
    name: 'gen_ai.client.operation.duration',
    description: 'GenAI operation duration.',
    unit: 's',
    bounds: durationBounds,
  },
  requestDuration: {
    name: 'gen_ai.server.request.duration',
    description: 'Generative AI server request duration such as time-to-last byte or last output token.',
    unit: 's',
    bounds: durationBounds,
  },
  timeToFirstToken: {
    name: 'gen_ai.server.time_to_first_token',
    description: 'Time to generate first token for successful responses.',
    unit: 's',
    bounds: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  timePerOutputToken: {
    name: 'gen_ai.server.time_per_output_token',
    description: 'Time per output token generated after the first token for successful responses.',
    unit: 's',
    bounds: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  },
} as const satisfies Record<string, ConventionalHistogram>

/** The event that holds what was said in a call. */
export const contentEvent = 'gen_ai.client.inference.operation.details'

/** What the conventions call an operation; those without a word of theirs keep ours. */
export const operationNames: Readonly<Partial<Record<Operation, string>>> = { completions: 'text_completion' }

/** What the conventions call a provider; those without a word of theirs keep ours. */
export const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  vertex_ai: 'gcp.vertex_ai',
  watsonx: 'ibm.watsonx.ai',
  xai: 'x_ai',
}
