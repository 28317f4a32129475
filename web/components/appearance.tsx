import { setTheme, useTheme } from '../lib/theme.ts'
import { language, languages, setLanguage, t } from '../strings/index.ts'
import { Panel } from './page.tsx'
import { Select } from './forms/select.tsx'

const themes = ['system', 'light', 'dark'] as const

/** Theme and language of this person in this browser. */
export function Appearance() {
  const theme = useTheme()
  return (
    <Panel title={t('appearance.title')}>
      <div className="grid gap-3 narrow:grid-cols-2">
        <Select
          label={t('frame.theme')}
          choices={themes.map(value => ({ value, label: t(`frame.theme.${value}`) }))}
          value={theme}
          onChange={setTheme}
        />
        <Select
          label={t('frame.language')}
          choices={Object.entries(languages).map(([value, label]) => ({ value, label }))}
          value={language}
          onChange={setLanguage}
        />
      </div>
      <p className="text-muted">{t('appearance.help')}</p>
    </Panel>
  )
}
