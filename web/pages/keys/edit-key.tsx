import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { Key } from '../../api/schema.d.ts'
import { EditForm, spendingOf } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../keys.page.ts'

const storedOf = (key: Key): Stored => ({
  version: key.version,
  values: { name: key.key_alias, models: key.models, ...spendingOf(key) },
})

/** Name, models, budget and limits of a key. */
export function EditKey({ info, onDone }: { readonly info: Key; readonly onDone: () => void }) {
  const client = useQueryClient()
  const key = info.token_id
  return (
    <EditForm
      stored={storedOf(info)}
      nameLabel={t('keys.name')}
      nameField="key_alias"
      save={({ name, models, ...changes }, version) =>
        ask('POST /key/update', {
          body: {
            key,
            version,
            ...changes,
            ...(models !== undefined && { models: [...models] }),
            ...(name !== undefined && { key_alias: name }),
          },
        })
      }
      reload={async () => storedOf((await ask('GET /key/info', { query: { key } })).info)}
      onDone={() => {
        toast(t('keys.changed.toast', { name: info.key_alias ?? info.key_name }))
        void client.invalidateQueries({ queryKey: ['keys'] })
        onDone()
      }}
      onCancel={onDone}
    />
  )
}
