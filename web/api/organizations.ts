/** Organizations as choices: by their names, which are not their ids. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'

/** So many are offered at once; others are found by a part of their name. */
const offered = 100

/** The organizations that this person may see, newest first, or those with `searched` in their name. */
export function useOrganizationChoices(searched: string) {
  const found = useQuery({
    queryKey: ['organizations', 'choices', searched],
    queryFn: ({ signal }) =>
      ask('GET /v2/organization/list', { query: { page_size: offered, organization_alias: searched.trim() }, signal }),
    placeholderData: keepPreviousData,
    select: ({ organizations }) =>
      organizations.map(one => ({ value: one.organization_id, label: one.organization_alias ?? one.organization_id })),
  })
  return found.data ?? []
}
