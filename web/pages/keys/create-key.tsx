import { useState } from 'react'
import { useCreateKey } from '../../api/keys.ts'
import { useSession } from '../../api/session.ts'
import { withoutBlanks } from '../../components/forms/create-object.tsx'
import { cleaned, problemsOf } from '../../components/forms/edit-form.tsx'
import { ObjectFields } from '../../components/forms/object-fields.tsx'
import { formFields } from '../../components/forms/object-forms.ts'
import type { FieldName, ObjectValues } from '../../components/forms/object-forms.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../keys.page.ts'
import { NewSecret } from './new-secret.tsx'

/** Administrators alone choose whose a key is, and assign named budgets: keys of others are their own. */
export const ofAdministrators: readonly FieldName[] = ['user_id', 'organization_id', 'budget_id']

/** Its fields, most of them in folds; what was made takes their place. */
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
  const session = useSession().data
  const account = session?.user_id ?? null
  const mayChoose = session !== undefined && isAdministrator(session)
  // An administrator who is a user makes keys of its own, unless another owner is chosen.
  const [values, setValues] = useState<ObjectValues<'key'>>({
    duration: null,
    ...(account !== null && { user_id: account }),
  })
  const offered = formFields('key').filter(name => mayChoose || !ofAdministrators.includes(name))
  const { problem } = problemsOf(create.error, offered)
  return (
    <CreateDialog
      onClose={onClose}
      title={t('keys.create')}
      description={t(account === null ? 'keys.createHelpOperator' : 'keys.createHelp')}
      isReady
      create={{ ...create, mutate: () => create.mutate(withoutBlanks(cleaned(values))) }}
      fields={offered}
    >
      <ObjectFields
        object="key"
        offered={offered}
        values={values}
        problem={problem}
        onChange={change => setValues(before => ({ ...before, ...change }))}
      />
    </CreateDialog>
  )
}
