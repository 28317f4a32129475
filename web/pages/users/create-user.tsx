import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { Select } from '../../components/forms/select.tsx'
import { t } from '../users.page.ts'
import { roleName, userRoles } from './roles.ts'
import type { UserRole } from './roles.ts'

interface CreateUserProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** E-mail address, name, role and limits. A key is made by the user, or in Keys. */
export function CreateUser({ onClose, onCreated }: CreateUserProps) {
  const [role, setRole] = useState<UserRole>('internal_user')
  return (
    <CreateObject
      object="user"
      title={t('users.create')}
      open={[]}
      isReady={values => isTyped(values.user_email)}
      make={values => ask('POST /user/new', { body: { user_role: role, auto_create_key: false, ...values } })}
      queryKey="users"
      told={made => t('users.created.toast', { name: made.user_email ?? made.user_id })}
      onClose={onClose}
      onMade={made => onCreated(made.user_id)}
      further={
        <Select
          label={t('users.role')}
          value={role}
          onChange={setRole}
          choices={userRoles.map(value => ({ value, label: roleName(value) }))}
        />
      }
    />
  )
}
