/** Under which address clients reach the gateway. */
import { isSecure } from '../access/session-cookie.ts'
import type { SignInSettings } from '../core/sign-in/sign-in-settings.ts'

const hostForm = /^[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/

/**
 * The address under which clients reach the gateway, without a slash at the end: PROXY_BASE_URL, else as the request
 * names it. The request's own word is believed for what is sent to its sender alone.
 */
export function gatewayAddress(
  headers: Pick<Headers, 'get'>,
  { baseUrl, rootPath }: Pick<SignInSettings, 'baseUrl' | 'rootPath'>,
): string {
  if (baseUrl !== null) return baseUrl
  const host = headers.get('host') ?? ''
  const scheme = isSecure(headers, baseUrl) ? 'https' : 'http'
  return `${scheme}://${hostForm.test(host) ? host.toLowerCase() : 'localhost'}${rootPath}`
}
