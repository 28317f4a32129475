import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { Select } from '../../components/forms/select.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../users.page.ts'
import { roleName, userRoles } from './roles.ts'
import type { UserRole } from './roles.ts'

interface CreateUserProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** E-mail address, name and role. A key is made by the user, or in Keys. */
export function CreateUser({ onClose, onCreated }: CreateUserProps) {
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<UserRole>('internal_user')
  const create = useMutation({
    mutationFn: () =>
      ask('POST /user/new', {
        body: {
          user_email: email.trim(),
          user_role: role,
          auto_create_key: false,
          ...(name.trim() !== '' && { user_alias: name.trim() }),
        },
      }),
    onSuccess: user => {
      toast(t('users.created.toast', { name: email.trim() }))
      void client.invalidateQueries({ queryKey: ['users'] })
      onClose()
      onCreated(user.user_id)
    },
  })
  const problem = create.error instanceof ApiError && create.error.field === 'user_email' ? create.error.message : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('users.create')}
      isReady={email.trim() !== ''}
      create={create}
      fields={['user_email']}
    >
      <TextField label={t('users.email')} type="email" value={email} onChange={setEmail} error={problem} required />
      <TextField label={t('users.displayName')} value={name} onChange={setName} isOptional />
      <Select
        label={t('users.role')}
        value={role}
        onChange={setRole}
        choices={userRoles.map(value => ({ value, label: roleName(value) }))}
      />
    </CreateDialog>
  )
}
