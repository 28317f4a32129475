/** How persons sign in at the gateway itself; identity providers are in `identity.ts`. */
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import type { SignInSettings } from '../../core/sign-in/sign-in-settings.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'
import { checkedText } from './value-types.ts'

function networkProblem(value: string): string | undefined {
  const [address = '', bits, ...more] = value.split('/')
  const kind = isIP(address)
  const bitsMax = kind === 6 ? 128 : 32
  const isNetwork =
    kind !== 0 && more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && +bits <= bitsMax))
  return isNetwork ? undefined : 'is no address and no network; write 10.0.0.7 or 10.0.0.0/8'
}

/** Keys of `general_settings`. */
export const signInKeys = settingKeys('sign-in', {
  session_idle_minutes: {
    type: () => z.number().min(1).max(525_600),
    default: 720,
    description: 'A session of a browser ends when it is not used for this many minutes.',
    example: 720,
  },
  session_lifetime_hours: {
    type: () => z.number().min(0.02).max(8760),
    default: 168,
    description: 'A session of a browser ends after this many hours, however much it is used.',
    example: 168,
  },
  trusted_proxies: {
    type: () => z.array(checkedText(z.string(), networkProblem)).max(1000),
    description:
      "Addresses and networks of your own proxies, whose `X-Forwarded-For` names the client's address: in the log, " +
      'the ledger, sessions and the audit log, and for the limit of failed sign-ins, which all browsers behind a ' +
      'proxy share without it.',
    example: ['10.0.0.0/8'],
  },
})

/** The name under which LiteLLM's users type the master key. */
const operatorNameDefault = 'admin'
const operatorPasswordLengthMin = 8

/** `mistakes` = what of the environment cannot be used. */
export function readSignInSettings(
  written: Values<typeof signInKeys>,
  environment: Environment,
): { readonly settings: SignInSettings; readonly mistakes: readonly string[] } {
  const general = withDefaults(signInKeys, written)
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
    sessionIdleMs: general.session_idle_minutes * 60_000,
    sessionLifetimeMs: general.session_lifetime_hours * 3_600_000,
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
