import type { HubModel } from '../../api/model-groups.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { t } from '../../strings/index.ts'
import type { StringKey } from '../../strings/index.ts'

type Health = HubModel['health_status']

const words: Readonly<Record<Health, readonly [tone: Tone, word: StringKey]>> = {
  healthy: ['good', 'hub.healthy'],
  degraded: ['warn', 'hub.degraded'],
  unhealthy: ['bad', 'hub.unhealthy'],
}

/** Whether calls are answered now: by what calls of others met. */
export function HealthBadge({ health }: { readonly health: Health }) {
  const [tone, word] = words[health]
  return <Badge tone={tone}>{t(word)}</Badge>
}
