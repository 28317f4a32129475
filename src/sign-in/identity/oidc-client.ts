/** The authorization code flow with one provider (openid-client), with PKCE, state, nonce and checked signatures. */
import type { ClientAuth, Configuration } from 'openid-client'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { Identity, IdentityProvider } from '../../core/sign-in/identity-providers.ts'
import type { Clock } from '../../lib/clock.ts'
import { isLoopback } from '../../lib/no-proxy.ts'
import { hasAllClaims, joinedClaims, readIdentity } from './claims.ts'
import type { Claims } from './claims.ts'
import { KeySet, signatureAlgorithms } from './key-set.ts'
import type { ProviderFetch } from './provider-fetch.ts'
import { explainProblem } from './problems.ts'
import type { PendingSignIn } from './sign-in-cookie.ts'

/** Loaded when a person signs in: a gateway without providers does not pay for it. */
const library = () => import('openid-client')

/** What a provider says of itself is asked again after this. */
const metadataMaxAgeMs = 60 * 60 * 1000
const keysMaxAgeMs = 10 * 60 * 1000

interface ClientParts {
  readonly provider: IdentityProvider
  readonly fetch: ProviderFetch
  readonly clock: Clock
}

/** What a provider says of a person. */
interface VerifiedSignIn {
  readonly issuer: string
  readonly claims: Claims
  readonly idToken: string | null
}

/** One provider, as long as its settings stay the same. */
export class OidcClient {
  readonly provider: IdentityProvider
  readonly #ask: ProviderFetch
  readonly #clock: Clock
  readonly #keys: KeySet
  #known: { readonly configuration: Configuration; readonly loadedMs: number } | undefined
  #asking: Promise<Configuration> | undefined

  constructor({ provider, fetch, clock }: ClientParts) {
    this.provider = provider
    this.#ask = fetch
    this.#clock = clock
    this.#keys = new KeySet({
      fetch,
      clock,
      maxAgeMs: () => keysMaxAgeMs,
      address: async () => {
        const url = (await this.#configuration()).serverMetadata().jwks_uri
        if (url === undefined) throw new Error('the provider does not say where its keys are (`jwks_uri`)')
        return url
      },
    })
  }

  /** The provider's page, for a sign-in that is to come back as `pending` says. */
  async address(pending: PendingSignIn, redirectUri: string): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library()
    const configuration = await this.#configuration()
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.provider.scope,
      state: pending.state,
      code_challenge: await calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
      ...(this.provider.issuer !== null && { nonce: pending.nonce }),
    })
    return url.href
  }

  /** Who came back to `returned`, the whole address, and the ID token; null = there is none. Throws IdentityRefusal. */
  async identify(
    pending: PendingSignIn,
    returned: URL,
  ): Promise<{ readonly identity: Identity; readonly idToken: string | null }> {
    const { provider } = this
    try {
      const { issuer, claims, idToken } =
        provider.issuer === null
          ? await this.#userOfAccessToken(pending, returned)
          : await this.#userOfIdToken(pending, returned)
      return { identity: readIdentity(claims, issuer, provider.claims, provider.trustsEmail), idToken }
    } catch (thrown) {
      throw explainProblem(thrown)
    }
  }

  /** The provider's page that ends its session; undefined = it has none. */
  async signOutAddress(returnTo: string, idToken: string | undefined): Promise<string | undefined> {
    const configuration = await this.#configuration()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    const { buildEndSessionUrl } = await library()
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: returnTo,
      ...(idToken !== undefined && { id_token_hint: idToken }),
    }).href
  }

  async #userOfIdToken(pending: PendingSignIn, returned: URL): Promise<VerifiedSignIn> {
    const { authorizationCodeGrant, fetchUserInfo } = await library()
    const configuration = await this.#configuration()
    const tokens = await authorizationCodeGrant(configuration, returned, {
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      pkceCodeVerifier: pending.verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()!
    const { compactVerify } = await import('jose')
    await this.#keys.verified(find => compactVerify(tokens.id_token!, find, { algorithms: signatureAlgorithms }))
    this.#checkClock(claims.iat)
    this.#checkParty(claims)
    const { userinfo_endpoint: userinfo } = configuration.serverMetadata()
    const identity = { issuer: claims.iss, idToken: tokens.id_token! }
    if (userinfo === undefined || hasAllClaims(claims, this.provider.claims)) return { ...identity, claims }
    const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    return { ...identity, claims: joinedClaims(claims, more) }
  }

  /** OpenID Connect Core 1.0, 3.1.3.7: the library looks at it only where there are several audiences. */
  #checkParty({ azp }: Claims): void {
    if (azp === undefined || azp === this.provider.clientId) return
    throw new IdentityRefusal('the ID token was issued to another application (`azp`)')
  }

  /** The library takes a token of any age for new: one from the future shows that a clock is wrong. */
  #checkClock(issuedAtS: number): void {
    const aheadS = Math.round(issuedAtS - this.#clock.epochMs() / 1000)
    if (aheadS > this.provider.clockToleranceSeconds)
      throw new IdentityRefusal(
        `the provider's clock is ${aheadS} seconds ahead of this gateway's; set both by NTP, or raise ` +
          '`clock_tolerance`',
      )
  }

  async #userOfAccessToken(pending: PendingSignIn, returned: URL): Promise<VerifiedSignIn> {
    const { authorizationCodeGrant } = await library()
    const named = returned.searchParams.get('iss')
    if (named !== null)
      throw new IdentityRefusal(
        `the provider names itself as ${named.slice(0, 200)}: set that as its issuer (\`issuer\`, GENERIC_ISSUER), ` +
          'so that its ID tokens are checked',
      )
    const tokens = await authorizationCodeGrant(await this.#configuration(), returned, {
      expectedState: pending.state,
      pkceCodeVerifier: pending.verifier,
    })
    const issuer = this.provider.endpoints.userinfo!
    const answer = await this.#ask(issuer, {
      headers: { accept: 'application/json', authorization: `Bearer ${tokens.access_token}` },
    })
    const claims: unknown = answer.status === 200 ? await answer.json() : undefined
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims))
      throw new IdentityRefusal(`the userinfo endpoint answered with status ${answer.status}, and no JSON object`)
    return { issuer, claims: claims as Claims, idToken: null }
  }

  /** Rejects with IdentityRefusal. What is known goes on while it is requested again. */
  async #configuration(): Promise<Configuration> {
    const ageMs = this.#known ? this.#clock.monotonicMs() - this.#known.loadedMs : Infinity
    if (ageMs < metadataMaxAgeMs) return this.#known!.configuration
    this.#asking ??= this.#learn().finally(() => (this.#asking = undefined))
    if (!this.#known) return this.#asking
    this.#asking.catch(() => {})
    return this.#known.configuration
  }

  async #learn(): Promise<Configuration> {
    try {
      const configuration = this.provider.issuer === null ? await this.#explicit() : await this.#discovered()
      this.#known = { configuration, loadedMs: this.#clock.monotonicMs() }
      return configuration
    } catch (thrown) {
      throw explainProblem(thrown, `the provider '${this.provider.name}' could not be asked: `)
    }
  }

  async #discovered(): Promise<Configuration> {
    const openid = await library()
    const { provider } = this
    const issuer = new URL(provider.issuer!)
    const client = { [openid.clockTolerance]: provider.clockToleranceSeconds }
    const found = await openid.discovery(issuer, provider.clientId, client, await this.#authentication(), {
      execute: isLoopback(issuer.hostname) ? [openid.allowInsecureRequests] : [],
      [openid.customFetch]: this.#ask,
    })
    const own = this.#ownEndpoints()
    // The library's own object knows which issuers of Microsoft's belong together.
    if (Object.keys(own).length === 0) return found
    const changed = { ...found.serverMetadata(), ...own }
    return this.#prepared(new openid.Configuration(changed, provider.clientId, client, await this.#authentication()))
  }

  async #explicit(): Promise<Configuration> {
    const openid = await library()
    const { provider } = this
    const server = { issuer: new URL(provider.endpoints.authorization!).origin, ...this.#ownEndpoints() }
    const client = { [openid.clockTolerance]: provider.clockToleranceSeconds }
    return this.#prepared(new openid.Configuration(server, provider.clientId, client, await this.#authentication()))
  }

  async #prepared(configuration: Configuration): Promise<Configuration> {
    const openid = await library()
    const { issuer, endpoints } = this.provider
    if (isLoopback(new URL(issuer ?? endpoints.token!).hostname)) openid.allowInsecureRequests(configuration)
    configuration[openid.customFetch] = issuer === null ? withoutIdToken(this.#ask) : this.#ask
    return configuration
  }

  /** The endpoints of the configuration, which win over what the provider says. */
  #ownEndpoints(): Record<string, string> {
    const { authorization, token, userinfo, keys, endSession } = this.provider.endpoints
    return {
      ...(authorization !== null && { authorization_endpoint: authorization }),
      ...(token !== null && { token_endpoint: token }),
      ...(userinfo !== null && { userinfo_endpoint: userinfo }),
      ...(keys !== null && { jwks_uri: keys }),
      ...(endSession !== null && { end_session_endpoint: endSession }),
    }
  }

  /** Chosen at each use: what the provider takes is not known before it was asked. */
  async #authentication(): Promise<ClientAuth> {
    const { ClientSecretBasic, ClientSecretPost, None } = await library()
    const { clientSecret, clientAuthentication } = this.provider
    if (clientSecret === null) return None()
    const basic = ClientSecretBasic(clientSecret.reveal())
    const post = ClientSecretPost(clientSecret.reveal())
    return (server, ...more) => {
      const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false
      const isBasic = clientAuthentication ? clientAuthentication === 'client_secret_basic' : !takesPost
      return (isBasic ? basic : post)(server, ...more)
    }
  }
}

/** Without an issuer an ID token cannot be checked, so it is not read: who signed in is what userinfo says. */
function withoutIdToken(ask: ProviderFetch): ProviderFetch {
  return async (url, options) => {
    const answer = await ask(url, options)
    const body: unknown = await answer.json().catch(() => undefined)
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return new Response(JSON.stringify(null), { status: answer.status, headers: answer.headers })
    const { id_token: _, ...rest } = body as Record<string, unknown>
    return new Response(JSON.stringify(rest), { status: answer.status, headers: answer.headers })
  }
}
