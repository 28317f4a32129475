/** The models that this person may call, with what they can and cost. */
import { useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'
import type { ModelGroupList } from './schema.d.ts'

/** One public name. Prices in US dollars a token, null = not known. */
export type ModelGroup = ModelGroupList['data'][number]

/** By name; patterns are left out, as they name no model. */
export function useModelGroups() {
  return useQuery({
    queryKey: ['model-groups'],
    queryFn: async ({ signal }) => {
      const { data } = await ask('GET /model_group/info', { signal })
      return data
        .filter(one => !one.model_group.includes('*'))
        .toSorted((one, other) => one.model_group.localeCompare(other.model_group))
    },
  })
}
