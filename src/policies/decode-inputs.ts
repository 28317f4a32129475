/** Decodes token ids for upstreams that embed only texts. */
import type { Call } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** `decode`: see `pipeline/text-inputs.ts`; undefined = no upstream needs texts. Throws `invalid-request`. */
export function decodeInputs(decode: (call: Call) => Promise<void> | undefined): Policy {
  return { name: 'decode-inputs', stage: 'body', dryRun: false, admit: decode }
}
