/** What a dialect allows, and no other can say. */
import { unprocessable } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Path } from './field-checks.ts'

/** A shape that is legal in the dialect, but that the gateway cannot carry to another vendor. */
export function untranslatable(path: Path, what: string): GatewayError {
  const msg = `${what}; choose a model whose upstream speaks this format itself, or leave it out`
  return unprocessable([{ loc: ['body', ...path], msg, type: 'unsupported' }])
}
