import { BookOpen, Keyboard, LogOut } from 'lucide-react'
import type { Session } from '../api/session.ts'
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../components/overlays/menu.tsx'
import { apiUrl } from '../lib/urls.ts'
import { setTheme, useTheme } from '../lib/theme.ts'
import type { Theme } from '../lib/theme.ts'
import { language, languages, setLanguage, t } from '../strings/index.ts'
import { AccountButton } from './account-button.tsx'
import { useSignOut } from './sign-out.ts'

const themes = ['system', 'light', 'dark'] as const

/** Who is signed in; theme, language, sessions, signing out. Open at first: it is loaded when it is asked for. */
export default function AccountMenu({
  session,
  onShortcuts,
}: {
  readonly session: Session
  readonly onShortcuts: () => void
}) {
  const theme = useTheme()
  const signOut = useSignOut()
  return (
    <Menu trigger={<AccountButton session={session} />} isOpenAtFirst>
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
