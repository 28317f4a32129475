import type { ApiError } from '../api/client.ts'
import type { StringKey } from '../strings/index.ts'

/** What it means that the gateway did not answer, and what to do: of a change, whether it was made. */
export function unansweredHelp({ code }: ApiError): StringKey {
  if (code === 'unsent') return 'error.unsentHelp'
  return code === 'unanswered' ? 'error.unansweredHelp' : 'error.offlineHelp'
}
