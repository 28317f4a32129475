import { ChevronDown } from 'lucide-react'
import type { Session } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import type { ButtonProps } from '../components/button.tsx'
import { t } from '../strings/index.ts'

/** Who is signed in. What it opens is `account-menu.tsx`. */
export function AccountButton({ session, ...others }: { readonly session: Session } & ButtonProps) {
  const name = session.alias ?? session.email ?? session.user_id ?? t('frame.operator')
  return (
    <Button {...others} kind="quiet" aria-label={`${t('frame.account')}: ${name}`}>
      <span className="max-w-48 truncate">{name}</span>
      <ChevronDown size={14} aria-hidden />
    </Button>
  )
}
