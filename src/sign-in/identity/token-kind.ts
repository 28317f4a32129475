/** Which tokens of an issuer are credentials for an API: access tokens, and no others that it has signed. */
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { TokenSettings } from '../../core/sign-in/identity-providers.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Claims } from './claims.ts'

/** A token that ends later has no end. */
const lifetimeMsMax = 10 * 365 * 24 * 3_600_000

/** Throws IdentityRefusal for an end that is none. `nowMs` = since 1970. */
export function checkEnd({ exp }: Claims, nowMs: number): void {
  if (typeof exp === 'number' && exp * 1000 - nowMs <= lifetimeMsMax) return
  throw new IdentityRefusal('it ends more than ten years from now (`exp`); let the issuer give tokens an end')
}

/** RFC 9068, 2.1, also as `application/okta-internal-at+jwt`; JWT, or nothing, where an issuer is older than that. */
const accessTokenType = /(?:^|[/-])at\+jwt$/i
const plainType = /^(?:application\/)?jwt$/i

/**
 * Throws IdentityRefusal for a token that is not for APIs: one of another type (RFC 8725, 3.11), an event such as a
 * logout token (RFC 8417), and an ID token unless these are accepted. An ID token is known by what no other token has:
 * hashes of what came with it (OpenID Connect Core 1.0, 3.1.3.6, 3.3.2.11), the word of the issuer (Keycloak's `typ`,
 * Cognito's `token_use`), or the nonce of a sign-in without a scope beside it.
 */
export function checkKind(
  { typ }: { readonly typ?: string | undefined },
  claims: Claims,
  { acceptsIdTokens }: Pick<TokenSettings, 'acceptsIdTokens'>,
): void {
  if (typ !== undefined && accessTokenType.test(typ)) return
  if (typ !== undefined && !plainType.test(typ))
    throw new IdentityRefusal(`it is no access token (its type is '${typ.slice(0, 100)}')`)
  if (isObject(claims.events)) throw new IdentityRefusal('it is no access token (it tells of events)')
  if (!acceptsIdTokens && isIdToken(claims))
    throw new IdentityRefusal(
      'it is an ID token, which says who has signed in; send the access token, or set `accept_id_tokens`',
    )
}

function isIdToken(claims: Claims): boolean {
  if (claims.typ === 'ID' || claims.token_use === 'id') return true
  if (claims.typ === 'Bearer' || claims.token_use === 'access') return false
  if (['at_hash', 'c_hash', 's_hash'].some(name => claims[name] !== undefined)) return true
  return claims.nonce !== undefined && claims.scope === undefined && claims.scp === undefined
}
