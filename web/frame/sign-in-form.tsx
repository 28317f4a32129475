import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { ApiError } from '../api/client.ts'
import { setDevelopmentKey } from '../api/development-key.ts'
import { methodsQuery, signIn } from '../api/session.ts'
import type { SignInMethod } from '../api/session.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { TextField } from '../components/field.tsx'
import { ErrorState, Skeleton } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { apiUrl } from '../lib/places.ts'
import { t } from '../strings/index.ts'

interface SignInFormProps {
  readonly onSignedIn: () => void
  /** Where single sign-on comes back to: a path below the pages. */
  readonly from: string
}

const isDevelopment = import.meta.env.MODE === 'development'

/** Every way that the gateway offers: single sign-on first, then passwords, then the master key. */
export function SignInForm({ onSignedIn, from }: SignInFormProps) {
  const methods = useQuery(methodsQuery)
  if (methods.isPending) return <Skeleton className="h-40" />
  if (methods.isError && !isDevelopment)
    return <ErrorState error={methods.error} onRetry={() => void methods.refetch()} />
  const offered: readonly SignInMethod[] = methods.data ?? [{ kind: 'master-key' }]
  const has = (kind: SignInMethod['kind']) => offered.some(one => one.kind === kind)
  const tabs = [
    ...(has('password')
      ? [{ value: 'password', label: t('signIn.password'), content: <PasswordForm onSignedIn={onSignedIn} /> }]
      : []),
    ...(has('master-key')
      ? [{ value: 'master-key', label: t('signIn.masterKey'), content: <KeyForm onSignedIn={onSignedIn} /> }]
      : []),
  ]
  return (
    <div className="flex flex-col gap-4">
      {offered.map(one => one.kind === 'sso' && <SingleSignOn key={one.url} method={one} from={from} />)}
      {tabs.length > 1 ? <Tabs label={t('signIn.title')} tabs={tabs} /> : tabs[0]?.content}
    </div>
  )
}

function SingleSignOn({ method, from }: { method: Extract<SignInMethod, { kind: 'sso' }>; from: string }) {
  const url = apiUrl(method.url)
  url.searchParams.set('redirect', `ui${from}`)
  return (
    <a href={url.href} className={buttonClass('primary')}>
      {t('signIn.with', { name: method.name })}
    </a>
  )
}

/** What was wrong stands at the field; other failures below the form. */
function useSignIn(onSignedIn: () => void) {
  const mutation = useMutation({ mutationFn: signIn, onSuccess: onSignedIn })
  const { error } = mutation
  const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 429)
  return { mutation, refusal: isRefused ? error.message : null, failure: isRefused ? null : error }
}

function PasswordForm({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const { mutation, refusal, failure } = useSignIn(onSignedIn)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutation.mutate({ username, password })
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label={t('signIn.username')}
        name="username"
        autoComplete="username"
        required
        value={username}
        onChange={setUsername}
      />
      <TextField
        label={t('signIn.password')}
        name="password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={setPassword}
        error={refusal}
      />
      {failure && <ErrorState error={failure} isInline />}
      <Button kind="primary" type="submit" busy={mutation.isPending}>
        {t('signIn.action')}
      </Button>
    </form>
  )
}

function KeyForm({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [key, setKey] = useState('')
  const { mutation, refusal, failure } = useSignIn(onSignedIn)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutation.mutate({ key })
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label={t('signIn.masterKey')}
        help={t('signIn.masterKeyHelp')}
        name="key"
        type="password"
        autoComplete="off"
        required
        value={key}
        onChange={setKey}
        error={refusal}
        isCode
      />
      {failure && <ErrorState error={failure} isInline />}
      <Button kind="primary" type="submit" busy={mutation.isPending}>
        {t('signIn.action')}
      </Button>
      {isDevelopment && (
        <Button
          onClick={() => {
            setDevelopmentKey(key)
            onSignedIn()
          }}
        >
          {t('signIn.development')}
        </Button>
      )}
    </form>
  )
}
