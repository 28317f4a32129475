/** What a deployment's model can do by itself: declared in `model_info`, else the usual. */
import type { ModelProfile } from '../core/deployment.ts'

const usual: ModelProfile = {
  toolCalling: 'native',
  thinking: 'separate',
  alternateRoles: false,
  structuredOutput: 'native',
  guard: false,
}

export function modelProfile(): ModelProfile {
  return usual
}
