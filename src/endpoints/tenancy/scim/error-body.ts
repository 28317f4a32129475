/** Errors of SCIM (RFC 7644, section 3.12). */
import type { GatewayError } from '../../../core/errors.ts'
import type { ScimType } from '../../../lib/scim/error.ts'

/** Of every answer of SCIM. */
export const scimMediaType = 'application/scim+json'

const scimTypes: ReadonlySet<unknown> = new Set<ScimType>([
  'invalidFilter',
  'invalidPath',
  'invalidSyntax',
  'invalidValue',
  'mutability',
  'noTarget',
  'tooMany',
  'uniqueness',
])

/** `status` is a text, as the RFC has it. */
export function scimErrorBody({ status, code, message }: GatewayError): object {
  const scimType = scimTypes.has(code) ? code : status === 400 ? 'invalidSyntax' : undefined
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail: message,
  }
}
