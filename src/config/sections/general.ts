/** `general_settings`: the gateway itself. */
import { z } from 'zod'
import { masterKeyProblem } from '../../access/key.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { databaseUrlProblem } from '../checks/value-checks.ts'
import { agentKeys } from './agents.ts'
import { alertKeys } from './alerts.ts'
import { budgetKeys } from './budgets.ts'
import { identityKeys } from './identity.ts'
import { keyAgeKeys } from './key-age.ts'
import { ledgerKeys } from './ledger.ts'
import { limitKeys } from './limits.ts'
import { madeByApiKeys } from './made-by-api.ts'
import { openTelemetryKeys } from './open-telemetry.ts'
import { requestKeys } from './request-fields.ts'
import { signInKeys } from './sign-in.ts'
import { storageKeys } from './storage.ts'
import { storedBodyKeys } from './stored-bodies.ts'
import { usageExportKeys } from './usage-export.ts'
import { checkedText, proxyAddress, text } from './value-types.ts'

const ownKeys = settingKeys('general', {
  master_key: {
    type: () => checkedText(text(), masterKeyProblem),
    description:
      "The administrator's key, which has at least 32 random characters. MODELGATE_MASTER_KEY wins; without either " +
      'the first start makes one.',
    example: 'os.environ/MASTER_KEY',
    secret: 'whole',
    winningVariable: 'MODELGATE_MASTER_KEY',
    isReadAtStart: true,
  },
  database_url: {
    type: () => checkedText(text(), databaseUrlProblem),
    description:
      'The database, which is `postgres://...` or `sqlite:path`. DATABASE_URL wins; without either it is a SQLite ' +
      'file in the data directory.',
    example: 'os.environ/DATABASE_URL',
    winningVariable: 'DATABASE_URL',
    isReadAtStart: true,
  },
  max_request_size_mb: {
    type: () => z.number().min(0.01).max(100),
    default: 32,
    description: 'How many MB the body of a request may have.',
    example: 32,
  },
  max_body_memory_mb: {
    type: () => z.number().min(1).max(1_048_576),
    default: 512,
    description: 'How many MB of memory the bodies of all requests under way take together; further ones get 503.',
    example: 512,
  },
  require_auth_for_metrics_endpoint: {
    type: () => z.boolean(),
    default: false,
    description: 'true: who reads `/metrics` needs a key.',
    example: true,
  },
  metrics_by: {
    type: () => z.array(z.enum(['key', 'team', 'user', 'organization'])).min(1),
    description: 'What has series of its own in `/metrics`, with its calls, tokens and spending.',
    example: ['team'],
  },
  metrics_by_max: {
    type: () => z.number().int().min(1).max(10_000),
    default: 500,
    description: 'How many of each kind of `metrics_by` have series of their own; further ones share `_other`.',
    example: 500,
    usedWith: { path: 'general_settings.metrics_by' },
  },
  litellm_metric_names: {
    type: () => z.boolean(),
    default: false,
    description: "true: `/metrics` has what LiteLLM's dashboards read under LiteLLM's names, behind its own.",
    example: true,
  },
  header_prefix: {
    type: () => z.string().regex(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'lower-case letters, digits and dashes'),
    default: 'x-proxy',
    description: "The text with which the gateway's own response headers begin.",
    example: 'x-proxy',
  },
  disable_local_models: {
    type: () => z.boolean(),
    default: false,
    description: 'true: the built-in simulated models (`local/...`) are not offered.',
    example: true,
  },
  strict_configuration: {
    type: () => z.boolean(),
    default: false,
    description:
      'true: a file with any mistake is refused. false: an entry of `model_list` that is broken is left out with an ' +
      'error line, and the gateway starts with the rest, unless a pattern such as `openai/*` would take its calls.',
    example: true,
  },
  proxy: {
    type: proxyAddress,
    description:
      'The HTTP proxy that leads to upstreams, save those of NO_PROXY; false means none. It wins over HTTPS_PROXY, ' +
      'HTTP_PROXY and ALL_PROXY.',
    example: 'http://proxy.internal:3128',
    group: 'routing',
    fillingVariables: ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'],
  },
})

/** The keys of `general_settings`. */
export const generalKeys = {
  ...ownKeys,
  ...keyAgeKeys,
  ...limitKeys,
  ...budgetKeys,
  ...alertKeys,
  ...storageKeys,
  ...madeByApiKeys,
  ...signInKeys,
  ...identityKeys,
  ...ledgerKeys,
  ...storedBodyKeys,
  ...usageExportKeys,
  ...openTelemetryKeys,
  ...agentKeys,
  ...requestKeys,
}

const megabyte = 1024 * 1024

/** What holds for the gateway itself. */
export function gatewaySettingsOf(given: Values<typeof ownKeys>) {
  const general = withDefaults(ownKeys, given)
  return {
    isStrict: general.strict_configuration,
    headerPrefix: general.header_prefix,
    tenantMetrics: general.metrics_by ? { kinds: general.metrics_by, max: general.metrics_by_max } : null,
    metricsRequireKey: general.require_auth_for_metrics_endpoint,
    litellmMetricNames: general.litellm_metric_names,
    bodyBytesMax: Math.floor(general.max_request_size_mb * megabyte),
    bodyMemoryBytesMax: Math.floor(general.max_body_memory_mb * megabyte),
  }
}
