import { GatewayError } from '../../src/core/errors.ts'
import { changeTexts } from '../../src/core/hub/input.ts'
import { readFiles } from '../../src/core/hub/packed-files.ts'
import type { Policy } from '../../src/core/policy.ts'

/**
 * Refuses every call in whose input `word` stands, in any dialect and operation, also in forms, files, and the lines of
 * batches. Throws `content-policy`: 400 ContentPolicyViolationError in the client's dialect.
 */
export function rejectWord(word: string): Policy {
  const searched = word.toLowerCase()
  return {
    name: 'reject-word',
    stage: 'body',
    async admit(call) {
      await readFiles(call.input(), call.caller.key.id)
      changeTexts(call.input(), text => {
        if (text.toLowerCase().includes(searched))
          throw new GatewayError('content-policy', `the request holds a word that is not allowed here: '${word}'`)
        return undefined
      })
    },
  }
}
