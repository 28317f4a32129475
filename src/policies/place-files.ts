/** Uploaded files that the body of a call names are found, and the candidates that can be given them kept. */
import type { Call } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** `place` as `pipeline/files/named-files.ts`: undefined = the body names no file. Throws `unprocessable`. */
export function placeFiles(place: (call: Call) => Promise<void> | undefined): Policy {
  return { name: 'place-files', stage: 'body', dryRun: false, admit: place }
}
