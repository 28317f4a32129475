/** Sign-in with identity providers: to the provider's page, and back with a user. */
import { randomBytes } from 'node:crypto'
import { gatewayAddress } from '../gateway-address.ts'
import { GatewayError } from '../../core/errors.ts'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type {
  IdentityProvider,
  SignInBeginning,
  SignInBrowser,
  SignInEnd,
  SignInReturn,
  SignInReturns,
  SingleSignOn,
} from '../../core/sign-in/identity-providers.ts'
import type { Settings } from '../../core/settings.ts'
import { signInActor } from '../../core/tenancy/actors.ts'
import type { TenancyStore } from '../../core/tenancy/tenancy-store.ts'
import type { Clock } from '../../lib/clock.ts'
import { returnPath } from '../return-path.ts'
import { signInUser } from './accounts.ts'
import { claimedIssuer, mappedIds, subjectsOf } from './claims.ts'
import { IdTokenCookie } from './id-token-cookie.ts'
import { OidcClient } from './oidc-client.ts'
import type { ProviderFetch } from './provider-fetch.ts'
import { endedCookie, pendingCookies, pendingSeconds, readPendingCookie } from './sign-in-cookie.ts'
import type { PendingSignIn } from './sign-in-cookie.ts'
import type { Signer } from '../../lib/signer.ts'

interface SingleSignOnParts {
  /** Read at each use: a reload replaces them. */
  settings(): Pick<Settings, 'newUsers' | 'identity' | 'signIn'>
  readonly tenancy: TenancyStore
  readonly returns: SignInReturns
  readonly fetch: ProviderFetch
  readonly clock: Clock
  readonly sign: Signer
}

/** Where browsers come back to; with several providers below it, under the name of each. */
const callbackPath = '/sso/callback'
/** Where a browser goes on that named no page. */
const startPage = '/ui/'
/** Registered at providers, which send browsers back to registered addresses alone. */
const signedOutPage = '/'
/**
 * Of one provider, which each asks. More at once are answered with 503, so that nothing can be made to flood it, and
 * one that does not answer delays no sign-in with another.
 */
const finishingMax = 32
const randomText = (): string => randomBytes(32).toString('base64url')
const again = 'begin again at the sign-in page'

/** Nothing is loaded or asked before the first person signs in. */
export function createSingleSignOn(parts: SingleSignOnParts): SingleSignOn {
  return new SignOn(parts)
}

class SignOn implements SingleSignOn {
  readonly #parts: SingleSignOnParts
  /** By the settings of their providers, which a reload replaces. */
  readonly #clients = new WeakMap<IdentityProvider, OidcClient>()
  readonly #idTokens: IdTokenCookie
  /** How many sign-ins come back from each provider at this moment. */
  readonly #finishing = new Map<string, number>()

  constructor(parts: SingleSignOnParts) {
    this.#parts = parts
    this.#idTokens = new IdTokenCookie(parts.sign)
  }

  providers(): readonly Pick<IdentityProvider, 'name' | 'displayName'>[] {
    return this.#providers.map(({ name, displayName }) => ({ name, displayName }))
  }

  async begin(
    { provider, returnTo }: { readonly provider: string | null; readonly returnTo: string | null },
    { headers }: SignInBrowser,
  ): Promise<SignInBeginning> {
    const { clock, sign } = this.#parts
    const client = this.#client(provider)
    const pending: PendingSignIn = {
      provider: client.provider.name,
      callback: this.#callbackOf(client.provider.name),
      state: randomText(),
      nonce: randomText(),
      verifier: randomText(),
      returnTo: returnPath(returnTo) ?? startPage,
      endMs: clock.epochMs() + pendingSeconds * 1000,
    }
    const cookies = pendingCookies(pending, headers, this.#baseUrl, sign)
    const location = await client.address(pending, this.#at(pending.callback, headers))
    return { location, cookies }
  }

  async finish(returned: SignInReturn, browser: SignInBrowser): Promise<SignInEnd> {
    const pending = this.#begun(returned.query.get('state'), browser)
    const { provider } = pending
    const finishing = this.#finishing.get(provider) ?? 0
    if (finishing >= finishingMax)
      throw new GatewayError('overloaded', 'too many persons sign in with this provider at this moment; try again')
    this.#finishing.set(provider, finishing + 1)
    try {
      this.#checkReturn(pending, returned)
      return await this.#finish(pending, returned, browser)
    } catch (thrown) {
      if (thrown instanceof IdentityRefusal) await this.#refused(pending, thrown, browser)
      throw thrown
    } finally {
      const left = this.#finishing.get(provider)! - 1
      if (left > 0) this.#finishing.set(provider, left)
      else this.#finishing.delete(provider)
    }
  }

  async signOutAt(userId: string, { headers }: SignInBrowser): Promise<string | undefined> {
    try {
      const idToken = this.#idTokens.read(headers, this.#baseUrl)
      const links = idToken === undefined ? await this.#parts.tenancy.identityLinksOf(userId) : []
      const linked = new Set(links.map(one => one.issuer))
      const ofToken = idToken === undefined ? undefined : claimedIssuer(idToken)
      const provider = this.#providers.find(
        ({ issuer, claims }) => issuer !== null && (issuer === ofToken || linked.has(subjectsOf(issuer, claims))),
      )
      return provider && (await this.#client(provider.name).signOutAddress(this.#at(signedOutPage, headers), idToken))
    } catch {
      // The session here is over all the same.
      return undefined
    }
  }

  forgetting({ headers }: SignInBrowser): string {
    return this.#idTokens.write(null, headers, this.#baseUrl)
  }

  pageAt(path: string, { headers }: SignInBrowser): string {
    return this.#at(path, headers)
  }

  get #providers(): readonly IdentityProvider[] {
    return this.#parts.settings().identity.providers
  }

  get #baseUrl(): string | null {
    return this.#parts.settings().signIn.baseUrl
  }

  #at(path: string, headers: SignInBrowser['headers']): string {
    return `${gatewayAddress(headers, this.#parts.settings().signIn)}${path}`
  }

  #client(name: string | null): OidcClient {
    const provider = name === null ? this.#providers[0] : this.#providers.find(one => one.name === name)
    if (!provider) throw new IdentityRefusal(missing(name, this.#providers))
    let client = this.#clients.get(provider)
    const { clock, fetch } = this.#parts
    if (!client) this.#clients.set(provider, (client = new OidcClient({ provider, fetch, clock })))
    return client
  }

  /** What this browser went away with. Throws IdentityRefusal, which has no audit row: no sign-in was begun. */
  #begun(state: string | null, { headers }: SignInBrowser): PendingSignIn {
    const pending = readPendingCookie(state, headers, this.#baseUrl, this.#parts.sign)
    if (pending) return pending
    throw new IdentityRefusal(
      `this browser has not begun this sign-in, or does not keep cookies; ${again}. Administrators: is ` +
        'PROXY_BASE_URL the address that browsers use?',
    )
  }

  /**
   * By its own address the answer of one provider is no other's (RFC 9700, 4.4.2): a code never goes to a provider that
   * has sent the browser on to another one. A single
   * provider has the address that LiteLLM's users have registered.
   */
  #callbackOf(name: string): string {
    return this.#providers.length === 1 ? callbackPath : `${callbackPath}/${name}`
  }

  /** Throws IdentityRefusal for an answer that comes too late, from another provider, or to another sign-in. */
  #checkReturn(pending: PendingSignIn, { path, query }: SignInReturn): void {
    if (path !== pending.callback)
      throw new IdentityRefusal(
        `this sign-in was begun with the provider '${pending.provider}', whose answers come back at ` +
          `${pending.callback}; ${again}`,
      )
    if (pending.endMs <= this.#parts.clock.epochMs())
      throw new IdentityRefusal(`the sign-in took longer than ${pendingSeconds / 60} minutes; ${again}`)
    if (query.get('state') !== pending.state)
      throw new IdentityRefusal(`this answer belongs to another sign-in than the last one of this browser; ${again}`)
  }

  async #finish(
    pending: PendingSignIn,
    { query, provenUserId }: SignInReturn,
    { headers }: SignInBrowser,
  ): Promise<SignInEnd> {
    const { returns, settings, tenancy } = this.#parts
    if (!(await returns.take(pending.state, pending.endMs)))
      throw new IdentityRefusal(`this sign-in has come back before, and counts once; ${again}`)
    const client = this.#client(pending.provider)
    const { provider } = client
    const returned = new URL(`${this.#at(pending.callback, headers)}?${query}`)
    const { identity, idToken } = await client.identify(pending, returned)
    const user = await signInUser(identity, {
      tenancy,
      newUsers: settings().newUsers,
      rules: { ...provider, ...mappedIds(provider.claims) },
      actor: signInActor(provider.name),
      provenUserId,
    })
    const cookies = [
      this.#idTokens.write(idToken, headers, this.#baseUrl),
      endedCookie(pending.state, headers, this.#baseUrl),
    ]
    return { userId: user.id, provider: provider.name, returnTo: pending.returnTo, cookies }
  }

  /** A refusal stands also where its row cannot be written. */
  async #refused({ provider }: PendingSignIn, { message }: Error, browser: SignInBrowser): Promise<void> {
    const { headers, clientAddress } = browser
    const userAgent = headers.get('user-agent') ?? ''
    await this.#parts.returns.refused({ provider, reason: message, clientAddress, userAgent }).catch(() => {})
  }
}

function missing(name: string | null, providers: readonly IdentityProvider[]): string {
  if (providers.length === 0)
    return 'single sign-on is not configured: set `general_settings.sso`, or GENERIC_CLIENT_ID and its like'
  const names = providers.map(one => `'${one.name}'`).join(', ')
  return `there is no identity provider '${(name ?? '').slice(0, 100)}'; there is ${names}`
}
