/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { cacheEndpoints } from '../administration/cache.ts'
import { effectiveConfiguration } from '../administration/configuration.ts'
import { credentialEndpoints } from '../administration/credentials.ts'
import { deploymentHistory } from '../administration/deployment-history.ts'
import { guardrailEndpoints } from '../administration/guardrails.ts'
import { modelLatency } from '../administration/latency.ts'
import { modelBlock, modelUnblock } from '../administration/model-blocks.ts'
import { modelHealth } from '../administration/model-health.ts'
import { modelNew, modelUpdate, modelPatch, modelDelete } from '../administration/models.ts'
import { overview } from '../administration/overview.ts'
import { providerHealth } from '../administration/provider-health.ts'
import { modelGroupInfo, publicModelHub, makePublic } from '../utilities/model-groups.ts'
import { modelInfo, modelInfoPages } from '../utilities/model-info.ts'
import {
  tokenCounterEndpoint,
  supportedCompatParams,
  supportedOpenaiParams,
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
  ...cacheEndpoints,
  effectiveConfiguration,
  tokenCounterEndpoint,
  supportedCompatParams,
  supportedOpenaiParams,
  transformRequestEndpoint,
  modelHealth,
]
