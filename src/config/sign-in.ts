/** Settings of sign-in, from the file and the environment. */
import type { SignInSettings } from '../core/sign-in-settings.ts'
import type { Environment } from './environment.ts'

const sessionIdleMs = 12 * 3_600_000
const sessionLifetimeMs = 7 * 86_400_000

/** `mistake` = PROXY_BASE_URL is no address. */
export function readSignInSettings(environment: Environment): {
  readonly settings: SignInSettings
  readonly mistake?: string
} {
  const baseUrl = environment.PROXY_BASE_URL?.trim().replace(/\/+$/, '') || null
  const lifetimes = { sessionIdleMs, sessionLifetimeMs }
  if (baseUrl === null || (/^https?:\/\/[^\s?#]+$/.test(baseUrl) && URL.canParse(baseUrl)))
    return { settings: { baseUrl, ...lifetimes } }
  return {
    settings: { baseUrl: null, ...lifetimes },
    mistake: 'PROXY_BASE_URL must be the address that browsers see, such as https://gateway.example.com',
  }
}
