/** Identity providers: how persons sign in with one, and what its claims mean here. */
import type { Secret } from '../../lib/secret.ts'
import { GatewayError } from '../errors.ts'
import type { ProxyRules } from '../transport.ts'
import type { UserRole } from '../tenancy/fields.ts'

/** Which claims say what, and what their values mean. A claim is named as it is, or by its path with dots. */
export interface ClaimMapping {
  /** The claim that names the person for ever: `sub`, or what a provider has in its place. */
  readonly subject: string
  readonly email: string
  readonly name: string
  /** null = roles are not set by the provider. */
  readonly role: string | null
  /** Value of the role claim -> role; empty = the values are roles themselves. Of several the widest counts. */
  readonly roles: Readonly<Record<string, UserRole>>
  /** null = teams are not set by the provider. */
  readonly team: string | null
  /** Value of the team claim -> id of a team; empty = the values are ids. */
  readonly teams: Readonly<Record<string, string>>
  /** null = organizations are not set by the provider. */
  readonly organization: string | null
  /** Value of the organization claim -> id of an organization; empty = the values are ids. */
  readonly organizations: Readonly<Record<string, string>>
  /** Claims that a person must have, each with one of these values; empty = none. */
  readonly required: Readonly<Record<string, readonly string[]>>
}

/** Whose addresses are believed, and who gets an account. */
export interface AccountRules {
  /** Every address of the provider counts as verified: only its administrators can set them. */
  readonly trustsEmail: boolean
  /** Lower-case domains that a verified address must be in; empty = any. */
  readonly emailDomains: readonly string[]
  /** Persons without an account get one. */
  readonly createsUsers: boolean
  /** `sso_user_id` of users, and `externalId` of a directory, are subjects of its persons; else they name others. */
  readonly matchesUserIds: boolean
}

/** The addresses of a provider; null = by discovery where it has an issuer, else there is none. */
export interface ProviderEndpoints {
  readonly authorization: string | null
  readonly token: string | null
  readonly userinfo: string | null
  readonly keys: string | null
  readonly endSession: string | null
}

/** A provider that persons sign in with. */
export interface IdentityProvider extends AccountRules {
  /** In URLs, in the database and in the log. */
  readonly name: string
  /** For people. */
  readonly displayName: string
  /** null = it knows OAuth 2.0 alone: who signed in is what its userinfo endpoint says. */
  readonly issuer: string | null
  readonly clientId: string
  /** null = a public client: PKCE alone protects the code. */
  readonly clientSecret: Secret | null
  /** How the secret is sent; null = as the provider says. */
  readonly clientAuthentication: 'client_secret_basic' | 'client_secret_post' | null
  readonly scope: string
  readonly endpoints: ProviderEndpoints
  /** How far its clock may be off. */
  readonly clockToleranceSeconds: number
  readonly claims: ClaimMapping
}

/** Tokens of an identity provider that count as API keys. */
export interface TokenSettings extends AccountRules {
  readonly issuer: string
  /** One of these must be in `aud`. */
  readonly audiences: readonly string[]
  /** Where its keys are; null = by discovery. */
  readonly keysUrl: string | null
  /** After this time keys are fetched again, in the background. */
  readonly keysMaxAgeMs: number
  readonly clockToleranceSeconds: number
  /** The subject's value may also be the id of a user: the operator has chosen the claim. */
  readonly subjectIsUserId: boolean
  /** ID tokens count, too: they say who signed in at an application, and not what may be asked for with them. */
  readonly acceptsIdTokens: boolean
  /** The team of a token that names none; null = none. */
  readonly defaultTeam: string | null
  /** Machines, whose tokens stand for no user; the first whose claims a token has counts. */
  readonly serviceAccounts: readonly MappedServiceAccount[]
  readonly claims: ClaimMapping
}

/** A machine whose tokens call as a service account of a team. */
export interface MappedServiceAccount {
  readonly name: string
  /** A token is the machine's if it has, of each of these claims, one of the values; never empty. */
  readonly claims: Readonly<Record<string, readonly string[]>>
  readonly teamId: string
}

/** Everything about identity providers that the configuration decides. */
export interface IdentitySettings {
  /** The HTTP proxy that leads to providers; undefined = none. */
  readonly proxies: ProxyRules | undefined
  /** In the order in which they are shown. */
  readonly providers: readonly IdentityProvider[]
  /** null = tokens of identity providers are no credentials. */
  readonly tokens: TokenSettings | null
}

/** A person at a provider, and whether the ids that administrators and directories give users are such subjects. */
export interface NamedIdentity extends Pick<Identity, 'issuer' | 'subject'>, Pick<AccountRules, 'matchesUserIds'> {}

/** Who signed in, as the provider's claims say. */
export interface Identity {
  /** Whose subjects they are: the issuer, with `#` and the claim where that is not `sub`. */
  readonly issuer: string
  readonly subject: string
  /** Lower case; null = none. */
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
  /** undefined = roles are not set by the provider; null = no value of the claim is a role. */
  readonly role: UserRole | null | undefined
  /** Ids; undefined = teams are not set by the provider. */
  readonly teams: readonly string[] | undefined
  /** Ids; undefined = organizations are not set by the provider. */
  readonly organizations: readonly string[] | undefined
}

/** The link of a person at a provider to a user. */
export interface IdentityLink {
  /** As of `Identity`. */
  readonly issuer: string
  readonly subject: string
  readonly userId: string
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
}

/** That the user of a person was deleted, by an administrator or a directory. */
export interface IdentityRemoval {
  /** Of the user who was deleted. */
  readonly userId: string
  /** Milliseconds since 1970. */
  readonly removedAtMs: number
}

/** Keeps the sign-ins that have come back from a provider, so that none comes back twice at any replica. */
export interface SignInReturns {
  /** true = it is the first time that this one comes back. Throws `overloaded` when the database is unreachable. */
  take(state: string, endMs: number): Promise<boolean>
  /** Writes the audit row of one that was refused. */
  refused(refusal: RefusedSignIn): Promise<void>
}

/** A person who came back from a provider and may not sign in. */
export interface RefusedSignIn {
  readonly provider: string
  /** Without secrets. */
  readonly reason: string
  readonly clientAddress: string
  readonly userAgent: string
}

/** A refusal of a sign-in or of a token: the message is for an administrator, and holds no secret. */
export class IdentityRefusal extends GatewayError {
  constructor(message: string, cause?: unknown) {
    super('forbidden', message, cause === undefined ? {} : { cause })
  }
}

/** A browser on its way to a provider. */
export interface SignInBeginning {
  /** The page of the provider. */
  readonly location: string
  /** The values of `set-cookie` that bind the way back to this browser. */
  readonly cookies: readonly string[]
}

/** A person who came back from a provider. */
export interface SignInEnd {
  readonly userId: string
  /** The name of the provider. */
  readonly provider: string
  /** A path of the gateway where the browser goes on. */
  readonly returnTo: string
  /** The values of `set-cookie` by which the browser keeps what the provider is shown at the end, and nothing else. */
  readonly cookies: readonly string[]
}

/** A browser that comes back from a provider. */
export interface SignInReturn {
  /** The path of the gateway at which it came back: each provider has one of its own. */
  readonly path: string
  readonly query: URLSearchParams
  /** The user who is signed in in this browser already; null = none is. */
  readonly provenUserId: string | null
}

/** What is known of the browser. */
export interface SignInBrowser {
  readonly headers: { get(name: string): string | null }
  readonly clientAddress: string
}

/** Sign-in with identity providers. */
export interface SingleSignOn {
  /** Name and display name of each provider, in order. */
  providers(): readonly Pick<IdentityProvider, 'name' | 'displayName'>[]
  /**
   * `provider` = its name, null = the first. `returnTo` = a path of the gateway, else its start page is used. Rejects
   * with IdentityRefusal, whose message is for an administrator.
   */
  begin(
    request: { readonly provider: string | null; readonly returnTo: string | null },
    browser: SignInBrowser,
  ): Promise<SignInBeginning>
  /**
   * The user of the person who came back, made at the first sign-in where the configuration says so.
   * Rejects with IdentityRefusal, after an audit row where the browser had begun, and with `overloaded` when the
   * database is unreachable or too many come back at once.
   */
  finish(returned: SignInReturn, browser: SignInBrowser): Promise<SignInEnd>
  /** Where the provider of a user ends its own session; undefined = it has no such page. Never rejects. */
  signOutAt(userId: string, browser: SignInBrowser): Promise<string | undefined>
  /** The value of `set-cookie` that removes what the browser kept for the end. */
  forgetting(browser: SignInBrowser): string
  /** A page of the gateway, as browsers see it. */
  pageAt(path: string, browser: SignInBrowser): string
}
