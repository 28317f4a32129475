import type { SpendLog } from '../../api/schema.d.ts'
import { Money } from '../../components/values.tsx'
import { t } from '../logs.page.ts'

/** What a call cost. What was refused, or failed before it used anything, has no cost: that is no missing price. */
export function CallCost({ call }: { readonly call: SpendLog }) {
  const isWithout = !call.spend && call.outcome !== 'success' && call.usage_source === 'none'
  if (!isWithout) return <Money usd={call.spend} />
  return (
    <span className="text-muted" title={t(call.attempts === 0 ? 'logs.notSent' : 'logs.nothingUsed')}>
      –
    </span>
  )
}
