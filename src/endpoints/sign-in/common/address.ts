/** Under which address clients reach the gateway. */
import type { HttpRequest } from '../../../core/request.ts'
import type { Settings } from '../../../core/settings.ts'

const hostForm = /^[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/

/**
 * PROXY_BASE_URL, else as the request names it; without a slash at the end. The request's own word is believed for
 * what is told to its sender alone.
 */
export function gatewayAddress(
  { headers }: Pick<HttpRequest, 'headers'>,
  { signIn }: Pick<Settings, 'signIn'>,
): string {
  if (signIn.baseUrl !== null) return signIn.baseUrl
  const host = headers.get('host') ?? ''
  const scheme = /^https\b/i.test(headers.get('x-forwarded-proto') ?? '') ? 'https' : 'http'
  return `${scheme}://${hostForm.test(host) ? host.toLowerCase() : 'localhost'}`
}
