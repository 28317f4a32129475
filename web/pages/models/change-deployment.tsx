import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import type { ModelInfo } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { DeleteButton, Dialog } from '../../components/overlays/dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { useReadVersion } from '../../components/forms/read-version.ts'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../models.page.ts'

interface ChangeProps {
  readonly deployment: ModelInfo
  /** It is gone, and the drawer with it where it was the last one. */
  readonly onDeleted: () => void
}

/** Another key for the upstream, which is written and never read; another address; deleting. */
export function ChangeDeployment({ deployment, onDeleted }: ChangeProps) {
  const client = useQueryClient()
  const [isReplacing, setReplacing] = useState(false)
  const { id } = deployment.model_info
  const changed = () => {
    for (const name of ['models', 'model-names', 'overview']) void client.invalidateQueries({ queryKey: [name] })
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setReplacing(true)}>{t('models.replaceKey')}</Button>
      <DeleteButton
        title={t('models.delete')}
        description={t('models.deleteHelp', { name: deployment.model_name })}
        typed={deployment.model_name}
        remove={() => ask('POST /model/delete', { body: { id } })}
        onDone={() => {
          toast(t('models.deleted.toast', { name: deployment.model_name }))
          changed()
          onDeleted()
        }}
      />
      {isReplacing && (
        <ReplaceKey
          deployment={deployment}
          onClose={() => setReplacing(false)}
          onDone={() => {
            setReplacing(false)
            changed()
          }}
        />
      )}
    </div>
  )
}

interface ReplaceKeyProps {
  readonly deployment: ModelInfo
  readonly onClose: () => void
  readonly onDone: () => void
}

/** What is not typed stays as it is. The key that is stored cannot be shown. */
function ReplaceKey({ deployment, onClose, onDone }: ReplaceKeyProps) {
  const { id } = deployment.model_info
  const { version, onError } = useReadVersion(deployment.model_info.version, 'models')
  const before = deployment.proxy_params.api_base ?? ''
  const [key, setKey] = useState('')
  const [address, setAddress] = useState(before)
  const replace = useMutation({
    mutationFn: () =>
      ask('POST /model/update', {
        body: {
          model_info: { id },
          version,
          proxy_params: {
            ...(key.trim() !== '' && { api_key: key.trim() }),
            ...(address.trim() !== before && { api_base: address.trim() || null }),
          },
        },
      }),
    onSuccess: () => {
      toast(t('models.changed.toast', { name: deployment.model_name }))
      onDone()
    },
    onError,
  })
  const field = replace.error instanceof ApiError ? replace.error.field : null
  const isChanged = key !== '' || address.trim() !== before
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('models.replaceKey')}
      onSubmit={() => isChanged && replace.mutate()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={replace.isPending} disabled={!isChanged}>
            {t('edit.save')}
          </Button>
        </>
      }
    >
      <TextField
        label={t('setup.apiKey')}
        help={t('models.keyHelp')}
        type="password"
        value={key}
        onChange={setKey}
        error={field?.endsWith('api_key') ? replace.error!.message : null}
        isCode
      />
      <TextField
        label={t('setup.baseUrl')}
        value={address}
        onChange={setAddress}
        error={field?.endsWith('api_base') ? replace.error!.message : null}
        isCode
      />
      {replace.isError && !/api_(key|base)$/.test(field ?? '') && <ErrorState error={replace.error} isInline />}
    </Dialog>
  )
}
