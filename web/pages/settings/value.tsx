import type { EffectiveValue } from '../../api/schema.d.ts'
import { Tag } from '../../components/badge.tsx'
import { t } from '../settings.page.ts'
import type { StringKey } from '../settings.page.ts'

/** As it stands in the file, in one line. */
export function SettingValue({ setting: { value } }: { readonly setting: EffectiveValue }) {
  if (value === null) return <span className="text-muted">{t('settings.notSet')}</span>
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return <span className="min-w-0 truncate font-mono text-code">{text}</span>
}

const words: Readonly<Partial<Record<EffectiveValue['source'], StringKey>>> = {
  default: 'settings.source.default',
  api: 'settings.source.api',
  stored: 'settings.source.stored',
}

/** Where the value comes from, shortly: file and line, the variable, the flag. */
export function SourceTag({ setting: { source, where } }: { readonly setting: EffectiveValue }) {
  const word = words[source]
  if (source === 'default') return <span className="text-muted">{t('settings.source.default')}</span>
  const short = where?.slice(where.lastIndexOf('/') + 1)
  return (
    <span className="min-w-0 truncate" title={where ?? undefined}>
      <Tag>{word ? t(word) : short}</Tag>
    </span>
  )
}
