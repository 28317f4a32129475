import { BookOpen, ChevronDown, Keyboard, LogOut } from 'lucide-react'
import type { Session } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { apiUrl } from '../lib/places.ts'
import { setTheme, useTheme } from '../lib/theme.ts'
import type { Theme } from '../lib/theme.ts'
import { language, languages, setLanguage, t } from '../strings/index.ts'
import { useSignOut } from './sign-out.ts'

const themes = ['system', 'light', 'dark'] as const

/** Who is signed in; theme, language, sessions, signing out. */
export default function AccountMenu({
  session,
  onShortcuts,
}: {
  readonly session: Session
  readonly onShortcuts: () => void
}) {
  const theme = useTheme()
  const signOut = useSignOut()
  const name = session.alias ?? session.email ?? session.user_id ?? t('frame.operator')
  return (
    <Menu
      trigger={
        <Button kind="quiet" aria-label={`${t('frame.account')}: ${name}`}>
          <span className="max-w-48 truncate">{name}</span>
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuChoice
        label={t('frame.theme')}
        choices={themes.map(value => ({ value, label: t(`frame.theme.${value}`) }))}
        value={theme}
        onChange={value => setTheme(value as Theme)}
      />
      <MenuSeparator />
      <MenuChoice
        label={t('frame.language')}
        choices={Object.entries(languages).map(([value, label]) => ({ value, label }))}
        value={language}
        onChange={setLanguage}
      />
      <MenuSeparator />
      <MenuItem icon={<Keyboard size={16} aria-hidden />} onPress={onShortcuts}>
        {t('frame.shortcuts')}
      </MenuItem>
      <MenuItem icon={<BookOpen size={16} aria-hidden />} onPress={() => window.open(apiUrl('/docs'), '_blank')}>
        {t('frame.apiDocs')}
      </MenuItem>
      <MenuItem icon={<LogOut size={16} aria-hidden />} onPress={() => signOut.mutate()}>
        {t('frame.signOut')}
      </MenuItem>
    </Menu>
  )
}
