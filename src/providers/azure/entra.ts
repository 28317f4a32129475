/** Entra ID: client credentials for a token (learn.microsoft.com, "OAuth 2.0 client credentials flow"). */
import { GatewayError } from '../../core/errors.ts'
import type { Authorization, Target } from '../../core/provider.ts'
import { Secret } from '../../lib/secret.ts'

interface Cloud {
  /** The end of host names in this cloud. */
  readonly suffix: string
  readonly login: string
  readonly scope: string
}

const publicCloud: Cloud = {
  suffix: '.azure.com',
  login: 'https://login.microsoftonline.com',
  scope: 'https://cognitiveservices.azure.com/.default',
}
const otherClouds: readonly Cloud[] = [
  {
    suffix: '.azure.us',
    login: 'https://login.microsoftonline.us',
    scope: 'https://cognitiveservices.azure.us/.default',
  },
  {
    suffix: '.azure.cn',
    login: 'https://login.chinacloudapi.cn',
    scope: 'https://cognitiveservices.azure.cn/.default',
  },
]

interface Credentials {
  readonly tenant: string
  readonly client: string
  readonly secret: string
}

/** Undefined unless all three are given. */
function credentials({ options }: Target): Credentials | undefined {
  const { tenant_id: tenant, client_id: client, client_secret: secret } = options
  if (typeof tenant !== 'string' || typeof client !== 'string' || !(secret instanceof Secret)) return undefined
  return { tenant, client, secret: secret.reveal() }
}

/** true = this target authenticates by Entra ID instead of a key. */
export function usesEntra(target: Target): boolean {
  return credentials(target) !== undefined
}

function cloudOf(baseUrl: string): Cloud {
  const { hostname } = new URL(baseUrl)
  return otherClouds.find(cloud => hostname.endsWith(cloud.suffix)) ?? publicCloud
}

/**
 * Fetches tokens where `tenant_id`, `client_id` and `client_secret` are all configured; otherwise calls use the key in
 * their headers. Throws `upstream-credentials` where there is neither, and on an answer without a token.
 */
export const entraAuthorization: Authorization = {
  headers(call, _target, { token }): Record<string, string> {
    if (token !== undefined) return { authorization: `Bearer ${token}` }
    if (call.headers['api-key'] !== undefined || call.headers.authorization !== undefined) return {}
    throw new GatewayError(
      'upstream-credentials',
      'this deployment has no credentials: its operator gives `api_key`, ' +
        'or `tenant_id`, `client_id` and `client_secret`',
    )
  },
  tokenRequest(target) {
    const given = credentials(target)
    if (!given) return undefined
    const { login, scope } = cloudOf(target.baseUrl)
    const form = { grant_type: 'client_credentials', client_id: given.client, client_secret: given.secret, scope }
    return {
      method: 'POST',
      head: {
        url: `${login}/${encodeURIComponent(given.tenant)}/oauth2/v2.0/token`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      body: new URLSearchParams(form).toString(),
    }
  },
  readToken(body) {
    const { access_token: token, expires_in: lifetime } = (body ?? {}) as {
      access_token?: unknown
      expires_in?: unknown
    }
    // Some proxies of the service send the number as a string.
    const lifetimeS = Number(lifetime)
    if (typeof token !== 'string' || token === '' || !Number.isFinite(lifetimeS) || lifetimeS <= 0)
      throw new GatewayError('upstream-credentials', "Entra ID's answer has no `access_token` with its `expires_in`")
    return { token, lifetimeS }
  },
}
