/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { cacheEndpoints } from '../operation/cache.ts'
import { effectiveConfiguration } from '../operation/configuration.ts'
import { credentialEndpoints } from '../operation/credentials.ts'
import { deploymentHistory } from '../operation/deployment-history.ts'
import { guardrailEndpoints } from '../operation/guardrails.ts'
import { modelLatency } from '../operation/latency.ts'
import { modelBlock, modelUnblock } from '../operation/model-blocks.ts'
import { modelHealth } from '../operation/model-health.ts'
import { modelDelete, modelNew, modelPatch, modelUpdate } from '../operation/models.ts'
import { overview } from '../operation/overview.ts'
import { providerHealth } from '../operation/provider-health.ts'
import { providerList } from '../operation/providers.ts'
import { makePublic, modelGroupInfo, publicModelHub } from '../utilities/model-groups.ts'
import { modelInfo, modelInfoPages } from '../utilities/model-info.ts'
import {
  supportedCompatParams,
  supportedOpenaiParams,
  tokenCounterEndpoint,
  transformRequestEndpoint,
} from '../utilities/utils.ts'

/** How the gateway is set up and how it does: models, credentials, guardrails, cache, health; helpers. */
export const endpoints: readonly Endpoint[] = [
  modelInfo,
  modelInfoPages,
  modelGroupInfo,
  publicModelHub,
  makePublic,
  modelNew,
  modelUpdate,
  modelPatch,
  modelDelete,
  modelBlock,
  modelUnblock,
  ...credentialEndpoints,
  ...guardrailEndpoints,
  overview,
  deploymentHistory,
  modelLatency,
  providerHealth,
  providerList,
  ...cacheEndpoints,
  effectiveConfiguration,
  tokenCounterEndpoint,
  supportedCompatParams,
  supportedOpenaiParams,
  transformRequestEndpoint,
  modelHealth,
]
