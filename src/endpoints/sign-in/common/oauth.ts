/** Forms and errors of OAuth 2.0 (RFC 6749), which differ from those of the rest of the API. */
import { jsonAnswer } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'

/** Tokens must not be kept on their way (RFC 6749, 5.1). */
export const uncached = { 'cache-control': 'no-store' }

const formBytesMax = 16 * 1024
const formType = 'application/x-www-form-urlencoded'

/** The codes of RFC 6749, 5.2, RFC 8628, 3.5, and `temporarily_unavailable` of RFC 6749, 4.1.2.1. */
export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'temporarily_unavailable'
  | 'server_error'

/** `description` is for people. */
export function oauthError(
  error: OauthErrorCode,
  description: string,
  { status = 400, retryAfterMs }: { readonly status?: number; readonly retryAfterMs?: number | undefined } = {},
): Answer {
  const headers: Record<string, string> = { ...uncached }
  if (retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000))
  return jsonAnswer({ error, error_description: description }, status, headers)
}

/** The body of an error for the paths of OAuth. */
export function oauthErrorBody({ kind, message, status }: GatewayError): object {
  const error: OauthErrorCode =
    kind === 'overloaded' ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request'
  return { error, error_description: message }
}

/**
 * The fields of a form; an empty body has none. Throws `unsupported-media` for another type, `invalid-request` for a
 * field that is given twice.
 */
export async function readForm({ headers, body }: HttpRequest): Promise<URLSearchParams> {
  const bytes = await readBody(body, formBytesMax)
  const type = headers.get('content-type')?.toLowerCase().split(';', 1)[0]?.trim()
  if (bytes.length > 0 && type !== formType)
    throw new GatewayError('unsupported-media', `send the fields as \`content-type: ${formType}\` (RFC 6749)`)
  const form = new URLSearchParams(Buffer.from(bytes).toString('utf8'))
  for (const name of new Set(form.keys()))
    if (form.getAll(name).length > 1)
      throw new GatewayError('invalid-request', `${name.slice(0, 50)}: is given more than once; send it once`, {
        param: name.slice(0, 50),
      })
  return form
}
