/** How long the ledger is kept. */
import type { LedgerRetention } from '../../core/ledger/usage-report.ts'
import { settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { durationMs, wholeDays } from './value-types.ts'

/** Keys of `general_settings`; the first has LiteLLM's name. */
export const ledgerKeys = settingKeys('retention', {
  maximum_spend_logs_retention_period: {
    type: wholeDays,
    description:
      'How long rows of the ledger are kept, in whole days: 90d, 12w, 6mo (30 days each). Without it they stay for ' +
      'ever, and usage by day stays in any case.',
    example: '90d',
  },
  maximum_daily_usage_retention_period: {
    type: wholeDays,
    description: 'How long the sums of usage by day are kept. Without it they stay for ever.',
    example: '24mo',
  },
})

/** How long rows and sums are kept. */
export const ledgerRetentionOf = (general: Values<typeof ledgerKeys>): LedgerRetention => ({
  rowsMs: periodMs(general.maximum_spend_logs_retention_period),
  sumsMs: periodMs(general.maximum_daily_usage_retention_period),
})

/** null = for ever. */
const periodMs = (period: string | undefined): number | null => (period === undefined ? null : durationMs(period))
