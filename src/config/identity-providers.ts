/** The settings of identity providers, from a checked configuration and the environment names that users know. */
import type {
  ClaimMapping,
  IdentityProvider,
  IdentitySettings,
  ProviderEndpoints,
  TokenSettings,
} from '../core/sign-in/identity-providers.ts'
import { schemaOf, valueSchema, withDefaults } from '../core/setting-keys.ts'
import type { Filled } from '../core/setting-keys.ts'
import type { ProxyRules } from '../core/transport.ts'
import { Secret } from '../lib/secret.ts'
import type { Environment } from './environment.ts'
import { identityKeys, providerKeys, tokenKeys } from './sections/identity.ts'
import type { WrittenProvider, WrittenTokens } from './sections/identity.ts'
import type { Config } from './sections/file.ts'

/** What was read; `settings` counts only without mistakes. */
export interface IdentityReading {
  readonly settings: IdentitySettings
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
}

/** Tenants of Microsoft's whose applications every account may sign in to. */
const publicTenants: ReadonlySet<string> = new Set(['common', 'organizations', 'consumers'])
const googleIssuer = 'https://accounts.google.com'

/** A provider in the shape of the file. `isPublic` = accounts there are open to the public. */
interface CheckedProvider {
  readonly provider: WrittenProvider
  readonly isPublic?: boolean
}

/** `placed` puts the place of a key in the file before a message. */
interface IdentityContext {
  readonly proxies: ProxyRules | undefined
  placed(path: readonly string[], message: string): string
}

interface Findings {
  readonly placed: IdentityContext['placed']
  readonly mistakes: string[]
  readonly warnings: string[]
}

/** Providers of the file come first; a name of the environment that the file has as well is a mistake. */
export function readIdentitySettings(
  { general_settings: general = {} }: Config,
  environment: Environment,
  { proxies, placed }: IdentityContext,
): IdentityReading {
  const found: Findings = { placed, mistakes: [], warnings: [] }
  const domains = (environment.ALLOWED_EMAIL_DOMAINS ?? '')
    .split(',')
    .map(one => one.trim().toLowerCase())
    .filter(one => one !== '')
  const fromEnvironment = [google(environment), microsoft(environment, found), generic(environment)].flatMap(one =>
    one === undefined ? [] : checked(one, found),
  )
  const written: CheckedProvider[] = [...(general.sso ?? []).map(provider => ({ provider })), ...fromEnvironment]
  const names = written.map(one => one.provider.name)
  for (const name of new Set(names.filter((one, at) => names.indexOf(one) !== at)))
    found.mistakes.push(
      placed(['general_settings', 'sso'], `has a provider '${name}', and so has the environment; give it another name`),
    )
  const named = written.map(one => providerOf(one, domains, found))
  const { providers, tokens } = matchedToUsers(named, tokensOf(general, environment, found), general, found)
  return {
    settings: { proxies, providers, tokens },
    mistakes: found.mistakes,
    warnings: found.warnings,
  }
}

type Unmatched<Entry> = Omit<Entry, 'matchesUserIds'>
/** In the place of a provider's name: the issuer of tokens that count as keys. */
const tokensName = 'jwt_auth'

/** Whose persons the ids of users name: the only namespace that there is, else that of `sso_user_ids_of`. */
function matchedToUsers(
  providers: readonly Unmatched<IdentityProvider>[],
  tokens: Unmatched<TokenSettings> | null,
  { sso_user_ids_of: written }: NonNullable<Config['general_settings']>,
  { placed, mistakes, warnings }: Findings,
): Pick<IdentitySettings, 'providers' | 'tokens'> {
  const subjects = new Map(providers.map(one => [one.name, `${subjectIssuer(one)} ${one.claims.subject}`]))
  if (tokens) subjects.set(tokensName, `${tokens.issuer} ${tokens.claims.subject}`)
  const chosen = written === undefined ? undefined : [written].flat()
  const place = ['general_settings', 'sso_user_ids_of']
  for (const name of chosen ?? [])
    if (!subjects.has(name))
      mistakes.push(
        placed(place, `names '${name}', but the identity providers are: ${[...subjects.keys()].join(', ') || 'none'}`),
      )
  const namespaces = new Set(subjects.values())
  if (chosen === undefined && namespaces.size > 1)
    warnings.push(
      placed(
        place,
        `is not set, and there are several identity providers (${[...subjects.keys()].join(', ')}): \`sso_user_id\` ` +
          'of users and `externalId` of a directory link no person until it names one',
      ),
    )
  const matching = new Set(
    chosen === undefined ? (namespaces.size === 1 ? namespaces : []) : chosen.map(of => subjects.get(of)),
  )
  const matches = (name: string) => ({ matchesUserIds: matching.has(subjects.get(name)) })
  return {
    providers: providers.map(one => ({ ...one, ...matches(one.name) })),
    tokens: tokens && { ...tokens, ...matches(tokensName) },
  }
}

/** Who names the persons: the issuer, else the endpoint that says who signed in. */
const subjectIssuer = ({ issuer, endpoints }: Pick<IdentityProvider, 'issuer' | 'endpoints'>): string | null =>
  issuer ?? endpoints.userinfo

function google(environment: Environment): CheckedProvider | undefined {
  const { GOOGLE_CLIENT_ID: id, GOOGLE_CLIENT_SECRET: secret } = environment
  if (!id) return undefined
  return {
    isPublic: true,
    provider: {
      name: 'google',
      display_name: 'Google',
      issuer: googleIssuer,
      client_id: id,
      ...(secret && { client_secret: secret }),
    },
  }
}

function microsoft(environment: Environment, { mistakes }: Findings): CheckedProvider | undefined {
  const { MICROSOFT_CLIENT_ID: id, MICROSOFT_CLIENT_SECRET: secret, MICROSOFT_TENANT: tenant } = environment
  if (!id) return undefined
  if (!tenant || !/^[A-Za-z0-9.-]+$/.test(tenant)) {
    mistakes.push('MICROSOFT_CLIENT_ID needs MICROSOFT_TENANT: the id or a domain of the directory')
    return undefined
  }
  const isPublic = publicTenants.has(tenant)
  return {
    isPublic,
    provider: {
      name: 'microsoft',
      display_name: 'Microsoft',
      issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
      client_id: id,
      ...(secret && { client_secret: secret }),
      // Of a directory: `sub` differs from application to application, and SCIM knows persons by this one.
      user_id_claim: 'oid',
      // In a directory of one's own only its administrators set addresses; elsewhere they are what a person says.
      trust_email: !isPublic,
    },
  }
}

function generic(environment: Environment): CheckedProvider | undefined {
  const id = environment.GENERIC_CLIENT_ID
  if (!id) return undefined
  const given = {
    issuer: environment.GENERIC_ISSUER,
    client_secret: environment.GENERIC_CLIENT_SECRET,
    authorization_endpoint: environment.GENERIC_AUTHORIZATION_ENDPOINT,
    token_endpoint: environment.GENERIC_TOKEN_ENDPOINT,
    userinfo_endpoint: environment.GENERIC_USERINFO_ENDPOINT,
    end_session_endpoint: environment.GENERIC_END_SESSION_ENDPOINT,
    scope: environment.GENERIC_SCOPE,
    user_id_claim: environment.GENERIC_USER_ID_ATTRIBUTE,
    email_claim: environment.GENERIC_USER_EMAIL_ATTRIBUTE,
    name_claim: environment.GENERIC_USER_DISPLAY_NAME_ATTRIBUTE,
    role_claim: environment.GENERIC_USER_ROLE_ATTRIBUTE,
  }
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value))
  const trusts = environment.GENERIC_TRUST_EMAIL?.toLowerCase() === 'true'
  return {
    provider: { name: 'generic', display_name: 'Single sign-on', client_id: id, ...present, trust_email: trusts },
  }
}

/** What the environment gives passes the checks of the file. */
function checked(written: CheckedProvider, { mistakes }: Findings): CheckedProvider[] {
  const read = valueSchema(identityKeys.sso).safeParse([written.provider])
  if (read.success) return [written]
  const prefix = written.provider.name.toUpperCase()
  for (const { path, message } of read.error.issues)
    mistakes.push(`the provider of ${prefix}_CLIENT_ID: ${[...path.slice(1), ''].join(' ')}${message}`)
  return []
}

function providerOf({ provider, isPublic = false }: CheckedProvider, domains: readonly string[], found: Findings) {
  const one = withDefaults(providerKeys, provider)
  const emailDomains = one.allowed_email_domains?.map(domain => domain.toLowerCase()) ?? domains
  const isOpen = (isPublic || one.issuer === googleIssuer) && emailDomains.length === 0
  if (isOpen && one.create_users === undefined)
    found.warnings.push(
      `everyone can have an account of the provider '${one.name}': only persons whom a user was made for may sign ` +
        'in; set ALLOWED_EMAIL_DOMAINS to let others in',
    )
  return {
    name: one.name,
    displayName: one.display_name ?? one.name,
    issuer: one.issuer ?? null,
    clientId: one.client_id,
    clientSecret: one.client_secret === undefined ? null : new Secret(one.client_secret),
    clientAuthentication: one.token_endpoint_auth_method ?? null,
    scope: one.scope,
    endpoints: endpointsOf(one),
    clockToleranceSeconds: one.clock_tolerance,
    trustsEmail: one.trust_email,
    emailDomains,
    createsUsers: one.create_users ?? !isOpen,
    claims: claimsOf(one),
  } satisfies Unmatched<IdentityProvider>
}

function endpointsOf(one: WrittenProvider): ProviderEndpoints {
  return {
    authorization: one.authorization_endpoint ?? null,
    token: one.token_endpoint ?? null,
    userinfo: one.userinfo_endpoint ?? null,
    keys: one.jwks_uri ?? null,
    endSession: one.end_session_endpoint ?? null,
  }
}

function claimsOf(one: Filled<typeof providerKeys>): ClaimMapping {
  return {
    subject: one.user_id_claim,
    email: one.email_claim,
    name: one.name_claim,
    role: one.role_claim ?? null,
    roles: one.roles ?? {},
    team: one.team_claim ?? null,
    teams: one.teams ?? {},
    organization: one.organization_claim ?? null,
    organizations: one.organizations ?? {},
    required: requiredOf(one.required_claims),
  }
}

function requiredOf(claims: WrittenProvider['required_claims'] = {}): ClaimMapping['required'] {
  return Object.fromEntries(Object.entries(claims).map(([name, values]) => [name, [values].flat()]))
}

function tokensOf(
  { enable_jwt_auth: isOn, jwt_auth: given = {} }: NonNullable<Config['general_settings']>,
  environment: Environment,
  { placed, mistakes, warnings }: Findings,
): Unmatched<TokenSettings> | null {
  if (!isOn) return null
  const issuer = given.issuer ?? environment.JWT_ISSUER
  const audiences = [given.audience ?? environment.JWT_AUDIENCE?.split(',').map(one => one.trim()) ?? []]
    .flat()
    .filter(one => one !== '')
  const keysUrl = given.jwks_uri ?? environment.JWT_PUBLIC_KEY_URL
  const missing = [
    ...(issuer ? [] : ['`jwt_auth.issuer` (JWT_ISSUER)']),
    ...(audiences.length > 0 ? [] : ['`jwt_auth.audience` (JWT_AUDIENCE)']),
  ].join(' and ')
  if (missing)
    warnings.push(
      placed(
        ['general_settings', 'enable_jwt_auth'],
        `has no effect without ${missing}: tokens of other issuers, or for other applications, would count as keys`,
      ),
    )
  for (const [key, value] of [
    ['issuer', issuer],
    ['jwks_uri', keysUrl],
  ] as const) {
    const problem = value && schemaOf(tokenKeys).safeParse({ [key]: value }).error?.issues[0]?.message
    if (problem) mistakes.push(`${key === 'issuer' ? 'JWT_ISSUER' : 'JWT_PUBLIC_KEY_URL'} ${problem}`)
  }
  return issuer && audiences.length > 0 ? tokenSettings(given, { issuer, audiences, keysUrl: keysUrl ?? null }) : null
}

function tokenSettings(
  written: WrittenTokens,
  named: Pick<TokenSettings, 'issuer' | 'audiences' | 'keysUrl'>,
): Unmatched<TokenSettings> {
  const given = withDefaults(tokenKeys, written)
  const domain = given.user_allowed_email_domain
  return {
    ...named,
    keysMaxAgeMs: given.public_key_ttl * 1000,
    clockToleranceSeconds: given.clock_tolerance,
    subjectIsUserId: given.user_id_jwt_field !== undefined,
    defaultTeam: given.team_id_default ?? null,
    serviceAccounts: (given.service_accounts ?? []).map(one => ({
      name: one.name,
      claims: requiredOf(one.claims),
      teamId: one.team_id,
    })),
    trustsEmail: given.trust_email,
    acceptsIdTokens: given.accept_id_tokens,
    emailDomains: domain === undefined ? [] : [domain.toLowerCase()],
    createsUsers: given.user_id_upsert,
    claims: {
      subject: given.user_id_jwt_field ?? providerKeys.user_id_claim.default,
      email: given.user_email_jwt_field,
      name: providerKeys.name_claim.default,
      role: null,
      roles: {},
      team: given.team_ids_jwt_field ?? given.team_id_jwt_field ?? null,
      teams: given.teams ?? {},
      organization: null,
      organizations: {},
      required: requiredOf(given.required_claims),
    },
  }
}
