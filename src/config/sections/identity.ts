/** Identity providers that persons sign in with, and tokens of one in the place of keys. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { userRoles } from '../../core/tenancy/fields.ts'
import { isLoopback } from '../../lib/no-proxy.ts'
import { checkedText, id, isDistinctBy, oneOrMore } from './value-types.ts'

const text = () => z.string().min(1).max(2000)
const claim = () => z.string().min(1).max(200)
/** Keys and tokens would be read, and changed, on their way over plain http. */
const address = () =>
  checkedText(z.url({ protocol: /^https?$/, error: 'must be an https:// address' }), value => {
    if (!URL.canParse(value)) return undefined
    const { protocol, hostname } = new URL(value)
    return protocol === 'http:' && !isLoopback(hostname) ? 'must be an https:// address' : undefined
  })
const domain = () => z.string().regex(/^[A-Za-z0-9.-]+\.[A-Za-z]{2,}$/, 'a domain is written as example.com')
const tolerance = () => z.number().int().min(0).max(600)
const ids = () => z.record(z.string().min(1), id())
const requiredClaims = () => z.record(claim(), oneOrMore(text(), 100))

const endpoint = (what: string, example: string) => ({ type: address, description: what, example }) as const

const claimKeys = settingKeys('sign-in', {
  user_id_claim: {
    type: claim,
    default: 'sub',
    description: 'The claim that names a person for ever.',
    example: 'oid',
  },
  email_claim: {
    type: claim,
    default: 'email',
    description: 'The claim that holds the e-mail address of a person.',
    example: 'mail',
  },
  name_claim: {
    type: claim,
    default: 'name',
    description: 'The claim that holds the name of a person, as it is shown.',
    example: 'preferred_username',
  },
  role_claim: {
    type: claim,
    description:
      'The claim that sets the role of a person at every sign-in; dots make a path. Without it roles are set here.',
    example: 'realm_access.roles',
  },
  roles: {
    type: () => z.record(z.string().min(1), z.enum(userRoles)),
    description: 'What values of `role_claim` mean: of several the widest role. Without it the values are roles.',
    example: { 'gateway-admins': 'proxy_admin', staff: 'internal_user' },
  },
  team_claim: {
    type: claim,
    description: 'The claim that sets the teams of a person at every sign-in.',
    example: 'groups',
  },
  teams: {
    type: ids,
    description:
      'What values of `team_claim` mean, as ids of teams, which the provider alone fills. Without it they are ids.',
    example: { 'data-science': 'team-ds' },
  },
  organization_claim: {
    type: claim,
    description: 'The claim that sets the organizations of a person at every sign-in.',
    example: 'department',
  },
  organizations: {
    type: ids,
    description: 'What values of `organization_claim` mean, as ids of organizations. Without it they are ids.',
    example: { research: 'org-research' },
  },
  required_claims: {
    type: requiredClaims,
    description: 'The claims that a person must have, each with one of the given values.',
    example: { groups: ['gateway-users'] },
  },
})

/** Keys of an entry of `sso`. */
export const providerKeys = {
  ...settingKeys('sign-in', {
    name: {
      type: () =>
        z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'a name has lower-case letters, digits, dashes and underscores'),
      isRequired: true,
      description:
        'The name of the provider, as it stands in addresses (/sso/key/generate?provider=NAME) and in the audit log.',
      example: 'keycloak',
    },
    display_name: {
      type: () => z.string().min(1).max(100),
      description: 'The name of the provider that the sign-in page shows.',
      example: 'Keycloak',
    },
    issuer: endpoint(
      'The address of the provider as its discovery document names it; without it the three endpoints are needed.',
      'https://login.example.com/realms/main',
    ),
    client_id: {
      type: text,
      isRequired: true,
      description: 'The id that the gateway has as an application at the provider.',
      example: 'modelgate',
    },
    client_secret: {
      type: text,
      description: 'The secret of the application at the provider. Without it PKCE alone protects the sign-in.',
      example: 'os.environ/KEYCLOAK_SECRET',
      secret: 'whole',
    },
    token_endpoint_auth_method: {
      type: () => z.enum(['client_secret_basic', 'client_secret_post']),
      description: 'How the secret is sent to the provider. Left out: as the provider says.',
      example: 'client_secret_basic',
    },
    scope: {
      type: text,
      default: 'openid email profile',
      description: 'The scopes that are asked for at the sign-in.',
      example: 'openid email profile groups',
    },
    authorization_endpoint: endpoint(
      'The address where persons sign in; it wins over what the provider says.',
      'https://login.example.com/authorize',
    ),
    token_endpoint: endpoint(
      'The address that gives out tokens; it wins over what the provider says.',
      'https://login.example.com/token',
    ),
    userinfo_endpoint: endpoint(
      'The address that says who signed in; it wins over what the provider says.',
      'https://login.example.com/userinfo',
    ),
    jwks_uri: endpoint(
      'The address of the keys that sign tokens; it wins over what the provider says.',
      'https://login.example.com/keys',
    ),
    end_session_endpoint: endpoint(
      'The address where the provider signs a person out.',
      'https://login.example.com/logout',
    ),
  }),
  ...claimKeys,
  ...settingKeys('sign-in', {
    allowed_email_domains: {
      type: () => z.array(domain()).max(1000),
      description:
        'The domains of persons who may sign in, by a verified address. ALLOWED_EMAIL_DOMAINS counts when it ' +
        'is left out.',
      example: ['example.com'],
    },
    trust_email: {
      type: () => z.boolean(),
      default: false,
      description: 'true: addresses count as verified, because only administrators of the provider can set them.',
      example: true,
    },
    create_users: {
      type: () => z.boolean(),
      description:
        'true: who signs in for the first time becomes a user. false: only persons whom a user was made for may sign ' +
        'in. Left out: they do, unless the provider gives an account to everyone.',
      example: false,
    },
    clock_tolerance: {
      type: tolerance,
      default: 30,
      description: "How many seconds the provider's clock may be off.",
      example: 30,
    },
  }),
}

const serviceAccountKeys = settingKeys('sign-in', {
  name: {
    type: () =>
      z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'a name has lower-case letters, digits, dashes and underscores'),
    isRequired: true,
    description: 'The name of the service account, which is the alias of its calls in the ledger.',
    example: 'nightly-builds',
  },
  claims: {
    type: () =>
      requiredClaims().refine(
        one => Object.keys(one).length > 0,
        'needs a claim: without one every token of the issuer would be this service account',
      ),
    isRequired: true,
    description: 'The claims that a token of the service account has, each with one of the given values.',
    example: { azp: 'ci-runner', idtyp: 'app' },
  },
  team_id: {
    type: id,
    isRequired: true,
    description: 'The id of the team whose models, limits and budget hold, and that pays.',
    example: 'team-platform',
  },
})

/** Keys of `jwt_auth`. */
export const tokenKeys = settingKeys('sign-in', {
  issuer: {
    type: address,
    description: 'The issuer of the tokens that count, which they name as `iss`.',
    example: 'https://login.example.com/realms/main',
    fillingVariables: ['JWT_ISSUER'],
  },
  audience: {
    type: () => oneOrMore(text(), 20),
    description: 'The applications that tokens are made for: one of these must be in `aud`.',
    example: 'modelgate',
    fillingVariables: ['JWT_AUDIENCE'],
  },
  jwks_uri: {
    type: address,
    description: 'The address of the keys that sign tokens. Left out: as the issuer says.',
    example: 'https://login.example.com/realms/main/protocol/openid-connect/certs',
    fillingVariables: ['JWT_PUBLIC_KEY_URL'],
  },
  public_key_ttl: {
    type: () => z.number().min(60).max(86_400),
    default: 600,
    description: 'After how many seconds the keys are fetched again, while those of before go on.',
    example: 600,
  },
  user_id_jwt_field: {
    type: claim,
    description:
      'The claim that names the user; its value may then be the id of a user. Left out: `sub` names the person.',
    example: 'sub',
  },
  user_email_jwt_field: {
    type: claim,
    default: 'email',
    description: 'The claim that holds the e-mail address of the user.',
    example: 'email',
  },
  user_allowed_email_domain: {
    type: domain,
    description: 'Only tokens count that have a verified address in this domain.',
    example: 'example.com',
  },
  user_id_upsert: {
    type: () => z.boolean(),
    default: false,
    description: 'true: a person without a user gets one, with `default_internal_user_params`.',
    example: true,
  },
  team_id_jwt_field: {
    type: claim,
    description: 'The claim that names the team of a token; the user must be in it.',
    example: 'team',
  },
  team_ids_jwt_field: {
    type: claim,
    description: 'The claim that lists teams, of which the first counts that the user is in.',
    example: 'groups',
  },
  team_id_default: {
    type: id,
    description: 'The id of the team of tokens that name none.',
    example: 'team-everyone',
  },
  teams: {
    type: ids,
    description:
      'What values of the claim of teams mean, as ids of teams. The user need not be in a team that is given so.',
    example: { 'data-science': 'team-ds' },
  },
  service_accounts: {
    entries: serviceAccountKeys,
    list: account => z.array(account).max(1000).refine(isDistinctBy('name'), 'has two service accounts of one name'),
    description:
      'Machines, whose tokens belong to no user (client credentials): each calls as a service account of its team, ' +
      'under its name in the ledger. The first entry whose claims a token has counts.',
    example: [{ name: 'nightly-builds', claims: { azp: 'ci-runner', idtyp: 'app' }, team_id: 'team-platform' }],
    secret: 'named',
  },
  required_claims: {
    type: requiredClaims,
    description: 'The claims that a token must have, each with one of the given values.',
    example: { scope: 'models' },
    secret: 'named',
  },
  trust_email: {
    type: () => z.boolean(),
    default: false,
    description: 'true: the address of a token counts as verified.',
    example: true,
  },
  accept_id_tokens: {
    type: () => z.boolean(),
    default: false,
    description: 'true: ID tokens count, too, which were made for an application to learn who signed in.',
    example: false,
  },
  clock_tolerance: {
    type: tolerance,
    default: 30,
    description: "How many seconds the issuer's clock may be off.",
    example: 30,
  },
})

const hasEndpoints = (one: Values<typeof providerKeys>): boolean =>
  one.issuer !== undefined ||
  (one.authorization_endpoint !== undefined && one.token_endpoint !== undefined && one.userinfo_endpoint !== undefined)

/** Keys of `general_settings`. */
export const identityKeys = settingKeys('sign-in', {
  sso: {
    entries: providerKeys,
    also: provider =>
      provider.refine(
        one => hasEndpoints(one as Values<typeof providerKeys>),
        'needs `issuer`, or `authorization_endpoint`, `token_endpoint` and `userinfo_endpoint`',
      ),
    list: provider => z.array(provider).max(20).refine(isDistinctBy('name'), 'has two providers of one name'),
    description:
      'The identity providers that persons sign in with, beside those of GENERIC_CLIENT_ID, GOOGLE_CLIENT_ID and ' +
      'MICROSOFT_CLIENT_ID (docs/sign-in.md).',
    example: [{ name: 'keycloak', issuer: 'https://login.example.com/realms/main', client_id: 'modelgate' }],
    secret: 'named',
  },
  enable_jwt_auth: {
    type: () => z.boolean(),
    default: false,
    description: 'true: tokens of an identity provider (JWT) are taken in the place of keys (docs/sign-in.md).',
    example: true,
  },
  sso_user_ids_of: {
    type: () => oneOrMore(z.string().min(1).max(40), 21),
    description:
      'The provider whose persons `sso_user_id` of users and `externalId` of a directory name, or a list of those ' +
      'that give a person one id; `jwt_auth` is the issuer of tokens. It is needed where there are several.',
    example: 'keycloak',
  },
  jwt_auth: {
    keys: tokenKeys,
    description: 'Which tokens are taken in the place of keys, and whose calls they are.',
    example: { issuer: 'https://login.example.com/realms/main', audience: 'modelgate' },
    litellm: 'litellm_jwtauth',
    usedWith: { path: 'general_settings.enable_jwt_auth', value: true },
  },
})

/** A provider of the file. */
export type WrittenProvider = Values<typeof providerKeys>
/** `jwt_auth` of the file. */
export type WrittenTokens = Values<typeof tokenKeys>
