/** What may be made by API, where secrets come from, and the watch for batches. */
import { z } from 'zod'
import { cloudNames } from '../../core/cloud-identity.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'

/** Keys of `general_settings`. */
export const madeByApiKeys = settingKeys('general', {
  store_model_in_db: {
    type: () => z.boolean(),
    default: true,
    description:
      'Whether models, credentials and access groups are made by API. false: they are not, and those made before are ' +
      'not served. true, where it is written: they are, and aliases and fallbacks of this file may name models that ' +
      'are made later. Left out: they are, and every name in this file must be one of this file.',
    example: true,
  },
  allowed_environment_references: {
    type: () =>
      z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')).max(1000),
    description:
      'Environment variables that models and credentials made by API may refer to (`os.environ/NAME`), beside those ' +
      'in which providers look for their keys. Without it there are no others.',
    example: ['RESEARCH_OPENAI_KEY'],
  },
  secret_file_directories: {
    type: () => z.array(z.string().regex(/^\//, 'must be an absolute path')).max(20),
    description:
      'Directories of which models and credentials made by API may read secrets (`file/PATH`). Without it ' +
      'they read none.',
    example: ['/run/secrets'],
  },
  host_credentials_by_api: {
    type: () => z.array(z.enum(cloudNames)).max(cloudNames.length),
    description:
      'Clouds whose identity of this host (roles of machines and containers, profiles, federation, managed identity, ' +
      'metadata servers) models made by API may use: aws, azure, google. Without it they use none.',
    example: ['aws'],
  },
  mcp_private_hosts: {
    type: () => z.array(z.string().min(1).max(255)).max(1000),
    description:
      'Hosts of private networks, by names or addresses, that tool servers made by API may have. Without it they are ' +
      'let reach public addresses alone.',
    example: ['mcp.internal'],
  },
  secret_refresh_seconds: {
    type: () => z.number().min(5).max(86_400),
    default: 300,
    description: 'How many seconds pass until secrets of files, Vault and commands are read again.',
    example: 300,
  },
  batch_poll_seconds: {
    type: () => z.number().min(1).max(86_400),
    default: 60,
    description: 'How many seconds pass until the gateway looks again for batches that have ended, to settle each.',
    example: 60,
  },
})

/** Whether models are made by API, and how often batches are looked for. */
export function madeByApiSettingsOf(given: Values<typeof madeByApiKeys>) {
  const general = withDefaults(madeByApiKeys, given)
  return {
    storesModels: general.store_model_in_db,
    batchPollMs: general.batch_poll_seconds * 1000,
    privateToolHosts: general.mcp_private_hosts ?? [],
  }
}
