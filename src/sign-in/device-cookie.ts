/** Marks a browser that has signed in to an account, so that failures of others do not count against it. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { setCookie, shownCookie } from '../access/session-cookie.ts'
import type { SignInRequest } from '../core/sign-in/sign-in.ts'
import type { Signer } from '../lib/signer.ts'

const names = { secureName: '__Host-modelgate_device', plainName: 'modelgate_device' }
const maxAgeSeconds = 180 * 86_400

const signatureOf = (sign: Signer, nonce: string, account: string): Buffer => sign(`device ${nonce} ${account}`)

/** Names the browser, where its cookie was signed for this account. */
export function knownDevice(
  { headers }: SignInRequest,
  account: string,
  { sign, baseUrl }: { readonly sign: Signer; readonly baseUrl: string | null },
): string | undefined {
  const [nonce, signature] = shownCookie(headers, baseUrl, names)?.split('.') ?? []
  if (!nonce || !signature) return undefined
  const given = Buffer.from(signature, 'base64url')
  const expected = signatureOf(sign, nonce, account)
  return given.length === expected.length && timingSafeEqual(given, expected) ? nonce : undefined
}

/** The `Set-Cookie` after a sign-in. */
export function deviceCookie(
  { headers }: SignInRequest,
  account: string,
  sign: Signer,
  baseUrl: string | null,
): string {
  const nonce = randomBytes(16).toString('base64url')
  const value = `${nonce}.${signatureOf(sign, nonce, account).toString('base64url')}`
  return setCookie(headers, baseUrl, { ...names, value, sameSite: 'Strict', maxAgeSeconds })
}
