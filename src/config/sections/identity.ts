/** Identity providers that persons sign in with, and tokens of one in the place of keys. */
import { z } from 'zod'
import { userRoles } from '../../core/tenancy/fields.ts'
import { isLoopback } from '../../lib/no-proxy.ts'
import { identityProviderExamples, serviceAccountExamples, tokenExamples, withExamples } from './key-examples.ts'
import { checkedText } from '../checks/checked-text.ts'

const text = z.string().min(1).max(2000)
const claim = z.string().min(1).max(200)
/** Keys and tokens would be read, and changed, on their way over plain http. */
const address = checkedText(z.url({ protocol: /^https?$/, error: 'must be an https:// address' }), value => {
  if (!URL.canParse(value)) return undefined
  const { protocol, hostname } = new URL(value)
  return protocol === 'http:' && !isLoopback(hostname) ? 'must be an https:// address' : undefined
})
const domain = z.string().regex(/^[A-Za-z0-9.-]+\.[A-Za-z]{2,}$/, 'a domain is written as example.com')
const tolerance = z.number().int().min(0).max(600)
const ids = z.record(z.string().min(1), z.string().min(1).max(255))
const requiredClaims = z.record(claim, z.union([text, z.array(text).min(1).max(100)]))

const claimSettings = {
  role_claim: claim
    .optional()
    .describe('The claim that sets the role at every sign-in; with dots for a path. Without it roles are set here.'),
  roles: z
    .record(z.string().min(1), z.enum(userRoles))
    .optional()
    .describe('What values of `role_claim` mean: of several the widest role; without it the values are roles.'),
  team_claim: claim.optional().describe('The claim that sets the teams at every sign-in.'),
  teams: ids
    .optional()
    .describe('What values of `team_claim` mean: ids of teams, which the provider alone fills; without it ids.'),
  organization_claim: claim.optional().describe('The claim that sets the organizations at every sign-in.'),
  organizations: ids.optional().describe('What values of `organization_claim` mean; without it they are ids.'),
  required_claims: requiredClaims.optional().describe('Claims that a person must have, each with one of the values.'),
}

const identityProvider = z
  .strictObject(
    withExamples(
      {
        name: z
          .string()
          .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'a name has lower-case letters, digits, dashes and underscores')
          .describe('In addresses, and in the audit log: /sso/key/generate?provider=NAME.'),
        display_name: z.string().min(1).max(100).optional().describe('On the sign-in page.'),
        issuer: address
          .optional()
          .describe('The provider as its discovery document names it; without it the three endpoints are needed.'),
        client_id: text.describe('The application at the provider.'),
        client_secret: text.optional().describe('Its secret; without it PKCE alone protects the sign-in.'),
        token_endpoint_auth_method: z
          .enum(['client_secret_basic', 'client_secret_post'])
          .optional()
          .describe('How the secret is sent; as the provider says when left out.'),
        scope: text.optional().describe('What is asked for; `openid email profile` when left out.'),
        authorization_endpoint: address.optional().describe('Wins over what the provider says.'),
        token_endpoint: address.optional().describe('Wins over what the provider says.'),
        userinfo_endpoint: address.optional().describe('Wins over what the provider says.'),
        jwks_uri: address.optional().describe('Wins over what the provider says.'),
        end_session_endpoint: address.optional().describe('Where the provider signs a person out.'),
        user_id_claim: claim.optional().describe('The claim that names a person for ever; `sub` when left out.'),
        email_claim: claim.optional().describe('`email` when left out.'),
        name_claim: claim.optional().describe('`name` when left out.'),
        ...claimSettings,
        allowed_email_domains: z
          .array(domain)
          .max(1000)
          .optional()
          .describe('Only persons with a verified address in one of these; ALLOWED_EMAIL_DOMAINS when left out.'),
        trust_email: z
          .boolean()
          .optional()
          .describe('true: addresses count as verified, because only administrators of the provider can set them.'),
        create_users: z
          .boolean()
          .optional()
          .describe('false: only persons whom a user was made for may sign in; true when left out.'),
        clock_tolerance: tolerance.optional().describe("Seconds that the provider's clock may be off; 30."),
      },
      identityProviderExamples,
    ),
  )
  .refine(
    one =>
      one.issuer !== undefined ||
      (one.authorization_endpoint !== undefined &&
        one.token_endpoint !== undefined &&
        one.userinfo_endpoint !== undefined),
    'needs `issuer`, or `authorization_endpoint`, `token_endpoint` and `userinfo_endpoint`',
  )

const serviceAccount = z.strictObject(
  withExamples(
    {
      name: z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'a name has lower-case letters, digits, dashes and underscores')
        .describe('Of the service account, in the ledger: the alias of its calls.'),
      claims: requiredClaims
        .refine(
          one => Object.keys(one).length > 0,
          'needs a claim: without one every token of the issuer would be this service account',
        )
        .describe('The token is its own that has all of these claims, each with one of the values.'),
      team_id: z.string().min(1).max(255).describe('The team whose models, limits and budget hold, and that pays.'),
    },
    serviceAccountExamples,
  ),
)

const tokens = z.strictObject(
  withExamples(
    {
      issuer: address.optional().describe('`iss` of the tokens; JWT_ISSUER when left out.'),
      audience: z
        .union([text, z.array(text).min(1).max(20)])
        .optional()
        .describe('One of these must be in `aud`; JWT_AUDIENCE when left out.'),
      jwks_uri: address
        .optional()
        .describe('Where the keys are; JWT_PUBLIC_KEY_URL when left out, else as the issuer says.'),
      public_key_ttl: z
        .number()
        .min(60)
        .max(86_400)
        .optional()
        .describe('Seconds after which keys are fetched again, while those of before go on; 600 when left out.'),
      user_id_jwt_field: claim
        .optional()
        .describe('The claim that names the user; when it is set here its value may be the id of a user. `sub`.'),
      user_email_jwt_field: claim.optional().describe('`email` when left out.'),
      user_allowed_email_domain: domain.optional().describe('Only tokens with a verified address in this domain.'),
      user_id_upsert: z
        .boolean()
        .optional()
        .describe('true: a person without a user gets one, with `default_internal_user_params`.'),
      team_id_jwt_field: claim.optional().describe('The claim that names the team; the user must be in it.'),
      team_ids_jwt_field: claim.optional().describe('The same with a list: the first team that the user is in.'),
      team_id_default: z.string().min(1).max(255).optional().describe('The team of tokens that name none.'),
      teams: ids
        .optional()
        .describe('What values of the claim mean: ids of teams. The user need not be in a team that is given so.'),
      service_accounts: z
        .array(serviceAccount)
        .max(1000)
        .refine(list => new Set(list.map(one => one.name)).size === list.length, 'has two service accounts of one name')
        .optional()
        .describe(
          'Machines, whose tokens belong to no user (client credentials): each calls as a service account of its ' +
            'team, under its name in the ledger. The first entry whose claims a token has counts.',
        ),
      required_claims: requiredClaims.optional().describe('Claims that a token must have, with one of the values.'),
      trust_email: z.boolean().optional().describe('true: the address of a token counts as verified.'),
      accept_id_tokens: z
        .boolean()
        .optional()
        .describe('true: ID tokens count, too, which were made for an application to learn who signed in.'),
      clock_tolerance: tolerance.optional().describe("Seconds that the issuer's clock may be off; 30."),
    },
    tokenExamples,
  ),
)

const providerName = z.string().min(1).max(40)

/** Keys of `general_settings`. */
export const identitySettings = {
  sso: z
    .array(identityProvider)
    .max(20)
    .refine(list => new Set(list.map(one => one.name)).size === list.length, 'has two providers of one name')
    .optional()
    .describe(
      'Identity providers that persons sign in with, beside those of GENERIC_CLIENT_ID, GOOGLE_CLIENT_ID and ' +
        'MICROSOFT_CLIENT_ID (docs/sign-in.md).',
    ),
  enable_jwt_auth: z
    .boolean()
    .optional()
    .describe('true: tokens of an identity provider (JWT) are taken in the place of keys (docs/sign-in.md).'),
  sso_user_ids_of: z
    .union([providerName, z.array(providerName).min(1).max(21)])
    .optional()
    .describe(
      'The provider whose persons `sso_user_id` of users and `externalId` of a directory name, or a list of those ' +
        'that give a person one id; `jwt_auth` = the issuer of tokens. Needed where there are several.',
    ),
  jwt_auth: tokens.optional().describe('Which tokens, and whose calls they are.'),
}

/** A provider of the file. */
export type WrittenProvider = z.infer<typeof identityProvider>
/** `jwt_auth` of the file. */
export type WrittenTokens = z.infer<typeof tokens>
