/** Signatures of thinking: Claude refuses thinking blocks with a signature that is not its own. */
import { readSignature } from '../gemini/signature.ts'

/** Begins what the gateway's formats send as a signature where there is none of Claude's. */
const gatewayPrefix = 'modelgate-'

/** true = neither absent nor empty, and neither the gateway's own nor one of Gemini's. */
export function isClaudeSignature(signature: string | undefined): signature is string {
  return (
    signature !== undefined &&
    signature !== '' &&
    !signature.startsWith(gatewayPrefix) &&
    readSignature(signature) === undefined
  )
}
