/** The models of the hub: those that this person may call, or those that the operator shows to strangers. */
import { useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'
import type { PublicModels } from './schema.d.ts'
import { useIsSignedOut, useSession } from './session.ts'

/** One public name. Prices in US dollars a token, null = not known, absent = hidden from strangers. */
export type HubModel = PublicModels[number]

const byName = (one: HubModel, other: HubModel) => one.model_group.localeCompare(other.model_group)

const modelGroupsQuery = {
  queryKey: ['model-groups'],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const { data } = await ask('GET /model_group/info', { signal })
    return data.filter(one => !one.model_group.includes('*')).toSorted(byName)
  },
}

const publicModelsQuery = {
  queryKey: ['public-models'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('GET /public/model_hub', { signal })).toSorted(byName),
}

/** By name; patterns are left out, as they name no model. */
export function useModelGroups() {
  return useQuery(modelGroupsQuery)
}

/** The same for those who are not signed in, too. */
export function useHubModels() {
  const { isFetched } = useSession()
  const isSignedOut = useIsSignedOut()
  const own = useQuery({ ...modelGroupsQuery, enabled: isFetched && !isSignedOut })
  const open = useQuery({ ...publicModelsQuery, enabled: isSignedOut })
  const models: Pick<typeof open, 'data' | 'error' | 'refetch'> = isSignedOut ? open : own
  return { models, isSignedOut }
}

/** Shows a model to strangers, or hides it from them; the others stay as they are. */
export async function setPublic(name: string, isPublic: boolean): Promise<void> {
  const listed = (await ask('GET /public/model_hub')).map(one => one.model_group).filter(one => one !== name)
  await ask('POST /model_group/make_public', { body: { model_groups: isPublic ? [...listed, name] : listed } })
}
