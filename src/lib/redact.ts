/** Removes secrets from texts, JSON, headers and URLs: their values anywhere, and headers whose name says secret. */

/** Replaces a secret of any length. */
export const redacted = '[redacted]'
/** Shorter values are not searched for: they would also match in ordinary text. */
const secretCharactersMin = 4
const secretHeader = new RegExp(
  '^(authorization|proxy-authorization|cookie|set-cookie)$|' +
    '(^|[-_])(key|token|secret|password|credential|signature)s?($|[-_])',
  'i',
)
const secretParameter = /(^|[-_])(key|token|secret|password|sig|signature|credential)s?$/i
const scheme = /^(Bearer|Basic|Key|Token) /i

/** Finds each of the secrets as it is and as a URL spells it. Those of fewer than 4 characters are not looked for. */
export class Redactor {
  readonly #values: readonly string[]

  constructor(secrets: readonly string[]) {
    const long = secrets.filter(value => value.length >= secretCharactersMin)
    // The longest first: one secret may be a part of another.
    this.#values = [...new Set(long.flatMap(value => [value, encodeURIComponent(value)]))].sort(
      (a, b) => b.length - a.length,
    )
  }

  text(text: string): string {
    let clean = text
    for (const value of this.#values) if (clean.includes(value)) clean = clean.replaceAll(value, redacted)
    return clean
  }

  /** Every text in a JSON value, names of fields too. */
  json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map(item => this.json(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [this.text(name), this.json(item)]))
  }

  /** `hidden` = names, in lower case, of further headers whose values are replaced. */
  headers(headers: Readonly<Record<string, string>>, hidden: ReadonlySet<string> = new Set()): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        const isSecret = secretHeader.test(name) || hidden.has(name.toLowerCase())
        return [name, isSecret ? `${scheme.exec(value)?.[0] ?? ''}${redacted}` : this.text(value)]
      }),
    )
  }

  /** Also without a user's password, and without parameters such as `key`. */
  url(url: string): string {
    const [address = '', query] = this.text(url).split('?', 2)
    const clean = address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, `$1${redacted}@`)
    if (query === undefined) return clean
    const parameters = query.split('&').map(one => {
      const name = one.split('=', 1)[0]!
      return secretParameter.test(name) ? `${name}=${redacted}` : one
    })
    return `${clean}?${parameters.join('&')}`
  }
}
