/**
 * The cookie of a browser on its way to a provider and back: what was requested, signed. Every replica of the gateway
 * can read it, and none keeps anything.
 */
import { timingSafeEqual } from 'node:crypto'
import { setCookie, shownCookie } from '../../accounts/session-cookie.ts'
import type { Signer } from '../../lib/signer.ts'

interface Headers {
  get(name: string): string | null
}

/** What the way back is checked against. */
export interface PendingSignIn {
  /** The name of the provider. */
  readonly provider: string
  /** The path of the gateway at which the browser has to come back, with what this provider says. */
  readonly callback: string
  /** Comes back in the address. */
  readonly state: string
  /** Comes back in the ID token. */
  readonly nonce: string
  /** PKCE: proves to the provider that who brings the code asked for it. */
  readonly verifier: string
  /** A path of the gateway. */
  readonly returnTo: string
  /** Milliseconds since 1970. */
  readonly endMs: number
}

/** Long enough for a password and a second factor. */
export const pendingSeconds = 600
const cookieLengthMax = 4000
/** Nothing else that the gateway signs begins so. */
const purpose = 'sign-in-cookie:'
const names = { secureName: '__Host-modelgate_sign_in', plainName: 'modelgate_sign_in' }

/** The value of `set-cookie`. Lax: the way back comes from another site. Throws `forbidden` as `setCookie` does. */
export function pendingCookie(pending: PendingSignIn, headers: Headers, baseUrl: string | null, sign: Signer): string {
  const text = Buffer.from(JSON.stringify(pending)).toString('base64url')
  const value = `${text}.${sign(`${purpose}${text}`).toString('base64url')}`
  return setCookie(headers, baseUrl, { ...names, value, sameSite: 'Lax', maxAgeSeconds: pendingSeconds })
}

/** What a browser's cookie says; undefined = there is none, or this installation has not signed it. */
export function readPendingCookie(headers: Headers, baseUrl: string | null, sign: Signer): PendingSignIn | undefined {
  const value = shownCookie(headers, baseUrl, names)
  if (value === undefined || value.length > cookieLengthMax) return undefined
  const [text = '', signature = ''] = value.split('.')
  const sent = Buffer.from(signature, 'base64url')
  const right = sign(`${purpose}${text}`)
  if (sent.length !== right.length || !timingSafeEqual(sent, right)) return undefined
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as PendingSignIn
}
