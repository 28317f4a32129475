/** Settings of sign-in, from the file and the environment. */
import { BlockList, isIP } from 'node:net'
import type { SignInSettings } from '../core/sign-in/sign-in-settings.ts'
import { Secret } from '../lib/secret.ts'
import type { Environment } from './environment.ts'
import type { Config } from './sections/file.ts'

const idleMinutesDefault = 12 * 60
const lifetimeHoursDefault = 7 * 24
/** The name under which LiteLLM's users type the master key. */
const operatorNameDefault = 'admin'
const operatorPasswordLengthMin = 8

/** `mistakes` = what of the environment cannot be used. */
export function readSignInSettings(
  general: NonNullable<Config['general_settings']>,
  environment: Environment,
): { readonly settings: SignInSettings; readonly mistakes: readonly string[] } {
  const mistakes: string[] = []
  const given = environment.PROXY_BASE_URL?.trim().replace(/\/+$/, '') || null
  const { SERVER_ROOT_PATH: rootPath = '' } = environment
  // As LiteLLM's users have them: the prefix stands in one of both, or in both.
  const hasPrefix = given !== null && URL.canParse(given) && new URL(given).pathname.endsWith(rootPath)
  const baseUrl = given === null || hasPrefix ? given : given + rootPath
  if (baseUrl !== null && !(/^https?:\/\/[^\s?#]+$/.test(baseUrl) && URL.canParse(baseUrl)))
    mistakes.push('PROXY_BASE_URL must be the address that browsers see, such as https://gateway.example.com')
  const { UI_USERNAME: name = '', UI_PASSWORD: password = '' } = environment
  const operatorName = name.trim() || operatorNameDefault
  if (password !== '' && password.length < operatorPasswordLengthMin)
    mistakes.push(
      `UI_PASSWORD has fewer than ${operatorPasswordLengthMin} characters, and who guesses it may do everything: ` +
        'choose a longer one, or leave it out and sign in with the master key',
    )
  const settings: SignInSettings = {
    baseUrl,
    rootPath,
    sessionIdleMs: (general.session_idle_minutes ?? idleMinutesDefault) * 60_000,
    sessionLifetimeMs: (general.session_lifetime_hours ?? lifetimeHoursDefault) * 3_600_000,
    isTrustedProxy: trustedProxies(general.trusted_proxies ?? []),
    operator: password === '' ? null : { name: operatorName, password: new Secret(password) },
    operatorName,
  }
  return { settings, mistakes }
}

function trustedProxies(networks: readonly string[]): SignInSettings['isTrustedProxy'] {
  if (networks.length === 0) return () => false
  const list = new BlockList()
  for (const one of networks) {
    const [address, bits] = one.split('/')
    const family = isIP(address!) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address!, family)
    else list.addSubnet(address!, Number(bits), family)
  }
  return address => {
    const kind = isIP(address)
    return kind !== 0 && list.check(address, kind === 6 ? 'ipv6' : 'ipv4')
  }
}
