import type { ApiError } from '../api/client.ts'
import type { StringKey } from '../strings/index.ts'

/** What it means that the gateway did not answer, and what to do: whether a change was made, where one was asked for. */
export function unansweredHelp({ code }: ApiError): StringKey {
  if (code === 'unsent') return 'error.unsentHelp'
  return code === 'unanswered' ? 'error.unansweredHelp' : 'error.offlineHelp'
}
