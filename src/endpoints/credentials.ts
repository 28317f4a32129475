/** Where clients put their key (research/ecosystem 1.3): four headers and, for Gemini's clients, `?key=`. */
import { GatewayError } from '../core/errors.ts'

const keyLengthMax = 512

/** The one key that the request presents. Throws `unauthenticated` when there is none, or two that differ. */
export function presentedKey(raw: Request, request: { readonly query: URLSearchParams }): string {
  const { headers } = raw
  let key = ''
  let from = ''
  const offer = (value: string | null, where: string): void => {
    if (!value) return
    if (key && key !== value)
      throw new GatewayError('unauthenticated', `${from} and ${where} carry different keys; send only one`)
    key = value
    from = where
  }
  offer(bearer(headers.get('authorization')), 'Authorization')
  offer(headers.get('x-api-key'), 'x-api-key')
  offer(headers.get('api-key'), 'api-key')
  offer(headers.get('x-goog-api-key'), 'x-goog-api-key')
  if (!key && raw.url.includes('key=')) offer(request.query.get('key'), '?key=')
  if (!key) {
    throw new GatewayError(
      'unauthenticated',
      'no API key was sent; send it as `Authorization: Bearer <key>` (x-api-key and api-key work too)',
    )
  }
  if (key.length > keyLengthMax) throw new GatewayError('unauthenticated', 'the API key is too long to be one')
  return key
}

function bearer(value: string | null): string | null {
  if (!value) return null
  if (value.startsWith('Bearer ')) return value.slice(7).trim()
  const [scheme, rest] = value.split(' ', 2)
  if (scheme!.toLowerCase() === 'bearer' && rest) return value.slice(scheme!.length + 1).trim()
  throw new GatewayError('unauthenticated', 'the Authorization header must be `Bearer <key>`')
}
