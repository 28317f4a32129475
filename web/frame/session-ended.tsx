import { Dialog } from '../components/overlays/dialog.tsx'
import { t } from '../strings/index.ts'
import { SignInForm } from './sign-in-form.tsx'

/** Above the page, which keeps what was typed. Single sign-on has to leave it, and comes back to its address. */
export default function SessionEnded({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const from = location.pathname.slice(new URL(document.baseURI).pathname.length - 1) + location.search
  return (
    <Dialog open isModalOnly title={t('signIn.ended')} description={t('signIn.endedHelp')}>
      <SignInForm onSignedIn={onSignedIn} from={from} />
    </Dialog>
  )
}
