/** The models that this person may call. */
import { useQuery } from '@tanstack/react-query'
import { ask } from './client.ts'

/** The higher, the better for a first call: embeddings do not answer it, and built-in models show little. */
function rank({ mode, provider }: { mode: string; provider: string }): number {
  return (mode === 'chat' ? 2 : 0) + (provider === 'local' ? 0 : 1)
}

/** Public names, the best for a first call first. */
export function useModelNames() {
  return useQuery({
    queryKey: ['model-names'],
    queryFn: async ({ signal }) => {
      const { data } = await ask('GET /v1/model/info', { signal })
      const sorted = data.toSorted((one, other) => rank(other.model_info) - rank(one.model_info))
      // A pattern names no model.
      return [...new Set(sorted.map(one => one.model_name).filter(name => !name.includes('*')))]
    },
  })
}
