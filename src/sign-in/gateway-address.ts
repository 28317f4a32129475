/** Under which address clients reach the gateway. */
import { isSecure } from '../accounts/session-cookie.ts'

const hostForm = /^[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/

/**
 * The address under which clients reach the gateway, without a slash at the end: PROXY_BASE_URL, else as the request
 * names it. The request's own word is believed for what is told to its sender alone.
 */
export function gatewayAddress(headers: Pick<Headers, 'get'>, baseUrl: string | null): string {
  if (baseUrl !== null) return baseUrl
  const host = headers.get('host') ?? ''
  return `http${isSecure(headers, baseUrl) ? 's' : ''}://${hostForm.test(host) ? host.toLowerCase() : 'localhost'}`
}
