/** What texts of the configuration must be, so that no call fails of it later. Each function says the problem, or nothing. */

/**
 * The transport sets these itself or they are none of a request's, and does not send given ones
 * (http/client/request-head.ts; RFC 9110, 7.6.1).
 */
export const unsentHeaders: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
])

/** RFC 9110, 5.5: control characters end a header or lie in it; what Latin-1 lacks cannot be written in one. */
export function isHeaderText(text: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(text)
}

/** A key travels in a header, and no vendor's key has blanks; a file's last line break gets into one easily. */
export function isKeyText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** A public name stands in lists, logs and metrics. */
export function isModelName(text: string): boolean {
  return text.trim() !== '' && !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text)
}

/** What an address holds that is never sent, or must not be shown. What is no address at all is told elsewhere. */
export function addressProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { username, password, hash } = new URL(text)
  if (username || password)
    return 'holds a user or a password, which are not sent; give them as `api_key` or in `extra_headers`'
  return hash ? 'has a part behind `#`, which is never sent; take it out' : undefined
}

const unreadable =
  'is no address that can be read; special characters of user and password are written with a percent sign: `#` is %23, `@` is %40, `/` is %2F'

/** The problem is never shown with the text: it may hold a password. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!/^(postgres(ql)?:\/\/|sqlite:)/.test(text)) return 'must begin with postgres://, postgresql:// or sqlite:'
  return text.startsWith('sqlite:') || URL.canParse(text) ? undefined : unreadable
}

/** As for the database. The schemes are those that Bun's client takes. */
export function redisUrlProblem(text: string): string | undefined {
  if (!/^(redis|rediss|valkey|valkeys|redis\+tls|redis\+unix|redis\+tls\+unix):\/\/./.test(text))
    return 'must begin with redis:// or rediss://, as in redis://127.0.0.1:6379'
  return URL.canParse(text) ? undefined : unreadable
}
