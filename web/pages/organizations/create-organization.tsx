import { ask } from '../../api/client.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { t } from '../organizations.page.ts'

interface CreateOrganizationProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Name, models, budget and limits; members are set in the organization. */
export function CreateOrganization({ onClose, onCreated }: CreateOrganizationProps) {
  return (
    <CreateObject
      object="organization"
      title={t('organizations.create')}
      isReady={values => isTyped(values.organization_alias)}
      make={values =>
        ask('POST /organization/new', {
          body: { ...values, organization_alias: values.organization_alias ?? '' },
        })
      }
      queryKey="organizations"
      told={made => t('organizations.created.toast', { name: made.organization_alias ?? made.organization_id })}
      onClose={onClose}
      onMade={made => onCreated(made.organization_id)}
    />
  )
}
