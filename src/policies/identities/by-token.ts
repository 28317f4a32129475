/** Identifies a caller by a token of an identity provider, or of the gateway itself, in the place of a key. */
import { callerProblem } from '../../access/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { GatewayError } from '../../core/errors.ts'
import type { KeyDirectory } from '../../core/tenancy/keys.ts'
import type { TokenVerifier, VerifiedToken } from '../../core/sign-in/sign-in.ts'
import type { Clock } from '../../lib/clock.ts'
import { KeyRefusal } from './key-refusal.ts'

/** What tokens are verified with. */
export interface TokenParts {
  readonly keys: KeyDirectory
  readonly clock: Clock
  /** Asked in order for bearer texts in the form of a JWT. */
  readonly tokens: readonly TokenVerifier[]
}

const tokenLengthMax = 16 * 1024
const tokenForm = /^eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/** The text looks like a JWT in its compact form (RFC 7515). */
export function isTokenForm(text: string): boolean {
  return text.length <= tokenLengthMax && tokenForm.test(text)
}

/**
 * The caller of a token; undefined = no verifier knows its issuer. At once where token and user are known. Throws, or
 * rejects with, `unauthenticated` for a token that does not hold or whose user is gone or blocked.
 */
export function callerOfToken(token: string, parts: TokenParts): Caller | undefined | Promise<Caller> {
  try {
    for (let at = 0; at < parts.tokens.length; at++) {
      const verified = parts.tokens[at]!.verify(token)
      if (verified instanceof Promise) return verifiedLater(token, verified, at + 1, parts)
      if (verified) return callerOf(verified, parts)
    }
    return undefined
  } catch (thrown) {
    throw refusal(thrown)
  }
}

async function verifiedLater(
  token: string,
  verifying: Promise<VerifiedToken | undefined>,
  next: number,
  parts: TokenParts,
): Promise<Caller> {
  try {
    let verified = await verifying
    for (let at = next; !verified && at < parts.tokens.length; at++) verified = await parts.tokens[at]!.verify(token)
    if (verified) return await callerOf(verified, parts)
  } catch (thrown) {
    throw refusal(thrown)
  }
  throw new KeyRefusal('unknown', 'the token is of an issuer that this gateway does not know')
}

function callerOf(token: VerifiedToken, parts: TokenParts): Caller | Promise<Caller> {
  const found =
    token.serviceAccount === undefined
      ? parts.keys.lookupUser(token.userId, token.teamId)
      : parts.keys.lookupServiceAccount(token.serviceAccount, token.teamId)
  if (found instanceof Promise) return found.then(caller => accepted(caller, token, parts.clock.epochMs()))
  return accepted(found, token, parts.clock.epochMs())
}

/** What may have changed since the token was verified. */
function accepted(caller: Caller | undefined, token: VerifiedToken, nowMs: number): Caller {
  const problem = caller ? callerProblem(caller, nowMs) : 'unknown'
  if (!caller || problem) throw new KeyRefusal(problem ?? 'unknown', unknownOwner(token), caller?.key.id)
  const { teamId, expiresAtMs, callsOnly } = token
  const asMember = token.serviceAccount === undefined && token.asMember
  // Teams and memberships end while tokens go on.
  if (teamId !== undefined && !(asMember ? caller.member : caller.team))
    throw new KeyRefusal('unknown', `the user of this token is not in the team '${teamId}'`, caller.key.id)
  if (expiresAtMs <= nowMs) throw new KeyRefusal('expired', 'the token has expired; get a new one', caller.key.id)
  return callsOnly ? withoutRole(caller) : caller
}

const unknownOwner = ({ serviceAccount, teamId }: VerifiedToken): string =>
  serviceAccount === undefined
    ? 'the user of this token is not known here, or is blocked'
    : `the team '${teamId}' of the service account '${serviceAccount}' is not known here, or is blocked`

/** Made once for each caller, which is replaced when something of it changes. */
const withoutRoles = new WeakMap<Caller, Caller>()

function withoutRole(caller: Caller): Caller {
  let known = withoutRoles.get(caller)
  if (!known) withoutRoles.set(caller, (known = { ...caller, role: 'key' }))
  return known
}

/** A verifier's refusal as one for a key, so that it is counted. */
function refusal(thrown: unknown): unknown {
  const isRefusal = thrown instanceof GatewayError && thrown.kind === 'unauthenticated'
  return isRefusal && !(thrown instanceof KeyRefusal) ? new KeyRefusal('unknown', thrown.message) : thrown
}
