/** What people call the parts of a call. */
import type { SpendLog } from '../../api/schema.d.ts'

/** The provider and its own name of the model; null = no upstream was asked. */
export const upstreamOf = ({ provider, upstream_model: model }: SpendLog): string | null =>
  provider === null ? null : model === null ? provider : `${provider}/${model}`
