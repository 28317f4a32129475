import type { Endpoint } from '../core/endpoint.ts'
import { chatCompletions } from './chat-completions.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { liveliness, metrics, readiness } from './health.ts'
import { keyBlock, keyDelete, keyGenerate, keyInfo, keyList, keyUnblock, keyUpdate } from './keys.ts'
import { modelInfo, modelsList, modelsOne } from './models.ts'
import { openapiEndpoints } from './openapi.ts'
import { spendLogs } from './spend.ts'

const working: Endpoint[] = [
  chatCompletions,
  completions,
  embeddings,
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
  liveliness,
  readiness,
  metrics,
]

/** Every public path. Exact paths win over patterns; patterns are tried in this order. */
export const endpoints: readonly Endpoint[] = [...working, ...openapiEndpoints(working)]
