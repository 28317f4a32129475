import type { Settlement } from '../call.ts'

/** A deployment may be named by its id, as test calls do: its public name says more. */
export function publicModelOf({ call: { model, candidates } }: Pick<Settlement, 'call'>): string {
  const [first] = candidates
  return first?.id === model && !first.modelName.includes('*') ? first.modelName : model
}
