import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../providers.page.ts'

/** A key, and where it is for, under a name that models refer to. */
export function CreateCredential({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [apiKey, setApiKey] = useState('')
  const [address, setAddress] = useState('')
  const create = useMutation({
    mutationFn: () => {
      const values = { ...(apiKey.trim() && { api_key: apiKey.trim() }), ...(address && { api_base: address.trim() }) }
      return ask('POST /credentials', { body: { credential_name: name.trim(), credential_values: values } })
    },
    onSuccess: () => {
      toast(t('providers.created', { name: name.trim() }))
      onClose()
      return client.invalidateQueries({ queryKey: ['credentials'] })
    },
  })
  const field = create.error instanceof ApiError ? create.error.field : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('providers.create')}
      isReady={name.trim() !== '' && (apiKey.trim() !== '' || address.trim() !== '')}
      create={create}
      fields={['credential_name']}
    >
      <TextField
        label={t('providers.name')}
        value={name}
        onChange={setName}
        maxLength={200}
        isCode
        error={field === 'credential_name' ? create.error!.message : null}
      />
      <TextField
        label={t('setup.apiKey')}
        help={t('providers.writeOnly')}
        type="password"
        value={apiKey}
        onChange={setApiKey}
        isCode
      />
      <TextField
        label={t('providers.address')}
        help={t('providers.addressHelp')}
        value={address}
        onChange={setAddress}
        isCode
        isOptional
      />
    </CreateDialog>
  )
}
