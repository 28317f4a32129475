/** Finds the uploaded files that a body names, and keeps the candidates that can be given them. */
import type { Call } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** `resolve`: see `pipeline/files/named-files.ts`; undefined = the body names no file. Throws `unprocessable`. */
export function namedFiles(resolve: (call: Call) => Promise<void> | undefined): Policy {
  return { name: 'named-files', stage: 'body', dryRun: false, admit: resolve }
}
