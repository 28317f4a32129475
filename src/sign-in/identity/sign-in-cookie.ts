/**
 * The cookie of a browser on its way to a provider and back: what was requested, signed. Every replica of the gateway
 * can read it, and none keeps anything.
 */
import { timingSafeEqual } from 'node:crypto'
import { setCookie, shownCookie } from '../../access/session-cookie.ts'
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
/** Sign-ins that a browser may have under way, in its tabs; of more the oldest end, so that no head gets too long. */
const pendingMax = 4
/** Nothing else that the gateway signs begins so. */
const purpose = 'sign-in-cookie:'
const secureName = '__Host-modelgate_sign_in'
const plainName = 'modelgate_sign_in'
/** Of a state that this gateway has made. */
const tagForm = /^[\w-]{8}/

/** Each sign-in has its own, so that one in another tab does not end it. */
function namesOf(tag: string) {
  return { secureName: `${secureName}_${tag}`, plainName: `${plainName}_${tag}` }
}

/** The values of `set-cookie`. Lax: the way back comes from another site. Throws `forbidden` as `setCookie` does. */
export function pendingCookies(
  pending: PendingSignIn,
  headers: Headers,
  baseUrl: string | null,
  sign: Signer,
): readonly string[] {
  const text = Buffer.from(JSON.stringify(pending)).toString('base64url')
  const value = `${text}.${sign(`${purpose}${text}`).toString('base64url')}`
  const set = { ...namesOf(tagOf(pending.state)!), value, sameSite: 'Lax', maxAgeSeconds: pendingSeconds } as const
  const surplus = shownPending(headers, baseUrl, sign).slice(pendingMax - 1)
  return [setCookie(headers, baseUrl, set), ...surplus.map(one => endedCookie(one.state, headers, baseUrl))]
}

/** The value of `set-cookie` that removes what a browser went away with. */
export function endedCookie(state: string, headers: Headers, baseUrl: string | null): string {
  return setCookie(headers, baseUrl, { ...namesOf(tagOf(state) ?? ''), value: '', sameSite: 'Lax' })
}

/**
 * What the browser's cookie says of the sign-in with this state; undefined = there is none, or this installation has
 * not signed it.
 */
export function readPendingCookie(
  state: string | null,
  headers: Headers,
  baseUrl: string | null,
  sign: Signer,
): PendingSignIn | undefined {
  const tag = tagOf(state ?? '')
  const value = tag === undefined ? undefined : shownCookie(headers, baseUrl, namesOf(tag))
  return value === undefined ? undefined : opened(value, sign)
}

const tagOf = (state: string): string | undefined => tagForm.exec(state)?.[0]

function opened(value: string, sign: Signer): PendingSignIn | undefined {
  if (value.length > cookieLengthMax) return undefined
  const [text = '', signature = ''] = value.split('.')
  const sent = Buffer.from(signature, 'base64url')
  const right = sign(`${purpose}${text}`)
  if (sent.length !== right.length || !timingSafeEqual(sent, right)) return undefined
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as PendingSignIn
}

/** Those that the browser has under way, newest first. */
function shownPending(headers: Headers, baseUrl: string | null, sign: Signer): PendingSignIn[] {
  const tags = new Set<string>()
  for (const [, tag] of (headers.get('cookie') ?? '').matchAll(cookieForm)) tags.add(tag!)
  const found = [...tags].flatMap(tag => readPendingCookie(tag, headers, baseUrl, sign) ?? [])
  return found.toSorted((one, other) => other.endMs - one.endMs)
}
const cookieForm = /(?:^|;)\s*(?:__Host-)?modelgate_sign_in_([\w-]{8})=/g
