import type { ProviderHealth } from '../../api/schema.d.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { formatAgo, formatCount } from '../../lib/format.ts'
import { t } from '../providers.page.ts'
import type { StringKey } from '../providers.page.ts'

type Provider = ProviderHealth['providers'][number]
type Limit = Provider['deployments'][number]['rate_limits'][number]

/** An error is news for so long. */
const newsMs = 15 * 60_000

function stateOf({ deployments }: Provider, nowMs: number): readonly [Tone, StringKey] {
  const open = deployments.filter(one => !one.blocked)
  if (open.length === 0) return ['bad', 'block.blocked']
  if (open.some(one => one.cooldowns.length > 0)) return ['bad', 'providers.cooling']
  if (open.some(one => one.last_error && nowMs - Date.parse(one.last_error.at) < newsMs))
    return ['warn', 'providers.failing']
  return open.length < deployments.length ? ['warn', 'providers.partly'] : ['good', 'providers.fine']
}

/** How calls of a provider fare now, at the replica that was asked. */
export function ProviderState({ provider }: { readonly provider: Provider }) {
  const [tone, word] = stateOf(provider, Date.now())
  return <Badge tone={tone}>{t(word)}</Badge>
}

/** The share that is left; those without a limit do not count. */
const leftOf = ({ limit, remaining }: Limit): number => (limit && remaining !== null ? remaining / limit : 1)

/** The limit of which least is left, of all deployments. */
export function tightestLimit({ deployments }: Provider): Limit | undefined {
  return deployments.flatMap(one => one.rate_limits).toSorted((one, other) => leftOf(one) - leftOf(other))[0]
}

/** `12 of 500 left, all again in 3 s`. */
export function limitText({ limit, remaining, resets_at: resets }: Limit): string {
  const left = remaining === null ? '?' : formatCount(remaining)
  const text =
    limit === null ? t('providers.left', { left }) : t('providers.leftOf', { left, limit: formatCount(limit) })
  const isAhead = resets !== null && Date.parse(resets) > Date.now()
  return isAhead ? `${text}, ${t('providers.resets', { when: formatAgo(Date.parse(resets), Date.now()) })}` : text
}
