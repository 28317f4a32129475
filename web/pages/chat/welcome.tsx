import { Ghost, MessageSquare } from 'lucide-react'
import { useSession } from '../../api/session.ts'
import { t } from '../chat.page.ts'

interface WelcomeProps {
  readonly isTemporary: boolean
  /** Why nothing can be kept; null = it can. */
  readonly problem: string | null
}

/** Before the first question: what becomes of what is written here. */
export function Welcome({ isTemporary, problem }: WelcomeProps) {
  const session = useSession().data
  const name = session?.alias ?? session?.user_id
  const Icon = isTemporary ? Ghost : MessageSquare
  return (
    <div className="mx-auto flex max-w-dialog flex-col items-center gap-3 py-8 text-center text-muted">
      <Icon size={24} aria-hidden />
      <h2 className="text-title font-semibold text-text">
        {name ? t('chat.welcomeName', { name }) : t('chat.welcome')}
      </h2>
      <p>{t(isTemporary ? 'chat.temporary' : 'chat.stored')}</p>
      {problem !== null && <p className="break-words">{t('chat.notKept', { problem })}</p>}
      <p className="text-code">{t('chat.keys')}</p>
    </div>
  )
}
