import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCreateKey } from '../../api/keys.ts'
import { useModelNames } from '../../api/models.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { MultiCombobox } from '../../components/combobox.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../../strings/index.ts'
import { NewSecret } from './new-secret.tsx'

/** Three fields; what was made takes their place. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const create = useCreateKey()
  const made = create.data
  if (made)
    return (
      <NewSecret
        title={t('keys.created.title', { name: made.key_alias ?? made.key_name })}
        secret={made.key}
        models={made.models}
        onClose={onClose}
      />
    )
  return <CreateForm create={create} onClose={onClose} />
}

interface CreateFormProps {
  readonly create: ReturnType<typeof useCreateKey>
  readonly onClose: () => void
}

function CreateForm({ create, onClose }: CreateFormProps) {
  const [name, setName] = useState('')
  const [team, setTeam] = useState('')
  const [models, setModels] = useState<string[]>([])
  const names = useModelNames().data ?? []
  const teams = useSession().data?.teams ?? []
  const { error } = create
  const field = error instanceof ApiError ? error.field : null
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('keys.create')}
      description={t('keys.createHelp')}
      onSubmit={() =>
        create.mutate({ key_alias: name.trim() || null, team_id: team || null, ...(models.length > 0 && { models }) })
      }
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={create.isPending}>
            {t('keys.create')}
          </Button>
        </>
      }
    >
      <TextField
        label={t('keys.name')}
        help={t('keys.nameHelp')}
        value={name}
        onChange={setName}
        maxLength={255}
        error={field === 'key_alias' ? error!.message : null}
      />
      {teams.length > 0 && (
        <Select
          label={t('keys.team')}
          value={team}
          onChange={setTeam}
          error={field === 'team_id' ? error!.message : null}
          choices={[{ value: '', label: t('keys.noTeam') }, ...teams.map(one => ({ value: one.id, label: one.id }))]}
        />
      )}
      <MultiCombobox
        label={t('keys.models')}
        help={t('keys.modelsHelp')}
        placeholder={t('keys.allModels')}
        choices={names.map(value => ({ value, label: value }))}
        value={models}
        onChange={setModels}
        error={field === 'models' ? error!.message : null}
      />
      {error && !['key_alias', 'team_id', 'models'].includes(field ?? '') && <ErrorState error={error} isInline />}
    </Dialog>
  )
}
