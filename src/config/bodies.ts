/** The settings of stored bodies, from a checked configuration. */
import type { BodySettings } from '../core/ledger/stored-bodies.ts'
import type { Config } from './sections/file.ts'
import { retentionMs } from './retention.ts'

const megabyte = 1024 * 1024

type GeneralConfig = NonNullable<Config['general_settings']>
type CommonConfig = NonNullable<Config['settings']>

/** With the defaults of what is left out. */
export function bodySettingsOf(general: GeneralConfig, common: CommonConfig): BodySettings {
  const { max_stored_body_kb: bodyKb = 1024, max_stored_bodies_mb: storedMb = 10_240 } = general
  const { max_waiting_bodies_mb: waitingMb = 64 } = general
  return {
    isOn: common.turn_off_message_logging ? false : (general.store_prompts_in_spend_logs ?? null),
    clientsMayRefuse: !(common.global_disable_no_log_param ?? false),
    bytesMax: Math.floor(bodyKb * 1024),
    storedBytesMax: Math.floor(storedMb * megabyte),
    waitingBytesMax: Math.floor(waitingMb * megabyte),
    keptMs: retentionMs(general.maximum_stored_bodies_retention_period ?? '30d')!,
    readers: general.stored_bodies_readers ?? 'owners',
  }
}
