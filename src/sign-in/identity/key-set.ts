/** The public keys of one issuer, by which its tokens are checked: fetched when needed, kept, and renewed. */
import type { JWK, JWTVerifyGetKey, LocalJWKSet } from 'jose'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { Clock } from '../../lib/clock.ts'
import { fetchProblem } from './provider-fetch.ts'
import type { ProviderFetch } from './provider-fetch.ts'

/** A key that is not known makes the keys be fetched again, but not more often: clients can invent key ids. */
const refetchPauseMs = 30_000
/** A provider that does not answer is asked again after this. */
const failurePauseMs = 5000
/** Keys go on for so long while the provider is away. */
const staleMsMax = 24 * 60 * 60 * 1000
const keysMax = 100
/** With the keys that are kept, those of a fetch that was under way, and those of the token's own fetch. */
const attemptsMax = 3

/** Signatures by a private key alone: with a shared secret, the public key of the issuer would sign. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

interface KeySetParts {
  readonly fetch: ProviderFetch
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Where the keys are; asked when they are fetched. */
  address(): Promise<string>
  /** After this time keys are fetched again, while those of before go on. */
  maxAgeMs(): number
}

interface Kept {
  readonly find: LocalJWKSet
  readonly fetchedMs: number
}

/** The signing keys of one issuer, fetched when they are needed and kept for a while. */
export class KeySet {
  readonly #parts: KeySetParts
  #kept: Kept | undefined
  #fetching: Promise<void> | undefined
  /** When a key that is not known last made the keys be fetched. */
  #refetchedMs = -Infinity
  #failedMs = -Infinity
  #failure = ''

  constructor(parts: KeySetParts) {
    this.#parts = parts
  }

  /**
   * What `verify` makes of a token, given the keys as `jose` asks for them. Where none of them fits, the keys are
   * fetched again, once for all who ask meanwhile, and it is asked again: a new key may have another id, or that of one
   * before.
   * Throws IdentityRefusal where the provider does not give keys, else what `verify` throws.
   */
  async verified<Result>(verify: (find: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    let kept = this.#fresh() ?? (await this.#first())
    for (let attempt = 1; ; attempt++)
      try {
        return await verify(kept.find)
      } catch (error) {
        const newer = attempt < attemptsMax && (await isOfAnotherKey(error)) ? await this.#newer(kept) : undefined
        if (!newer) throw error
        kept = newer
      }
  }

  /**
   * Keys that were fetched after those; waits for a fetch. undefined = there are none, and it is too early to ask.
   * Throws IdentityRefusal where they could not be fetched: whose key it is, is not known then.
   */
  async #newer(kept: Kept): Promise<Kept | undefined> {
    if (this.#kept === kept) {
      const now = this.#parts.clock.monotonicMs()
      if (!this.#fetching) {
        if (now - this.#failedMs < failurePauseMs) throw new IdentityRefusal(this.#failure)
        if (now - this.#refetchedMs < refetchPauseMs) return undefined
        this.#refetchedMs = now
      }
      await this.#renew()
    }
    return this.#kept === kept ? undefined : this.#kept
  }

  /** Keys that are kept; old ones are renewed behind them. undefined = there are none, or they are too old. */
  #fresh(): Kept | undefined {
    const { clock, maxAgeMs } = this.#parts
    if (!this.#kept) return undefined
    const now = clock.monotonicMs()
    const ageMs = now - this.#kept.fetchedMs
    if (ageMs >= maxAgeMs() && now - this.#failedMs >= failurePauseMs) void this.#renew().catch(() => {})
    return ageMs < staleMsMax ? this.#kept : undefined
  }

  async #first(): Promise<Kept> {
    const pausing = this.#parts.clock.monotonicMs() - this.#failedMs < failurePauseMs
    if (pausing) throw new IdentityRefusal(this.#failure)
    await this.#renew()
    return this.#kept!
  }

  #renew(): Promise<void> {
    return (this.#fetching ??= this.#load().finally(() => (this.#fetching = undefined)))
  }

  async #load(): Promise<void> {
    const { clock, address } = this.#parts
    try {
      const { createLocalJWKSet } = await import('jose')
      const url = await address()
      const answer = await this.#parts.fetch(url, { headers: { accept: 'application/json, application/jwk-set+json' } })
      if (answer.status !== 200) throw new Error(`${url} answered with status ${answer.status}`)
      const keys = keysOf(await answer.json())
      this.#kept = { find: createLocalJWKSet({ keys }), fetchedMs: clock.monotonicMs() }
      this.#failedMs = -Infinity
    } catch (thrown) {
      this.#failedMs = clock.monotonicMs()
      this.#failure = `the keys of the provider could not be fetched: ${fetchProblem(thrown)}`
      throw new IdentityRefusal(this.#failure)
    }
  }
}

/** The token names a key that is not known, or the known key of this name has not signed it. */
async function isOfAnotherKey(error: unknown): Promise<boolean> {
  const { errors } = await import('jose')
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed
}

/** Only keys that check signatures of asymmetric algorithms: a secret among public keys is no secret. */
function keysOf(body: unknown): JWK[] {
  const list = (body as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new Error('the answer has no list `keys`')
  return list
    .filter(one => typeof one === 'object' && one !== null && ['RSA', 'EC', 'OKP'].includes(one.kty as string))
    .slice(0, keysMax)
}
