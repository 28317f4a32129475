import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { ApiError } from '../api/client.ts'
import { setDevelopmentKey } from '../api/development-key.ts'
import { methodsQuery, signIn } from '../api/session.ts'
import type { SignInMethods } from '../api/session.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { TextField } from '../components/forms/field.tsx'
import { ErrorState, Skeleton } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { apiUrl } from '../lib/urls.ts'
import { page } from '../pages/login.page.ts'
import { t, textOf } from '../strings/index.ts'

interface SignInFormProps {
  readonly onSignedIn: () => void
  /** Where single sign-on comes back to: a path below the pages. */
  readonly from: string
}

const isDevelopment = import.meta.env.MODE === 'development'

/** Every way that the gateway offers: single sign-on first, then passwords, then the master key. */
export function SignInForm({ onSignedIn, from }: SignInFormProps) {
  const methods = useQuery(methodsQuery)
  const form = useRef<HTMLDivElement>(null)
  const hasFieldsAlone = methods.data?.providers.length === 0
  useEffect(() => {
    if (hasFieldsAlone) form.current?.querySelector('input')?.focus()
  }, [hasFieldsAlone])
  if (methods.isPending) return <Skeleton className="h-40" />
  if (methods.isError) return <ErrorState error={methods.error} onRetry={() => void methods.refetch()} />
  const { password, providers, forgotten_password_url: forgottenPasswordUrl } = methods.data
  const tabs = [
    {
      value: 'user',
      label: t('signIn.asUser'),
      content: (
        <>
          <WordsForm key="user" kind="user" onSignedIn={onSignedIn} />
          {forgottenPasswordUrl !== null && (
            <p className="mt-4">
              <a href={apiUrl(forgottenPasswordUrl).href} className="target underline">
                {t('signIn.forgotten')}
              </a>
            </p>
          )}
        </>
      ),
    },
    {
      value: 'operator',
      label: t('signIn.asOperator'),
      content: <WordsForm key="operator" kind="operator" onSignedIn={onSignedIn} />,
    },
  ]
  return (
    <div ref={form} className="flex flex-col gap-4">
      {providers.map(one => (
        <SingleSignOn key={one.name} provider={one} from={from} />
      ))}
      {password && <Tabs label={textOf(page.title)} tabs={tabs} />}
    </div>
  )
}

function SingleSignOn({ provider, from }: { provider: SignInMethods['providers'][number]; from: string }) {
  const url = apiUrl(provider.url)
  url.searchParams.set('return_to', `/ui${from}`)
  return (
    <a href={url.href} className={buttonClass('primary')}>
      {t('signIn.with', { name: provider.display_name })}
    </a>
  )
}

interface WordsFormProps {
  /** The operator has no user name, and the master key as password. */
  readonly kind: 'user' | 'operator'
  readonly onSignedIn: () => void
}

function WordsForm({ kind, onSignedIn }: WordsFormProps) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const { mutate, error, isPending } = useMutation({ mutationFn: signIn, onSuccess: onSignedIn })
  // What was wrong stands at the field; other failures below.
  const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 429)
  const isOperator = kind === 'operator'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutate({ username: isOperator ? '' : username, password })
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {!isOperator && (
        <TextField
          label={t('signIn.username')}
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          required
          value={username}
          onChange={setUsername}
        />
      )}
      <TextField
        label={isOperator ? t('signIn.masterKey') : t('signIn.password')}
        help={isOperator ? t('signIn.masterKeyHelp') : undefined}
        name="password"
        type="password"
        autoComplete={isOperator ? 'off' : 'current-password'}
        required
        value={password}
        onChange={setPassword}
        error={isRefused ? error.message : null}
        isCode={isOperator}
      />
      {error && !isRefused && <ErrorState error={error} isInline />}
      <Button kind="primary" type="submit" busy={isPending}>
        {t('signIn.action')}
      </Button>
      {isDevelopment && isOperator && (
        <Button
          onClick={() => {
            setDevelopmentKey(password)
            onSignedIn()
          }}
        >
          {t('signIn.development')}
        </Button>
      )}
    </form>
  )
}
