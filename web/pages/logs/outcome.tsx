import type { SpendLog } from '../../api/schema.d.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { t } from '../logs.page.ts'
import type { StringKey } from '../logs.page.ts'

const shown: Readonly<Record<SpendLog['outcome'], readonly [tone: Tone, word: StringKey]>> = {
  success: ['good', 'logs.success'],
  error: ['bad', 'logs.error'],
  client_closed: ['warn', 'logs.clientClosed'],
  upstream_cut: ['bad', 'logs.upstreamCut'],
  interrupted: ['bad', 'logs.interrupted'],
}

/** How a call ended, with its status. */
export function OutcomeBadge({ call }: { readonly call: Pick<SpendLog, 'outcome' | 'http_status'> }) {
  const [tone, word] = shown[call.outcome]
  return (
    <Badge tone={tone}>
      <span className="numbers">
        {call.http_status} {t(word)}
      </span>
    </Badge>
  )
}
