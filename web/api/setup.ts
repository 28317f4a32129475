/** How far a new installation is: a model of a provider, a key, a first call. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask } from './client.ts'

/** The models that are built in, to try the gateway without any provider. */
const builtIn = 'local'
/** While the first call is waited for. */
const pollMs = 3000

/** What has been done of the setup. */
export interface Setup {
  readonly hasModel: boolean
  readonly hasKey: boolean
  readonly hasCall: boolean
}

/** Asked again every few seconds until all is done; for administrators. */
export function useSetup(isAsked: boolean) {
  return useQuery({
    queryKey: ['setup'],
    enabled: isAsked,
    queryFn: async ({ signal }): Promise<Setup> => {
      const [models, keys, calls] = await Promise.all([
        ask('GET /v1/model/info', { signal }),
        ask('GET /key/list', { query: { size: 1 }, signal }),
        ask('GET /spend/logs', { query: { limit: 1, outcome: 'success' }, signal }),
      ])
      return {
        hasModel: models.data.some(one => one.model_info.provider !== builtIn),
        hasKey: keys.keys.length > 0,
        hasCall: calls.data.length > 0,
      }
    },
    refetchInterval: query => (query.state.data && !isDone(query.state.data) ? pollMs : false),
  })
}

export const isDone = ({ hasModel, hasKey, hasCall }: Setup): boolean => hasModel && hasKey && hasCall

/** A model of a provider with the key of an account there. */
export interface NewModel {
  /** A provider's name, as in configurations: `openai`. */
  readonly provider: string
  /** As the provider calls it. */
  readonly model: string
  /** Empty = the provider asks for none. */
  readonly apiKey: string
  /** Of a server of one's own. */
  readonly baseUrl?: string
}

export function useAddModel() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ provider, model, apiKey, baseUrl }: NewModel) =>
      ask('POST /model/new', {
        body: {
          model_name: model,
          proxy_params: {
            model: `${provider}/${model}`,
            ...(apiKey !== '' && { api_key: apiKey }),
            ...(baseUrl && { api_base: baseUrl }),
          },
        },
      }),
    onSuccess: () =>
      Promise.all(['setup', 'models', 'model-names'].map(name => client.invalidateQueries({ queryKey: [name] }))),
  })
}
