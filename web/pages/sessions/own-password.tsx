import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { Form } from '../../components/forms/form.tsx'
import { Panel } from '../../components/page.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../sessions.page.ts'

const fields = ['current_password', 'new_password']

/** Another password for the person who is signed in: with the present one, and typed twice, as it is not shown. */
export function OwnPassword() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [again, setAgain] = useState('')
  const change = useMutation({
    mutationFn: () => ask('POST /sign-in/password', { body: { current_password: current, new_password: next } }),
    onSuccess: () => {
      toast(t('sessions.passwordChanged'))
      for (const set of [setCurrent, setNext, setAgain]) set('')
    },
  })
  const { error } = change
  const problem = (name: string) => (error instanceof ApiError && error.field === name ? error.message : null)
  const isElsewhere = error && !(error instanceof ApiError && fields.includes(error.field ?? ''))
  const isDifferent = again !== '' && again !== next
  return (
    <Panel title={t('sessions.password')}>
      <Form
        className="flex max-w-dialog flex-col gap-4"
        onSubmit={() => {
          if (next === again) change.mutate()
        }}
      >
        <PasswordField
          label={t('sessions.passwordCurrent')}
          value={current}
          onChange={setCurrent}
          error={problem('current_password')}
          autoComplete="current-password"
        />
        <PasswordField
          label={t('sessions.passwordNew')}
          help={t('sessions.passwordHelp')}
          value={next}
          onChange={setNext}
          error={problem('new_password')}
          autoComplete="new-password"
        />
        <PasswordField
          label={t('sessions.passwordAgain')}
          value={again}
          onChange={setAgain}
          error={isDifferent ? t('sessions.passwordDifferent') : null}
          autoComplete="new-password"
        />
        {isElsewhere && <ErrorState error={error} isInline />}
        <div>
          <Button type="submit" busy={change.isPending} disabled={current === '' || next === '' || next !== again}>
            {t('sessions.passwordChange')}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

interface PasswordFieldProps {
  readonly label: string
  readonly help?: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | null
  readonly autoComplete: 'current-password' | 'new-password'
}

function PasswordField(props: PasswordFieldProps) {
  return <TextField {...props} type="password" maxLength={256} required />
}
