/**
 * The configuration file, in the layout that LiteLLM users know. Unknown keys are mistakes; LiteLLM's keys that have no
 * function here are warnings (litellm/litellm-keys.ts), so that an existing file starts.
 */
import { z } from 'zod'
import { schemaOf, settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { commonBudgetKeys } from './budgets.ts'
import { cacheKeys } from './cache.ts'
import { generalKeys } from './general.ts'
import { guardrailKeys } from './guardrails.ts'
import { modelHubKeys } from './model-hub.ts'
import { modelKeys } from './models.ts'
import { newKeyKeys } from './new-keys.ts'
import { priceTermKeys } from './price-terms.ts'
import { priceSourceKeys } from './prices.ts'
import { fieldKeys } from './request-fields.ts'
import { commonRouterKeys, routerKeys } from './router.ts'
import { unstoredBodyKeys } from './stored-bodies.ts'
import { toolServersKeys } from './tool-servers.ts'

const commonKeys = {
  ...unstoredBodyKeys,
  ...commonRouterKeys,
  ...fieldKeys,
  ...commonBudgetKeys,
  ...cacheKeys,
  ...priceTermKeys,
  ...modelHubKeys,
  ...newKeyKeys,
}

/** All keys of the file, in our own names. */
export const fileKeys = {
  ...modelKeys,
  ...guardrailKeys,
  ...toolServersKeys,
  ...settingKeys('general', {
    router_settings: {
      keys: routerKeys,
      description: 'How calls are retried, cooled down and sent to fallbacks (docs/routing.md).',
      group: 'routing',
    },
    prices: {
      keys: priceSourceKeys,
      description:
        "The price list, in the shape of LiteLLM's, that lies over the built-in one (docs/models-and-prices.md).",
      group: 'prices',
    },
    settings: {
      keys: commonKeys,
      description: 'What holds for all calls that do not say otherwise, and limits of users.',
      litellm: 'litellm_settings',
    },
    general_settings: { keys: generalKeys, description: 'What holds for the gateway itself, whatever is called.' },
    environment_variables: {
      type: () =>
        z.record(
          z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'the name of a variable has letters, digits and _ . -'),
          z.string(),
        ),
      description:
        'Variables that references in this file and keys of providers are taken from; those of the process win.',
      example: { OPENAI_API_KEY: 'os.environ/KEY_OF_OPENAI' },
      secret: 'members',
    },
  }),
}

/** A valid file; every section may be absent. */
export type Config = Values<typeof fileKeys>

/**
 * Checks a whole file with variables resolved. Relations between values are checked later: checks/entry-checks.ts,
 * checks/name-checks.ts, models/deployment-ids.ts.
 */
export const configSchema = () => schemaOf(fileKeys)
