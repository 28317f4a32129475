/** The models that this person may call. */
import { useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'

/** Public names, those that chat first: embeddings and guards do not answer a first call. */
export function useModelNames() {
  return useQuery({
    queryKey: ['model-names'],
    queryFn: async ({ signal }) => {
      const { data } = await ask('GET /v1/model/info', { signal })
      const names = data.map(model => ({
        name: model.model_name,
        isChat: (model.model_info.mode ?? 'chat') === 'chat',
      }))
      const sorted = names.toSorted((one, other) => Number(other.isChat) - Number(one.isChat))
      // A pattern names no model.
      return [...new Set(sorted.map(one => one.name).filter(name => !name.includes('*')))]
    },
  })
}
