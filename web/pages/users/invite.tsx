import { useMutation } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { User } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { Secret } from '../../components/id.tsx'
import { reportError } from '../../components/report-error.ts'
import { Ago } from '../../components/values.tsx'
import { t } from '../users.page.ts'

/** A link by which the user sets a password: mailed where the gateway can, and shown once. */
export function Invite({ user }: { readonly user: User }) {
  const invite = useMutation({
    mutationFn: () => ask('POST /sign-in/invitations', { body: { user_id: user.user_id } }),
    onError: reportError,
  })
  const made = invite.data
  return (
    <>
      <Button busy={invite.isPending} disabled={user.blocked} onClick={() => invite.mutate()}>
        {t('users.invite')}
      </Button>
      {made && (
        <Dialog
          open
          isModalOnly
          onClose={() => invite.reset()}
          title={t('users.invite.title', { name: user.user_email ?? user.user_id })}
          description={t(made.email_sent ? 'users.invite.sent' : 'users.invite.notSent')}
        >
          <Secret secret={made.url} action={t('users.invite.copy')} />
          {made.email_problem !== null && <p className="border-l-2 border-warn pl-3">{made.email_problem}</p>}
          <p className="text-muted">
            {t('users.invite.ends')} <Ago at={made.expires_at} />
          </p>
        </Dialog>
      )}
    </>
  )
}
