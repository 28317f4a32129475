/** What is said in calls: whether it is stored, how much of it, and who reads it (docs/stored-bodies.md). */
import { z } from 'zod'
import type { BodySettings } from '../../core/ledger/stored-bodies.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { durationMs, wholeDays } from './value-types.ts'

/** Keys of `general_settings`; the first has LiteLLM's name. */
export const storedBodyKeys = settingKeys('retention', {
  store_prompts_in_spend_logs: {
    type: () => z.boolean(),
    description:
      'true: request and answer of every call are stored, encrypted, unless its key, its team or its client says no. ' +
      'false: those of no call are. Left out: those of keys and teams that say so (docs/stored-bodies.md).',
    example: true,
  },
  maximum_stored_bodies_retention_period: {
    type: wholeDays,
    default: '30d',
    description: 'How long stored requests and answers are kept.',
    example: '30d',
  },
  max_stored_body_kb: {
    type: () => z.number().min(1).max(65_536),
    default: 1024,
    description: 'How many KB of one request or answer are stored; longer ones are cut.',
    example: 1024,
  },
  max_stored_bodies_mb: {
    type: () => z.number().min(0.1).max(1_073_741_824),
    default: 10_240,
    description: 'How many MB all stored requests and answers may take; beyond it the oldest are deleted.',
    example: 10_240,
  },
  max_waiting_bodies_mb: {
    type: () => z.number().min(0.1).max(65_536),
    default: 64,
    description:
      'How many MB of memory requests and answers may take that are to be stored, of open calls and on their way; ' +
      'what is beyond it is not stored.',
    example: 64,
  },
  stored_bodies_readers: {
    type: () => z.enum(['owners', 'proxy_admins']),
    default: 'owners',
    description:
      'Who reads and deletes stored requests and answers: `owners` are all who may read the call in the ledger, ' +
      '`proxy_admins` administrators alone.',
    example: 'owners',
  },
})

/** Keys of `settings`, as LiteLLM names them. */
export const unstoredBodyKeys = settingKeys('retention', {
  turn_off_message_logging: {
    type: () => z.boolean(),
    default: false,
    description: 'true: nothing that is said in calls is stored, also where keys or teams ask for it.',
    example: false,
  },
  global_disable_no_log_param: {
    type: () => z.boolean(),
    default: false,
    description: 'true: clients cannot keep their calls from being stored (`no-log`).',
    example: false,
  },
})

const megabyte = 1024 * 1024

/** The settings of stored bodies. */
export function bodySettingsOf(
  givenGeneral: Values<typeof storedBodyKeys>,
  givenCommon: Values<typeof unstoredBodyKeys>,
): BodySettings {
  const general = withDefaults(storedBodyKeys, givenGeneral)
  const common = withDefaults(unstoredBodyKeys, givenCommon)
  return {
    isOn: common.turn_off_message_logging ? false : (general.store_prompts_in_spend_logs ?? null),
    clientsMayRefuse: !common.global_disable_no_log_param,
    bytesMax: Math.floor(general.max_stored_body_kb * 1024),
    storedBytesMax: Math.floor(general.max_stored_bodies_mb * megabyte),
    waitingBytesMax: Math.floor(general.max_waiting_bodies_mb * megabyte),
    keptMs: durationMs(general.maximum_stored_bodies_retention_period),
    readers: general.stored_bodies_readers,
  }
}
