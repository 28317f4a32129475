/** Makes what is shown free of secrets: wherever their values stand, and in headers that are there to hold some. */

/** Stands wherever a secret stood, whatever its length. */
export const masked = '[redacted]'
/** Shorter values are no secrets, and would tear holes into everything else. */
const secretCharactersMin = 4
const secretHeader =
  /^(authorization|proxy-authorization|cookie|set-cookie)$|(^|[-_])(key|token|secret|password|credential|signature)s?($|[-_])/i
const secretParameter = /(^|[-_])(key|token|secret|password|sig|signature|credential)s?$/i
const scheme = /^(Bearer|Basic|Key|Token) /i

/** Finds each of the secrets as it is and as a URL spells it. Those of fewer than 4 characters are not looked for. */
export class Mask {
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
    for (const value of this.#values) if (clean.includes(value)) clean = clean.replaceAll(value, masked)
    return clean
  }

  /** Every text in a JSON value, names of fields too. */
  json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map(item => this.json(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [this.text(name), this.json(item)]))
  }

  /** `hidden` = names, in lower case, of headers that hold whatever their owner likes. */
  headers(headers: Readonly<Record<string, string>>, hidden: ReadonlySet<string> = new Set()): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        const isSecret = secretHeader.test(name) || hidden.has(name.toLowerCase())
        return [name, isSecret ? `${scheme.exec(value)?.[0] ?? ''}${masked}` : this.text(value)]
      }),
    )
  }

  /** Also without a user's password, and without parameters such as `key`. */
  url(url: string): string {
    const [address = '', query] = this.text(url).split('?', 2)
    const clean = address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, `$1${masked}@`)
    if (query === undefined) return clean
    const parameters = query.split('&').map(one => {
      const name = one.split('=', 1)[0]!
      return secretParameter.test(name) ? `${name}=${masked}` : one
    })
    return `${clean}?${parameters.join('&')}`
  }
}
