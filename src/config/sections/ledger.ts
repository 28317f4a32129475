/** Keys of `general_settings` about how long the ledger is kept. */
import { z } from 'zod'
import { readDuration } from '../../access/key.ts'
import { dayMs } from '../../lib/clock.ts'

/** A text such as `90d`; whole days, because days are what usage is summed by. */
export const days = z.string().refine(text => {
  const read = readDuration(text)
  return 'ms' in read && read.ms >= dayMs && read.ms % dayMs === 0
}, 'must be a number of days, weeks or months: 30d, 12w, 6mo')

/** The keys for how long the ledger is kept; the first has LiteLLM's name. */
export const ledgerSettings = {
  maximum_spend_logs_retention_period: days
    .optional()
    .describe(
      'How long rows of the ledger are kept, in whole days: 90d, 12w, 6mo (30 days each). Usage by day stays. For ' +
        'ever when left out.',
    ),
  maximum_daily_usage_retention_period: days
    .optional()
    .describe('How long the sums of usage by day are kept. For ever when left out.'),
}
