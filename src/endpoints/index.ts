import type { Endpoint } from '../core/endpoint.ts'
import { assistantEndpoints } from './assistants.ts'
import { speech, transcriptions, translations } from './audio.ts'
import { batchEndpoints } from './batches.ts'
import { chatCompletions } from './chat-completions.ts'
import { completions } from './completions.ts'
import { cursorCompletions } from './cursor.ts'
import { embeddings } from './embeddings.ts'
import { fileEndpoints } from './files.ts'
import { geminiEndpoints } from './gemini.ts'
import { imageEdits, imageVariations, images } from './images.ts'
import { liveliness, metrics, readiness } from './health.ts'
import { keyBlock, keyDelete, keyGenerate, keyInfo, keyList, keyUnblock, keyUpdate } from './keys.ts'
import { messages, messagesCountTokens } from './messages.ts'
import { modelInfo, modelsList, modelsOne } from './models.ts'
import { moderations } from './moderations.ts'
import { openapiEndpoints } from './openapi.ts'
import {
  responsesCancel,
  responsesCreate,
  responsesDelete,
  responsesInputItems,
  responsesInputTokens,
  responsesRetrieve,
} from './responses.ts'
import { rerank, rerankTwo } from './rerank.ts'
import { spendLogs } from './spend.ts'
import { threadEndpoints } from './threads.ts'
import {
  supportedCompatParams,
  supportedOpenaiParams,
  tokenCounterEndpoint,
  transformRequestEndpoint,
} from './utils.ts'

const working: Endpoint[] = [
  chatCompletions,
  cursorCompletions,
  completions,
  responsesCreate,
  responsesInputTokens,
  responsesRetrieve,
  responsesDelete,
  responsesCancel,
  responsesInputItems,
  ...assistantEndpoints,
  ...threadEndpoints,
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
