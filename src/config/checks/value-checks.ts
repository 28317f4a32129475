/**
 * Checks of text values, so that mistakes are found before the first call. Functions named `...Problem` return a
 * message, or undefined.
 */

/** RFC 9110, 5.5: no control characters. The HTTP client writes headers as Latin-1. */
export function isHeaderText(text: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(text)
}

/**
 * A key is sent in a header, and no vendor's keys contain blanks; a trailing line break from a file is a common
 * mistake.
 */
export function isKeyText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** A public model name appears in lists, logs and metrics. */
export function isModelName(text: string): boolean {
  return text.trim() !== '' && !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text)
}

/** URL parts that are never sent or must not be logged. Text that is not a URL is reported by the schema. */
export function addressProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { username, password, hash } = new URL(text)
  if (username || password)
    return 'holds a user or a password, which are not sent; give them as `api_key` or in `extra_headers`'
  return hash ? 'has a part behind `#`, which is never sent; take it out' : undefined
}

const unreadable =
  'is no address that can be read; special characters of user and password are written with a percent sign: `#` is ' +
  '%23, `@` is %40, `/` is %2F'

/** The message does not show the text, which may hold a password. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!/^(postgres(ql)?:\/\/|sqlite:)/.test(text)) return 'must begin with postgres://, postgresql:// or sqlite:'
  return text.startsWith('sqlite:') || URL.canParse(text) ? undefined : unreadable
}

/** Checks the URL of Redis. The schemes are those of Bun's client. The message does not show the text. */
export function redisUrlProblem(text: string): string | undefined {
  if (!/^(redis|rediss|valkey|valkeys|redis\+tls|redis\+unix|redis\+tls\+unix):\/\/./.test(text))
    return 'must begin with redis:// or rediss://, as in redis://127.0.0.1:6379'
  return URL.canParse(text) ? undefined : unreadable
}
