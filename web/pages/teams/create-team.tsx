import { ask } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { Select } from '../../components/forms/select.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../teams.page.ts'
import { useState } from 'react'

interface CreateTeamProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Administrators make teams in any organization, or in none; admins of organizations make teams in these. */
export function CreateTeam({ onClose, onCreated }: CreateTeamProps) {
  const session = useSession().data
  const isForAny = session !== undefined && isAdministrator(session)
  const led = session?.organizations.filter(one => one.role === 'org_admin').map(one => one.id) ?? []
  const [organization, setOrganization] = useState(led[0] ?? '')
  return (
    <CreateObject
      object="team"
      title={t('teams.create')}
      without={isForAny ? [] : ['organization_id']}
      isReady={values => isTyped(values.team_alias)}
      make={values =>
        ask('POST /team/new', { body: { ...(!isForAny && { organization_id: organization || null }), ...values } })
      }
      queryKey="teams"
      told={made => t('teams.created.toast', { name: made.team_alias ?? made.team_id })}
      onClose={onClose}
      onMade={made => onCreated(made.team_id)}
      ownFields={['organization_id']}
    >
      {problem =>
        !isForAny &&
        led.length > 1 && (
          <Select
            label={t('teams.organization')}
            value={organization}
            onChange={setOrganization}
            error={problem('organization_id')}
            choices={led.map(value => ({ value, label: value }))}
          />
        )
      }
    </CreateObject>
  )
}
