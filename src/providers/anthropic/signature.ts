/** Signatures of thinking: Claude refuses thinking blocks with a signature that is not its own. */

/** Begins what the gateway's formats send as a signature where there is none of Claude's. */
const gatewayPrefix = 'modelgate-'

/** Begins a signature of another vendor, as its provider writes it: `vendor/kind/000/...`. */
const otherVendors = /^[a-z_]+\/[a-z]+\/\d{3,6}\//

/** true = neither absent nor empty, and neither the gateway's own nor one of another vendor's. */
export function isClaudeSignature(signature: string | undefined): signature is string {
  return (
    signature !== undefined && signature !== '' && !signature.startsWith(gatewayPrefix) && !otherVendors.test(signature)
  )
}
