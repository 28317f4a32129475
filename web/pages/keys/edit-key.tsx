import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { Key } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { toast } from '../../components/overlays/toast.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../keys.page.ts'
import { ofAdministrators } from './create-key.tsx'

/** What a person sets of a key. */
export function EditKey({ info, onDone }: { readonly info: Key; readonly onDone: () => void }) {
  const client = useQueryClient()
  const session = useSession().data
  const without = session && isAdministrator(session) ? [] : ofAdministrators
  const storedOf = (one: Key): Stored<'key'> => ({ version: one.version, values: valuesOf('key', one, { without }) })
  const key = info.token_id
  return (
    <EditForm
      object="key"
      stored={storedOf(info)}
      save={(changes, version) => ask('POST /key/update', { body: { key, version, ...changes } })}
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
