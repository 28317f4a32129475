import type { HubModel } from '../../api/model-groups.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { t } from '../model-hub.page.ts'
import type { StringKey } from '../model-hub.page.ts'

type Health = HubModel['health_status']

const words: Readonly<Record<Health, readonly [tone: Tone, word: StringKey]>> = {
  healthy: ['good', 'hub.healthy'],
  degraded: ['warn', 'hub.degraded'],
  unhealthy: ['bad', 'hub.unhealthy'],
}

/** Whether calls are answered now: by what calls of others met, or because an administrator switched the model off. */
export function HealthBadge({ model }: { readonly model: Pick<HubModel, 'health_status' | 'blocked'> }) {
  const [tone, word] = model.blocked ? (['bad', 'block.blocked'] as const) : words[model.health_status]
  return <Badge tone={tone}>{t(word)}</Badge>
}
