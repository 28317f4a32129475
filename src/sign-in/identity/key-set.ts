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
   * The key that a token names, as `jose` asks for it. Waits for the provider only where it has to: for the first keys,
   * and for a key that is not known. Throws IdentityRefusal where the provider does not give keys, and `jose`'s error
   * where it has no such key.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { errors } = await import('jose')
    const kept = this.#fresh() ?? (await this.#first())
    try {
      return await kept.find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const now = this.#parts.clock.monotonicMs()
      if (now - this.#refetchedMs < refetchPauseMs) throw error
      this.#refetchedMs = now
      await this.#renew().catch(() => {})
      return this.#kept!.find(header, token)
    }
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

/** Only keys that check signatures of asymmetric algorithms: a secret among public keys is no secret. */
function keysOf(body: unknown): JWK[] {
  const list = (body as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new Error('the answer has no list `keys`')
  return list
    .filter(one => typeof one === 'object' && one !== null && ['RSA', 'EC', 'OKP'].includes(one.kty as string))
    .slice(0, keysMax)
}
