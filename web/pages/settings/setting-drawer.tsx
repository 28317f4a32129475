import type { EffectiveValue } from '../../api/schema.d.ts'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { t } from '../settings.page.ts'
import type { StringKey } from '../settings.page.ts'

/** What to do where a value comes from. */
const remedies: Readonly<Record<EffectiveValue['source'], StringKey>> = {
  file: 'settings.change.file',
  environment: 'settings.change.environment',
  flag: 'settings.change.flag',
  api: 'settings.change.api',
  stored: 'settings.change.stored',
  default: 'settings.change.default',
}

/** One setting: what it does, its whole value, and where it is changed. */
export function SettingDrawer({
  setting,
  onClose,
}: {
  readonly setting: EffectiveValue
  readonly onClose: () => void
}) {
  const { key, value, source, where, reference, description, secret } = setting
  const remedy = t(remedies[source], { where: where ?? '', key })
  return (
    <Drawer open onClose={onClose} title={key}>
      <div className="flex flex-col gap-4">
        {description && <p lang="en">{description}</p>}
        {value !== null && (
          <CodeBlock
            label={t('settings.value')}
            snippets={[
              { title: t('settings.value'), code: typeof value === 'string' ? value : JSON.stringify(value, null, 2) },
            ]}
          />
        )}
        <Facts
          facts={[
            { name: t('settings.source'), value: where ?? t(`settings.source.${source}`) },
            ...(reference === null ? [] : [{ name: t('settings.reference'), value: reference }]),
          ]}
        />
        {secret && value !== null && <p className="text-muted">{t('settings.secret')}</p>}
        <p className="text-muted">{remedy}</p>
      </div>
    </Drawer>
  )
}
