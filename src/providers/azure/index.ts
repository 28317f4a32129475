/** Azure OpenAI: OpenAI's dialects under Azure's URLs (learn.microsoft.com, "Azure OpenAI REST API reference"). */
import { newestChatFields } from '../../core/hub/chat-fields.ts'
import { noFieldRules } from '../../core/dialects/field-rules.ts'
import type { MakeHead, Provider, Target } from '../../core/provider.ts'
import { joined } from '../../../rules/chat.ts'
import type { ChatRule } from '../../../rules/chat.ts'
import { azureVersionRule, neverReasons, openaiRule } from '../../../rules/openai.ts'
import { embeddingsAdapter } from '../openai-compatible/embeddings.ts'
import { chatFieldRules, responsesFieldRules, withoutReasoning } from '../openai-compatible/field-rules.ts'
import { memoizePerTarget } from '../../core/target-cache.ts'
import type { CompatibleDialect } from '../openai-compatible/head.ts'
import { chatAdapter } from '../openai-compatible/index.ts'
import { chatByResponses } from '../openai-compatible/responses/index.ts'
import { apiVersionOf, azureFilesHead, azureHead, deploymentName } from './address.ts'
import { authorizeAzure } from './entra.ts'

export { azureAi } from './foundry.ts'

const at =
  (dialect: CompatibleDialect): MakeHead =>
  target =>
    azureHead(target, dialect)
/** A deployment's name says its model only where the operator named it so; `base_model` does. */
function modelName(target: Target): string {
  const { base_model: base } = target.options
  return typeof base === 'string' ? base : deploymentName(target)
}

const modelRule = (target: Target): ChatRule | undefined => openaiRule(modelName(target))

const chatRules = memoizePerTarget(target =>
  chatFieldRules(joined(modelRule(target), azureVersionRule(apiVersionOf(target)))),
)
const responsesRules = memoizePerTarget(target => {
  const compiled = responsesFieldRules(modelRule(target))
  return neverReasons(modelName(target)) ? withoutReasoning(compiled) : compiled
})
const chatHead = at('openai-chat')
const embeddingsHead = at('openai-embeddings')

/**
 * `azure/...`: OpenAI's dialects are forwarded. `api_base` is the resource; `model` is the deployment, unless
 * `api_base` holds one.
 */
export const azure: Provider = {
  name: 'azure',
  apiKeyEnv: ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
  callersCredentials: { header: 'api-key' },
  // Azure's content-filter results in answers are forwarded unchanged.
  speaks: {
    'openai-chat': chatHead,
    'openai-completions': at('openai-completions'),
    'openai-embeddings': embeddingsHead,
    'openai-responses': at('openai-responses'),
    'openai-images': at('openai-images'),
    'openai-image-edits': at('openai-image-edits'),
    'openai-speech': at('openai-speech'),
    'openai-transcriptions': at('openai-transcriptions'),
    'openai-translations': at('openai-translations'),
  },
  rules(target, dialect) {
    if (dialect === 'openai-chat') return chatRules(target)
    return dialect === 'openai-responses' ? responsesRules(target) : noFieldRules
  },
  maxTokensField: 'max_completion_tokens',
  chat: chatAdapter({ maxTokensField: 'max_completion_tokens', rules: chatRules }, chatHead),
  chatByResponses: chatByResponses({
    head: at('openai-responses'),
    modelName: deploymentName,
    rules: responsesRules,
    textTools: true,
  }),
  textTools: true,
  compacts: (_target, dialect) => dialect === 'openai-responses',
  embeddings: embeddingsAdapter(embeddingsHead, {}),
  files: { head: azureFilesHead, modelName: deploymentName },
  authorize: authorizeAzure,
  chatExtras: newestChatFields,
}
