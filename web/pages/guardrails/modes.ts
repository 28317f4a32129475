/** When a guardrail is asked. */
import type { Guardrail } from '../../api/schema.d.ts'

/** Of one guardrail: a list, though the API shows a single one by itself. */
export function modesOf({ litellm_params: { mode } }: Pick<Guardrail, 'litellm_params'>): string[] {
  return (Array.isArray(mode) ? mode : [mode]).map(String)
}
