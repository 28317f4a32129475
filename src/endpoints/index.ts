import type { Endpoint } from '../core/endpoint.ts'
import { assistantEndpoints } from './stored-objects/assistants.ts'
import { speech, transcriptions, translations } from './model-calls/audio.ts'
import { batchEndpoints } from './stored-objects/batches.ts'
import { chatCompletions } from './model-calls/chat-completions.ts'
import { completions } from './model-calls/completions.ts'
import { embeddings } from './model-calls/embeddings.ts'
import { fileEndpoints } from './stored-objects/files.ts'
import { geminiEndpoints } from './model-calls/gemini.ts'
import { imageEdits, imageVariations, images } from './model-calls/images.ts'
import { liveliness, metrics, readiness } from './administration/health.ts'
import { keyBlock, keyDelete, keyGenerate, keyInfo, keyList, keyUnblock, keyUpdate } from './administration/keys.ts'
import { messages, messagesCountTokens } from './model-calls/messages.ts'
import { modelInfo, modelsList, modelsOne } from './utilities/models.ts'
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
import { spendLogs } from './administration/spend.ts'
import { runEndpoints } from './stored-objects/runs.ts'
import { threadEndpoints } from './stored-objects/threads.ts'
import {
  supportedCompatParams,
  supportedOpenaiParams,
  tokenCounterEndpoint,
  transformRequestEndpoint,
} from './utilities/utils.ts'

const working: Endpoint[] = [
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
  modelsOne,
  keyGenerate,
  keyInfo,
  keyList,
  keyUpdate,
  keyBlock,
  keyUnblock,
  keyDelete,
  spendLogs,
  tokenCounterEndpoint,
  supportedCompatParams,
  supportedOpenaiParams,
  transformRequestEndpoint,
  liveliness,
  readiness,
  metrics,
]

/** Every public path. Exact paths win over patterns; patterns are tried in this order. */
export const endpoints: readonly Endpoint[] = [...working, ...openapiEndpoints(working)]
