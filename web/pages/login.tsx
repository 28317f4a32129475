import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Panel } from '../components/page.tsx'
import { SignInForm } from '../frame/sign-in-form.tsx'
import { useSearchValue } from '../lib/address.ts'
import { apiUrl } from '../lib/urls.ts'
import { t, textOf } from '../strings/index.ts'
import { page } from './login.page.ts'

/** `/ui/login?from=/keys`: signs in, and leads back. */
export default function LoginPage() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [from] = useSearchValue('from', '/')
  // Only a path of these pages: another site's address would lead a person there with the trust of this one.
  const target = /^\/(?![/\\])/.test(from) ? from : '/'
  useEffect(() => {
    document.title = `${textOf(page.title)} · Modelgate`
  }, [])
  return (
    <div className="m-auto flex w-full max-w-dialog flex-col gap-4 p-4">
      <div className="flex items-center justify-center gap-3">
        <img src="./icon.svg" alt="" className="size-8" />
        <h1 className="text-title font-semibold">{textOf(page.title)}</h1>
      </div>
      <Panel>
        <SignInForm
          from={target}
          onSignedIn={() => {
            client.removeQueries()
            void navigate({ href: target, replace: true } as never)
          }}
        />
      </Panel>
      <p className="text-center text-muted">
        <a href={apiUrl('/fallback/login').href} className="target underline">
          {t('signIn.fallback')}
        </a>
      </p>
    </div>
  )
}
