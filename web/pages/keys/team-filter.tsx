import { useTeamChoices } from '../../api/teams.ts'
import { Select } from '../../components/forms/select.tsx'
import { t } from '../keys.page.ts'

/** Where this person sees teams: those of one of them. */
export function TeamFilter({ team, onChange }: { readonly team: string; readonly onChange: (team: string) => void }) {
  const teams = useTeamChoices()
  if (team === '' && (teams ?? []).length === 0) return null
  const others = team === '' || teams?.some(one => one.value === team) ? [] : [{ value: team, label: team }]
  return (
    <Select
      isCompact
      label={t('keys.team')}
      value={team}
      onChange={onChange}
      choices={[{ value: '', label: t('keys.everyTeam') }, ...others, ...(teams ?? [])]}
    />
  )
}
