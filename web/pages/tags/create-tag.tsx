import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { t } from '../tags.page.ts'

interface CreateTagProps {
  readonly onClose: () => void
  readonly onCreated: (name: string) => void
}

/** The name that calls use, a budget, limits and models. */
export function CreateTag({ onClose, onCreated }: CreateTagProps) {
  const [name, setName] = useState('')
  const made = name.trim()
  return (
    <CreateObject
      object="tag"
      title={t('tags.create')}
      isReady={() => isTyped(name)}
      make={values => ask('POST /tag/new', { body: { ...values, name: made } })}
      queryKey="tags"
      told={() => t('tags.created.toast', { name: made })}
      onClose={onClose}
      onMade={() => onCreated(made)}
      ownFields={['name']}
    >
      {problem => (
        <TextField
          label={t('tags.name')}
          help={t('tags.nameHelp')}
          value={name}
          onChange={setName}
          error={problem('name')}
          maxLength={128}
          required
          isCode
        />
      )}
    </CreateObject>
  )
}
