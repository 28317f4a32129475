/** Errors as Google's clients read them (cloud.google.com/apis/design/errors). */
import type { GatewayError } from '../../core/errors.ts'

const statuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`

/**
 * `{error: {code, message, status, details}}`. `code` is the HTTP status. The details name what Google's
 * clients look for: the reason, the fields at fault, and how long to wait.
 */
export function geminiErrorBody(error: GatewayError): object {
  const { message, status: code, problems, retryAfterMs } = error
  const reason = (error.code ?? error.kind).toUpperCase().replace(/[^A-Z0-9]+/g, '_')
  const metadata = { name: error.publicName }
  const details: object[] = [{ '@type': typeUrl('ErrorInfo'), reason, domain: 'modelgate', metadata }]
  if (problems) {
    const fieldViolations = problems.map(({ loc, msg }) => ({ field: fieldName(loc), description: msg }))
    details.push({ '@type': typeUrl('BadRequest'), fieldViolations })
  }
  if (retryAfterMs !== undefined)
    details.push({ '@type': typeUrl('RetryInfo'), retryDelay: `${Math.ceil(retryAfterMs) / 1000}s` })
  return {
    error: { code, message, status: statuses[code] ?? (code >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'), details },
  }
}

/** `contents[0].parts[1].text`. */
function fieldName(loc: readonly (string | number)[]): string {
  let name = ''
  for (const part of loc) {
    if (typeof part === 'number') name += `[${part}]`
    else if (part !== 'body') name += `${name ? '.' : ''}${part}`
  }
  return name
}
