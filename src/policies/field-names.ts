/** Looks at the names of a body's fields: what the dialect does not know must not steer the upstream unseen. */
import type { CallInAdmission } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'

/**
 * Sets `unknownFields`. Throws `invalid-request` for a name that differs from a known one only by case: upstreams that
 * do not mind the case would read it as that field, past the checks of this gateway.
 */
export function fieldNames(): Policy {
  return { name: 'field-names', stage: 'body', admit: translateNames }
}

function translateNames(call: CallInAdmission): void {
  const { body, format } = call
  if (!body || !format) return
  const known = (call.options.formatOf?.(body) ?? format).fieldNames
  let unknown: string[] | undefined
  for (const name of body.names()) {
    if (known.has(name)) continue
    const meant = known.variantOf(name)
    if (meant !== undefined) throw misspelt(name, meant)
    ;(unknown ??= []).push(name)
  }
  if (unknown) call.unknownFields = unknown
}

const shownLengthMax = 100

function misspelt(name: string, meant: string): GatewayError {
  const shown = name.slice(0, shownLengthMax)
  return new GatewayError('invalid-request', `\`${shown}\` is not a field; write it \`${meant}\`, or leave it out`, {
    param: shown,
  })
}
