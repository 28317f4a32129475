import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { t } from '../customers.page.ts'

interface CreateCustomerProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** The id that calls name, a name for people, a budget and limits. */
export function CreateCustomer({ onClose, onCreated }: CreateCustomerProps) {
  const [id, setId] = useState('')
  return (
    <CreateObject
      object="customer"
      title={t('customers.create')}
      isReady={() => isTyped(id)}
      make={values => ask('POST /customer/new', { body: { user_id: id.trim(), ...values } })}
      queryKey="customers"
      told={made => t('customers.created.toast', { name: made.user_id })}
      onClose={onClose}
      onMade={made => onCreated(made.user_id)}
      ownFields={['user_id']}
    >
      {problem => (
        <TextField
          label={t('customers.id')}
          help={t('customers.idHelp')}
          value={id}
          onChange={setId}
          error={problem('user_id')}
          maxLength={255}
          required
          isCode
        />
      )}
    </CreateObject>
  )
}
