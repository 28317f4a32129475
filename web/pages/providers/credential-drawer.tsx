import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Credential } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { useReadVersion } from '../../components/forms/read-version.ts'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../providers.page.ts'

interface CredentialDrawerProps {
  readonly credential: Credential
  /** Public names of the models that refer to it. */
  readonly models: readonly string[]
  readonly mayChange: boolean
  readonly onClose: () => void
}

/** One credential: what it holds, who uses it, and, where it was made by API, a new key or its end. */
export function CredentialDrawer({ credential, models, mayChange, onClose }: CredentialDrawerProps) {
  const client = useQueryClient()
  const [isRotating, setRotating] = useState(false)
  const { credential_name: name, credential_values: values, source, problem } = credential
  const isOfApi = source === 'api'
  const actions = mayChange && isOfApi && (
    <>
      <Button onClick={() => setRotating(true)}>{t('providers.rotate')}</Button>
      <DeleteButton
        title={t('providers.delete')}
        description={t('providers.deleteHelp')}
        typed={name}
        remove={() => ask('DELETE /credentials/{credential_name}', { path: { credential_name: name } })}
        onDone={() => {
          toast(t('providers.deleted', { name }))
          onClose()
          void client.invalidateQueries({ queryKey: ['credentials'] })
        }}
      />
    </>
  )
  return (
    <Drawer open onClose={onClose} title={name} actions={actions}>
      <div className="flex flex-col gap-4">
        {problem && <p className="break-words border-l-2 border-bad pl-3">{problem}</p>}
        {!isOfApi && <p className="text-muted">{t('providers.ofFile', { where: source })}</p>}
        <Facts
          facts={[
            ...Object.entries(values).map(([key, value]) => ({ name: key, value: String(value) })),
            { name: t('providers.used'), value: models.length > 0 ? models.join(', ') : t('all.none') },
          ]}
        />
        <p className="text-muted">{t('providers.writeOnly')}</p>
      </div>
      {isRotating && <RotateCredential credential={credential} onClose={() => setRotating(false)} />}
    </Drawer>
  )
}

function RotateCredential({ credential, onClose }: { readonly credential: Credential; readonly onClose: () => void }) {
  const client = useQueryClient()
  const [apiKey, setApiKey] = useState('')
  const { credential_name } = credential
  const { version, onError } = useReadVersion(credential.version, 'credentials')
  const rotate = useMutation({
    mutationFn: () =>
      ask('PATCH /credentials/{credential_name}', {
        path: { credential_name },
        body: { credential_values: { api_key: apiKey.trim() }, version },
      }),
    onSuccess: () => {
      toast(t('providers.rotated', { name: credential_name }))
      onClose()
      return client.invalidateQueries({ queryKey: ['credentials'] })
    },
    onError,
  })
  return (
    <CreateDialog
      onClose={onClose}
      title={t('providers.rotate')}
      isReady={apiKey.trim() !== ''}
      create={rotate}
      fields={[]}
    >
      <TextField
        label={t('setup.apiKey')}
        help={t('providers.rotateHelp')}
        type="password"
        value={apiKey}
        onChange={setApiKey}
        isCode
      />
    </CreateDialog>
  )
}
