/** Teams as choices: by their names, which are not their ids. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'

/** So many are offered at once; others are found by a part of their name. */
const offered = 100

/** A team to choose. */
interface TeamChoice {
  readonly value: string
  readonly label: string
}

/** The teams that this person may see, newest first, or those with `searched` in their name; undefined = on the way. */
export function useTeamChoices(searched = ''): readonly TeamChoice[] | undefined {
  return useQuery({
    queryKey: ['teams', 'choices', searched],
    queryFn: ({ signal }) =>
      ask('GET /v2/team/list', { query: { page_size: offered, team_alias: searched.trim() }, signal }),
    placeholderData: keepPreviousData,
    select: ({ teams }) => teams.map(({ team_id, team_alias }) => ({ value: team_id, label: team_alias ?? team_id })),
  }).data
}
