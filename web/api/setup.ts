/** What the overview shows, and how far a new installation is: a model of a provider, a key, a first call. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask } from './client.ts'
import type { Overview } from './schema.d.ts'

/** While the first call is waited for. */
const pollMs = 3000
/** Of an installation that is set up. */
const refreshMs = 60_000

/** What has been done of the setup. */
export type Setup = NonNullable<Overview['setup']>

/** Asked again every few seconds until the setup is done, then every minute. */
export function useOverview() {
  return useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => ask('GET /overview', { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: query => {
      const setup = query.state.data?.setup
      return setup && !isDone(setup) ? pollMs : refreshMs
    },
  })
}

export const isDone = ({ has_model: model, has_key: key, has_call: call }: Setup): boolean => model && key && call

/** A model of a provider with the key of an account there. */
export interface NewModel {
  /** A provider's name, as in configurations: `openai`. */
  readonly provider: string
  /** As the provider calls it. */
  readonly model: string
  /** Empty = the provider asks for none. */
  readonly apiKey: string
  /** Empty = the provider's own. */
  readonly baseUrl: string
  /** Further fields of `proxy_params`: a region, a project. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** What a model may be of. */
export function useSupportedProviders() {
  return useQuery({
    queryKey: ['supported-providers'],
    queryFn: async ({ signal }) => (await ask('GET /providers', { signal })).providers,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function useAddModel() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ provider, model, apiKey, baseUrl, parameters }: NewModel) =>
      ask('POST /model/new', {
        body: {
          model_name: model,
          proxy_params: {
            model: `${provider}/${model}`,
            ...(apiKey !== '' && { api_key: apiKey }),
            ...(baseUrl !== '' && { api_base: baseUrl }),
            ...parameters,
          },
        },
      }),
    onSuccess: () =>
      Promise.all(['overview', 'models', 'model-names'].map(name => client.invalidateQueries({ queryKey: [name] }))),
  })
}
