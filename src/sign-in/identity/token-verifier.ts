/** Tokens of an identity provider (JWT) in the place of keys: verified once each, then known until they end. */
import { CryptoHasher } from 'bun'
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import { GatewayError } from '../../core/errors.ts'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { Identity, TokenSettings } from '../../core/sign-in/identity-providers.ts'
import type { Settings } from '../../core/settings.ts'
import type { ServiceAccountToken, TokenVerifier, UserToken, VerifiedToken } from '../../core/sign-in/sign-in.ts'
import { tokenActor } from '../../core/tenancy/actors.ts'
import type { TenancyStore } from '../../core/tenancy/tenancy-store.ts'
import type { Clock } from '../../lib/clock.ts'
import { DependentCache } from '../../lib/dependent-cache.ts'
import { existingGroups, tokenUser } from './accounts.ts'
import { checkRequired, claimedIssuer, hasClaims, mappedIds, readIdentity } from './claims.ts'
import type { Claims } from './claims.ts'
import { checkEnd, checkKind } from './token-kind.ts'
import { KeySet, signatureAlgorithms } from './key-set.ts'
import { explainProblem } from './problems.ts'
import type { ProviderFetch } from './provider-fetch.ts'

const knownMax = 20_000
/** A token that was refused is not asked about again for so long: it may have cost a signature and the database. */
const refusedMs = 5000
const refusedMax = 10_000

interface TokenVerifierParts {
  /** Read at each use: a reload replaces them. */
  settings(): Pick<Settings, 'newUsers' | 'identity'>
  readonly tenancy: TenancyStore
  readonly fetch: ProviderFetch
  readonly clock: Clock
  /** The name under which changes of a user are published. */
  subjectOf(userId: string): string
}

/** What is known under one set of settings. */
interface TrustedIssuer {
  readonly settings: TokenSettings
  readonly keys: KeySet
  /** Whose a token is may change with its user, such as another `sso_user_id`. */
  readonly tokens: DependentCache<VerifiedToken>
  readonly refused: LRUCache<string, GatewayError>
  /** By the hash of the token. */
  readonly checking: Map<string, Promise<VerifiedToken>>
}

/** Verifies nothing, and loads nothing, while tokens are not configured. */
export class IdentityTokenVerifier implements TokenVerifier {
  readonly #parts: TokenVerifierParts
  #known: TrustedIssuer | undefined
  #changes = 0

  constructor(parts: TokenVerifierParts) {
    this.#parts = parts
  }

  verify(token: string): VerifiedToken | undefined | Promise<VerifiedToken | undefined> {
    const settings = this.#parts.settings().identity.tokens
    if (!settings) return undefined
    if (this.#known?.settings !== settings) this.#known = knownUnder(settings, this.#parts)
    const known = this.#known
    // Of the whole token: the beginnings of all tokens of an issuer are equal.
    const hash = new CryptoHasher('sha256').update(token).digest('base64')
    const verified = known.tokens.get(hash)
    if (verified) return verified
    const refusal = known.refused.get(hash)
    if (refusal) throw refusal
    if (claimedIssuer(token) !== settings.issuer) return undefined
    return known.checking.get(hash) ?? this.#checkOnce(token, hash, known)
  }

  /** The users of these subjects have changed; undefined = all may have. */
  drop(subjects: readonly string[] | undefined): void {
    this.#changes++
    const known = this.#known
    if (!known) return
    // Verifications under way may have read the user before the change.
    known.checking.clear()
    if (subjects) for (const subject of subjects) known.tokens.drop(subject)
    else known.tokens.clear()
  }

  #checkOnce(token: string, hash: string, known: TrustedIssuer): Promise<VerifiedToken> {
    const changes = this.#changes
    const checking = check(token, known, this.#parts)
      .then(
        verified => {
          if (changes === this.#changes) known.tokens.set(hash, verified)
          return verified
        },
        (thrown: unknown) => {
          if (!(thrown instanceof IdentityRefusal)) throw thrown
          const refusal = new GatewayError('unauthenticated', `the token is refused: ${thrown.message}`, {
            cause: thrown,
          })
          known.refused.set(hash, refusal)
          throw refusal
        },
      )
      .finally(() => {
        if (known.checking.get(hash) === checking) known.checking.delete(hash)
      })
    known.checking.set(hash, checking)
    return checking
  }
}

function knownUnder(settings: TokenSettings, { fetch, clock, subjectOf }: TokenVerifierParts): TrustedIssuer {
  const keys = new KeySet({
    fetch,
    clock,
    maxAgeMs: () => settings.keysMaxAgeMs,
    address: async () => settings.keysUrl ?? discoveredKeys(settings.issuer, fetch),
  })
  return {
    settings,
    keys,
    tokens: new DependentCache(knownMax, (_, one) => (one.serviceAccount === undefined ? [subjectOf(one.userId)] : [])),
    refused: new LRUCache({ ...entryLimit(refusedMax), ttl: refusedMs }),
    checking: new Map(),
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoveredKeys(issuer: string, ask: ProviderFetch): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const answer = await ask(address, { headers: { accept: 'application/json' } })
  const found = answer.status === 200 ? ((await answer.json()) as { issuer?: unknown; jwks_uri?: unknown }) : undefined
  if (found?.issuer !== issuer) throw new Error(`${address} does not describe the issuer '${issuer}'`)
  if (typeof found.jwks_uri !== 'string') throw new Error(`${address} has no \`jwks_uri\``)
  return found.jwks_uri
}

/** Rejects with IdentityRefusal for a token that does not hold, and with `overloaded` without the database. */
async function check(
  token: string,
  { settings, keys }: TrustedIssuer,
  parts: TokenVerifierParts,
): Promise<VerifiedToken> {
  const claims = await signedClaims(token, { settings, keys }, parts.clock)
  const expiresAtMs = (Number(claims.exp) + settings.clockToleranceSeconds) * 1000
  const machine = serviceAccountOf(claims, settings)
  if (machine) return { ...machine, expiresAtMs }
  const identity = readIdentity(claims, settings.issuer, settings.claims, settings.trustsEmail)
  const userId = await tokenUser(identity, {
    tenancy: parts.tenancy,
    newUsers: parts.settings().newUsers,
    rules: { ...settings, ...mappedIds(settings.claims) },
    subjectIsUserId: settings.subjectIsUserId,
    actor: tokenActor(settings.issuer),
    provenUserId: null,
  })
  return { userId, expiresAtMs, ...(await teamOf(identity, userId, settings, parts.tenancy)) }
}

/** A machine's token, by the first entry whose claims it has; undefined = it is a person's. */
function serviceAccountOf(
  claims: Claims,
  { serviceAccounts, claims: { required } }: TokenSettings,
): Pick<ServiceAccountToken, 'serviceAccount' | 'teamId'> | undefined {
  const found = serviceAccounts.find(one => hasClaims(claims, one.claims))
  if (!found) return undefined
  checkRequired(claims, required)
  return { serviceAccount: found.name, teamId: found.teamId }
}

async function signedClaims(
  token: string,
  { settings, keys }: Pick<TrustedIssuer, 'settings' | 'keys'>,
  clock: Clock,
): Promise<Claims> {
  const { issuer, audiences, clockToleranceSeconds } = settings
  try {
    const { jwtVerify } = await import('jose')
    const now = clock.epochMs()
    const { payload, protectedHeader } = await keys.verified(find =>
      jwtVerify(token, find, {
        issuer,
        audience: [...audiences],
        algorithms: signatureAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(now),
        requiredClaims: ['exp'],
      }),
    )
    const aheadSeconds = Math.round((payload.iat ?? 0) - now / 1000)
    if (aheadSeconds > clockToleranceSeconds)
      throw new IdentityRefusal(`it was made ${aheadSeconds} seconds from now; compare the clocks (NTP)`)
    checkEnd(payload, now)
    checkKind(protectedHeader, payload, settings)
    return payload
  } catch (thrown) {
    throw explainProblem(thrown)
  }
}

/** The first team that the token names and that the user is in, or the one that the configuration maps it to. */
async function teamOf(
  { teams = [] }: Identity,
  userId: string,
  { claims, defaultTeam }: TokenSettings,
  tenancy: TenancyStore,
): Promise<Pick<UserToken, 'teamId' | 'asMember'>> {
  const byConfiguration = Object.keys(claims.teams).length > 0
  const named = teams.length > 0 ? teams : defaultTeam === null ? [] : [defaultTeam]
  if (named.length === 0) return {}
  if (byConfiguration || teams.length === 0) {
    const [teamId] = await existingGroups(tenancy, 'team', named)
    if (teamId !== undefined) return { teamId }
  } else {
    const own = new Set(
      (await tenancy.memberships({ userId })).filter(one => one.kind === 'team').map(one => one.groupId),
    )
    const teamId = named.find(id => own.has(id))
    if (teamId !== undefined) return { teamId, asMember: true }
  }
  const names = named.slice(0, 5).map(id => `'${id.slice(0, 100)}'`)
  throw new IdentityRefusal(
    `its team ${names.join(', ')} ${byConfiguration ? 'does not exist' : 'is none of the teams of its user'}`,
  )
}
