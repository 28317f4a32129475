import { useState } from 'react'
import { useRotateKey } from '../../api/keys.ts'
import type { Key } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../keys.page.ts'
import { NewSecret } from './new-secret.tsx'

const graces = ['', '24h', '7d'] as const

/** Another text for the same key; the one before stays valid as long as its clients need. */
export function RotateKey({ keyRow, onClose }: { readonly keyRow: Key; readonly onClose: () => void }) {
  const rotate = useRotateKey()
  const [grace, setGrace] = useState<string>('24h')
  const name = keyRow.key_alias ?? keyRow.key_name
  if (rotate.data)
    return (
      <NewSecret
        title={t('keys.rotated', { name })}
        secret={rotate.data.key}
        models={rotate.data.models}
        onClose={onClose}
      />
    )
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('keys.rotateTitle', { name })}
      description={t('keys.rotateHelp')}
      onSubmit={() => rotate.mutate({ key: keyRow.token_id, ...(grace !== '' && { grace_period: grace }) })}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={rotate.isPending}>
            {t('keys.rotate')}
          </Button>
        </>
      }
    >
      <Select
        label={t('keys.grace')}
        value={grace}
        onChange={setGrace}
        choices={graces.map(value => ({ value, label: t(`keys.grace.${value === '' ? 'none' : value}`) }))}
      />
      {rotate.error && <ErrorState error={rotate.error} isInline />}
    </Dialog>
  )
}
