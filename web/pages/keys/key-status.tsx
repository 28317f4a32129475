import type { Key } from '../../api/schema.d.ts'
import { Badge } from '../../components/badge.tsx'
import { t } from '../keys.page.ts'

/** Whether calls with the key are taken. */
export function KeyStatus({ keyRow: { blocked, expires } }: { readonly keyRow: Pick<Key, 'blocked' | 'expires'> }) {
  if (blocked) return <Badge tone="bad">{t('keys.blocked')}</Badge>
  if (expires !== null && Date.parse(expires) < Date.now()) return <Badge tone="warn">{t('keys.expired')}</Badge>
  return <Badge tone="good">{t('keys.active')}</Badge>
}
