/** What went wrong at a provider, in a sentence for an administrator. */
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import { fetchProblem } from './provider-fetch.ts'

/** A library's error, as far as it is read. */
interface LibraryError {
  readonly message?: unknown
  readonly code?: unknown
  readonly cause?: unknown
  readonly claim?: unknown
  readonly error?: unknown
  readonly error_description?: unknown
}

const clocks = 'compare the clocks of both (NTP); `clock_tolerance` allows for a difference'

/** By `code` of openid-client and jose. */
const sentences: Readonly<Record<string, string>> = {
  OAUTH_INVALID_RESPONSE: 'the provider answered with what its protocol forbids',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'the provider answered with an unexpected status',
  OAUTH_RESPONSE_IS_NOT_JSON: 'the provider answered with something else than JSON',
  OAUTH_PARSE_ERROR: 'the provider answered with JSON that cannot be read',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'a claim of the ID token is not the one that was expected',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: `the ID token has expired, or is not valid yet; ${clocks}`,
  OAUTH_UNSUPPORTED_OPERATION: 'the ID token is signed by an algorithm that is not accepted (none, or a shared secret)',
  OAUTH_TIMEOUT: 'the provider did not answer in time',
  OAUTH_HTTP_REQUEST_FORBIDDEN: 'the provider names an http:// address; only https:// ones are used',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED:
    'the provider names itself otherwise than `issuer` does; write the issuer exactly as its discovery document does',
  ERR_JWKS_NO_MATCHING_KEY: 'the token is signed by a key that the provider does not publish',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'several keys of the provider fit the token, which names none (`kid`)',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'the signature of the token is wrong',
  ERR_JOSE_ALG_NOT_ALLOWED: 'the token is signed by an algorithm that is not accepted (none, or a shared secret)',
  ERR_JOSE_NOT_SUPPORTED: 'the token is signed by an algorithm that is not accepted (none, or a shared secret)',
  ERR_JWT_EXPIRED: 'the token has expired',
  ERR_JWS_INVALID: 'the token is no signed JWT',
  ERR_JWT_INVALID: 'the token is no JWT',
}

const claimSentences: Readonly<Record<string, string>> = {
  aud: 'the token is for another application (`aud`)',
  iss: 'the token is of another issuer (`iss`)',
  nonce: 'the ID token belongs to another sign-in (`nonce`)',
  nbf: `the token is not valid yet; ${clocks}`,
  exp: `the token has no end, or has expired; ${clocks}`,
  iat: `the token says nothing about when it was made; ${clocks}`,
}

/** `thrown` as a refusal; `before` begins its message. */
export function explainProblem(thrown: unknown, before = ''): IdentityRefusal {
  if (thrown instanceof IdentityRefusal) return before ? new IdentityRefusal(`${before}${thrown.message}`) : thrown
  return new IdentityRefusal(`${before}${sentenceOf(thrown)}`, thrown)
}

function sentenceOf(thrown: unknown): string {
  const { code, claim, error, error_description: description } = thrown as LibraryError
  if (typeof error === 'string') return answered(error, description)
  if (typeof claim === 'string' && Object.hasOwn(claimSentences, claim)) return claimSentences[claim]!
  const named = claimIn(thrown as LibraryError)
  if (named !== undefined) return claimSentences[named]!
  const sentence = typeof code === 'string' && Object.hasOwn(sentences, code) ? sentences[code] : undefined
  if (sentence !== undefined) return `${sentence}${detailOf(thrown as LibraryError)}`
  return fetchProblem(thrown)
}

/** The error of the provider itself: `access_denied` where a person said no, `invalid_client` for a wrong secret. */
function answered(error: string, description: unknown): string {
  const detail = typeof description === 'string' ? `: ${printable(description)}` : ''
  return `the provider answered '${printable(error)}'${detail}`
}

/** openid-client names the claim in what caused its error. */
function claimIn({ cause }: LibraryError): string | undefined {
  for (let one: unknown = cause, depth = 0; typeof one === 'object' && one !== null && depth < 4; depth++) {
    const { claim, cause: next } = one as LibraryError
    if (typeof claim === 'string' && Object.hasOwn(claimSentences, claim)) return claim
    one = next
  }
  return undefined
}

function detailOf({ cause }: LibraryError): string {
  return cause instanceof Error && cause.message !== '' ? ` (${printable(cause.message)})` : ''
}

const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300)
