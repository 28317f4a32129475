/**
 * The cookie of a session, and which pages may change something with it. `__Host-` (RFC 6265bis 4.1.3.2): browsers
 * take it over https alone, for this very host, and no other host of the domain can set it.
 */
import { GatewayError } from '../core/errors.ts'
import { isLoopback } from '../lib/no-proxy.ts'

interface Headers {
  get(name: string): string | null
}

const secureName = '__Host-modelgate_session'
/** Over plain http, where browsers refuse `__Host-`: on this machine, or where PROXY_BASE_URL is http. */
const plainName = 'modelgate_session'

/** The session that a browser shows. */
export interface ShownSession {
  readonly secret: string
  /** It came over https. */
  readonly secure: boolean
}

/** `baseUrl` = PROXY_BASE_URL. Several cookies of the name that differ count as none: one of them is not ours. */
export function shownSession(headers: Headers, baseUrl: string | null): ShownSession | undefined {
  const text = headers.get('cookie')
  if (text === null) return undefined
  const secret = cookieValue(text, secureName)
  if (secret !== undefined) return { secret, secure: true }
  if (!allowsPlain(headers, baseUrl)) return undefined
  const plain = cookieValue(text, plainName)
  return plain === undefined ? undefined : { secret: plain, secure: false }
}

/**
 * A cookie that belongs to signing in, by its two names, as the browser shows it. undefined = it is not there, or with
 * several values.
 */
export function shownCookie(headers: Headers, baseUrl: string | null, names: CookieNames): string | undefined {
  const text = headers.get('cookie')
  if (text === null) return undefined
  const secure = cookieValue(text, names.secureName)
  return secure ?? (allowsPlain(headers, baseUrl) ? cookieValue(text, names.plainName) : undefined)
}

/** The value of a cookie; undefined = it is not there, empty, or there with several values. */
function cookieValue(text: string, name: string): string | undefined {
  let found: string | undefined
  for (const part of text.split(';')) {
    const equals = part.indexOf('=')
    if (equals < 0 || part.slice(0, equals).trim() !== name) continue
    const value = part.slice(equals + 1).trim()
    if (found !== undefined && found !== value) return undefined
    found = value
  }
  return found || undefined
}

/**
 * The `Set-Cookie` of a session; `secret` empty = the cookie is removed. It ends with the browser or the session.
 * Throws `forbidden` where the browser speaks plain http to another machine.
 */
export function sessionCookie(secret: string, headers: Headers, baseUrl: string | null): string {
  return setCookie(headers, baseUrl, { secureName, plainName, value: secret, sameSite: 'Lax' })
}

/** The names of a cookie over https and over plain http. */
interface CookieNames {
  readonly secureName: string
  readonly plainName: string
}

/** A cookie to be set. */
interface CookieOptions extends CookieNames {
  /** Empty = it is removed. */
  readonly value: string
  readonly sameSite: 'Lax' | 'Strict'
  /** Absent = until the browser ends. */
  readonly maxAgeSeconds?: number
}

/** As `sessionCookie`, for any cookie that belongs to signing in. */
export function setCookie(headers: Headers, baseUrl: string | null, options: CookieOptions): string {
  const { value, sameSite, maxAgeSeconds } = options
  const secure = isSecure(headers, baseUrl)
  if (!secure && !allowsPlain(headers, baseUrl))
    throw new GatewayError(
      'forbidden',
      'signing in over plain http is possible on the machine of the gateway alone, since the session could be read ' +
        'on the way; serve https, for example by a proxy in front, and set PROXY_BASE_URL=https://... (an http:// ' +
        'address there says that plain http is accepted)',
    )
  const age = value === '' ? '; Max-Age=0' : maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  const name = secure ? options.secureName : options.plainName
  return `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}${age}`
}

/**
 * The browser speaks https, to the gateway or to a proxy in front. Where a header claims it wrongly, the browser
 * refuses the cookie, so that nothing is lost but the sign-in. `Sec-Fetch-Site` is sent over https alone, and to the
 * machine itself (w3.org/TR/fetch-metadata).
 */
export function isSecure(headers: Headers, baseUrl: string | null): boolean {
  if (baseUrl !== null) return baseUrl.startsWith('https:')
  if (headers.get('origin')?.startsWith('https:')) return true
  if (/^https\b/i.test(headers.get('x-forwarded-proto') ?? '')) return true
  return headers.get('sec-fetch-site') !== null && !isOwnMachine(headers)
}

function isOwnMachine(headers: Headers): boolean {
  return isLoopback((headers.get('host') ?? '').toLowerCase().replace(/:\d*$/, ''))
}

function allowsPlain(headers: Headers, baseUrl: string | null): boolean {
  return baseUrl?.startsWith('http:') || isOwnMachine(headers)
}

/**
 * Throws `forbidden` unless a request that changes something comes from a page of the gateway itself: browsers send
 * cookies with requests of other pages, too, and pages cannot set `Origin`.
 */
export function checkSameOrigin(headers: Headers, baseUrl: string | null, secure: boolean): void {
  const origin = headers.get('origin')
  if (origin === null || !isOwnOrigin(origin, headers, { baseUrl, secure })) {
    const named = origin === null ? 'none was sent' : `this is ${origin.slice(0, 100)}`
    throw new GatewayError(
      'forbidden',
      `with a session, changes need the \`Origin\` of the gateway itself, and ${named}; behind a proxy set ` +
        'PROXY_BASE_URL to the address that browsers see, and from programs send a key instead',
    )
  }
  const type = headers.get('content-type')?.replace(/;.*/s, '').trim().toLowerCase()
  if (type === 'application/json' || (type === undefined && !hasBody(headers))) return
  // Browsers do not name the site over plain http to another machine: there the `Origin` alone has said it.
  const site = headers.get('sec-fetch-site')
  if (type === 'multipart/form-data' && (site === 'same-origin' || (site === null && !secure))) return
  throw new GatewayError(
    'forbidden',
    'with a session, the body of a change must be `content-type: application/json`, since any page can send forms',
  )
}

/**
 * Throws `forbidden` for a request by the page of another site or origin, or a link on it: browsers send cookies along
 * with links, and what is only read may be counted, audited, or asked of an upstream.
 */
export function checkNotForeign(headers: Headers, baseUrl: string | null, secure: boolean): void {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  // Browsers do not name the site over plain http to another machine.
  const isForeign =
    site === null
      ? origin !== null && !isOwnOrigin(origin, headers, { baseUrl, secure })
      : site !== 'same-origin' && site !== 'none'
  if (isForeign)
    throw new GatewayError(
      'forbidden',
      'the page of another site has asked for this with your session; open it from the pages of the gateway, or type ' +
        'its address',
    )
}

/**
 * Throws `forbidden` unless the request of a browser was made by a page of the gateway or by its user. To be called
 * after `checkNotForeign`, for requests with effects that change nothing here. A page of another origin cannot send
 * `x-requested-with` without asking first, and is not given leave to send cookies.
 */
export function checkOwnPage(headers: Headers): void {
  if (headers.get('sec-fetch-site') !== null || headers.get('x-requested-with') !== null) return
  throw new GatewayError(
    'forbidden',
    'with a session this needs a header `sec-fetch-site`, which browsers send over https, or `x-requested-with`; ' +
      'from programs send a key instead',
  )
}

function hasBody(headers: Headers): boolean {
  return headers.get('transfer-encoding') !== null || (headers.get('content-length') ?? '0') !== '0'
}

/** The origin is that of `baseUrl`, or of the host that the request was sent to. */
export function isOwnOrigin(
  origin: string,
  headers: Headers,
  { baseUrl, secure }: { readonly baseUrl: string | null; readonly secure: boolean },
): boolean {
  if (baseUrl !== null && origin === new URL(baseUrl).origin) return true
  const host = headers.get('host')
  return host !== null && origin.toLowerCase() === `http${secure ? 's' : ''}://${host.toLowerCase()}`
}
