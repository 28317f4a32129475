/**
 * The ID token of the person who signed in, which the provider is shown when the person signs out
 * (`id_token_hint`, OpenID Connect RP-Initiated Logout 1.0): without it a provider may ask who it is. The browser keeps
 * it, encrypted, so that no claim stands in the database.
 */
import { setCookie, shownCookie } from '../../access/session-cookie.ts'
import { KeyRing } from '../../lib/encryption.ts'
import { Secret } from '../../lib/secret.ts'
import type { Signer } from '../../lib/signer.ts'

interface Headers {
  get(name: string): string | null
}

const names = { secureName: '__Host-modelgate_id_token', plainName: 'modelgate_id_token' }
const encryptionContext = 'cookie:id_token'
/** Browsers refuse cookies of more than 4 KB (RFC 6265, 6.1); a longer token is not kept. */
const sealedLengthMax = 3500

/** Writes and reads the cookie, under a key that this installation derives. */
export class IdTokenCookie {
  readonly #ring: KeyRing

  constructor(sign: Signer) {
    this.#ring = new KeyRing([new Secret(sign('cookie of the id token').toString('hex'))])
  }

  /** The value of `set-cookie`; null, or a token that is too long, removes the cookie of before. */
  write(idToken: string | null, headers: Headers, baseUrl: string | null): string {
    const sealed = idToken === null ? '' : this.#ring.seal(idToken, encryptionContext)
    const value = sealed.length > sealedLengthMax ? '' : sealed
    return setCookie(headers, baseUrl, { ...names, value, sameSite: 'Lax' })
  }

  /** undefined = there is none of this installation. */
  read(headers: Headers, baseUrl: string | null): string | undefined {
    const value = shownCookie(headers, baseUrl, names)
    if (value === undefined) return undefined
    try {
      return this.#ring.open(value, encryptionContext).toString()
    } catch {
      return undefined
    }
  }
}
