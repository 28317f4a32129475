import type { Endpoint } from '../core/endpoint.ts'
import { managedSettings } from './agents/managed-settings.ts'
import { telemetryEndpoints } from './agents/telemetry.ts'
import { deviceAuthorization, discovery, revocation, token } from './sign-in/device-flow.ts'
import { deviceDecision, devicePage } from './sign-in/device-page.ts'
import { assistantEndpoints } from './stored-objects/assistants.ts'
import { speech, transcriptions, translations } from './model-calls/audio.ts'
import { batchEndpoints } from './stored-objects/batches.ts'
import { chatCompletions } from './model-calls/chat-completions.ts'
import { answerEndpoints } from './stored-objects/conversation-answers.ts'
import { conversationEndpoints } from './stored-objects/conversations.ts'
import { completions } from './model-calls/completions.ts'
import { embeddings } from './model-calls/embeddings.ts'
import { fileEndpoints } from './stored-objects/files.ts'
import { geminiEndpoints } from './model-calls/gemini.ts'
import { imageEdits, imageVariations, images } from './model-calls/images.ts'
import { liveliness, metrics, readiness } from './administration/health.ts'
import { scimEndpoints } from './administration/scim.ts'
import { tagEndpoints } from './administration/tags.ts'
import { accessGroupEndpoints } from './administration/access-groups.ts'
import { guardrailEndpoints } from './administration/guardrails.ts'
import { effectiveConfiguration } from './administration/configuration.ts'
import { credentialEndpoints } from './administration/credentials.ts'
import { modelBlock, modelUnblock } from './administration/model-blocks.ts'
import { providerHealth } from './administration/provider-health.ts'
import { modelDelete, modelNew, modelPatch, modelUpdate } from './administration/models.ts'
import { keyDerive } from './administration/derived-keys.ts'
import { auditEndpoints } from './administration/audit.ts'
import { cacheEndpoints } from './administration/cache.ts'
import { budgetEndpoints } from './administration/budgets.ts'
import { deploymentHistory } from './administration/deployment-history.ts'
import { modelLatency } from './administration/latency.ts'
import { overview } from './administration/overview.ts'
import { customerEndpoints } from './administration/customers.ts'
import { keyAliases, keyHealth, keyInfo, keyInfos, keyList } from './administration/key-lists.ts'
import {
  keyBlock,
  keyBulkUpdate,
  keyDelete,
  keyGenerate,
  keyRegenerate,
  keyUnblock,
  keyUpdate,
  serviceAccountGenerate,
} from './administration/keys.ts'
import { keyLimits } from './administration/limits/key-limits.ts'
import { organizationEndpoints } from './administration/organizations.ts'
import { teamMemberEndpoints } from './administration/team-members.ts'
import { spendResetEndpoints } from './administration/spend-resets.ts'
import { teamEndpoints } from './administration/teams.ts'
import { userEndpoints } from './administration/users.ts'
import { messages, messagesCountTokens } from './model-calls/messages.ts'
import { makePublic, modelGroupInfo, publicModelHub } from './utilities/model-groups.ts'
import { modelInfo, modelInfoPages } from './utilities/model-info.ts'
import { modelsList, modelsOne } from './utilities/models.ts'
import { routesEndpoint } from './utilities/routes.ts'
import { modelHealth } from './administration/model-health.ts'
import { moderations } from './model-calls/moderations.ts'
import { openapiEndpoints } from './openapi.ts'
import {
  responsesCancel,
  responsesCreate,
  responsesDelete,
  responsesInputItems,
  responsesInputTokens,
  responsesRetrieve,
} from './model-calls/responses.ts'
import { rerank, rerankTwo } from './model-calls/rerank.ts'
import { loginEndpoints } from './sign-in/login.ts'
import { forgottenPasswordEndpoints } from './sign-in/forgotten-password.ts'
import { onboardingEndpoints } from './sign-in/onboarding.ts'
import { passwordEndpoints } from './sign-in/passwords.ts'
import { sessionEndpoints } from './sign-in/sessions.ts'
import { callBodyEndpoints } from './administration/call-bodies.ts'
import { spendEvents } from './administration/spend-events.ts'
import { spendLogs } from './administration/spend.ts'
import { activityEndpoints } from './administration/spend/activity.ts'
import { estimateEndpoints } from './administration/spend/estimate.ts'
import { spendHistogram } from './administration/spend/histogram.ts'
import { reportEndpoints } from './administration/spend/report.ts'
import { totalsEndpoints } from './administration/spend/totals.ts'
import { singleSignOnEndpoints } from './sign-in/single-sign-on.ts'
import { runEndpoints } from './stored-objects/runs.ts'
import { threadEndpoints } from './stored-objects/threads.ts'
import {
  supportedCompatParams,
  supportedOpenaiParams,
  tokenCounterEndpoint,
  transformRequestEndpoint,
} from './utilities/utils.ts'
import { webPages } from './web/pages.ts'

const working: Endpoint[] = [
  discovery(),
  deviceAuthorization,
  token,
  revocation,
  devicePage,
  deviceDecision,
  managedSettings,
  ...telemetryEndpoints,
  chatCompletions,
  completions,
  responsesCreate,
  responsesInputTokens,
  responsesRetrieve,
  responsesDelete,
  responsesCancel,
  responsesInputItems,
  ...assistantEndpoints,
  ...threadEndpoints,
  ...runEndpoints,
  ...conversationEndpoints,
  ...answerEndpoints,
  ...fileEndpoints,
  ...batchEndpoints,
  embeddings,
  moderations,
  images,
  imageEdits,
  imageVariations,
  speech,
  transcriptions,
  translations,
  rerank,
  rerankTwo,
  messages,
  messagesCountTokens,
  ...geminiEndpoints,
  modelsList,
  modelInfo,
  modelInfoPages,
  modelGroupInfo,
  publicModelHub,
  makePublic,
  modelsOne,
  modelNew,
  modelUpdate,
  modelPatch,
  modelDelete,
  modelBlock,
  modelUnblock,
  ...credentialEndpoints,
  ...accessGroupEndpoints,
  ...guardrailEndpoints,
  ...tagEndpoints,
  keyGenerate,
  keyDerive,
  keyInfo,
  keyList,
  keyUpdate,
  keyBlock,
  keyUnblock,
  ...spendResetEndpoints,
  keyDelete,
  serviceAccountGenerate,
  keyBulkUpdate,
  keyRegenerate,
  keyInfos,
  keyAliases,
  keyHealth,
  keyLimits,
  ...teamEndpoints,
  ...teamMemberEndpoints,
  ...userEndpoints,
  ...organizationEndpoints,
  ...customerEndpoints,
  ...budgetEndpoints,
  overview,
  deploymentHistory,
  modelLatency,
  providerHealth,
  ...auditEndpoints,
  ...cacheEndpoints,
  effectiveConfiguration,
  ...scimEndpoints,
  spendLogs,
  spendHistogram,
  spendEvents,
  ...callBodyEndpoints,
  ...totalsEndpoints,
  ...reportEndpoints,
  ...activityEndpoints,
  ...estimateEndpoints,
  tokenCounterEndpoint,
  supportedCompatParams,
  supportedOpenaiParams,
  transformRequestEndpoint,
  ...loginEndpoints,
  ...sessionEndpoints,
  ...passwordEndpoints,
  ...forgottenPasswordEndpoints,
  ...onboardingEndpoints,
  liveliness,
  readiness,
  modelHealth,
  metrics,
  ...singleSignOnEndpoints,
]

const documented = [...working, routesEndpoint(() => endpoints)]

/**
 * Every public path. Exact paths win over patterns; patterns are tried in this order. The pages are for people, and no
 * part of the API that is described.
 */
export const endpoints: readonly Endpoint[] = [...documented, ...openapiEndpoints(documented), webPages]
