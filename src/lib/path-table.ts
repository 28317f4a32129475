/**
 * Finds what stands at a path. Exact paths in one look-up; patterns (`{name}` = one segment,
 * `{name+}` = one or more) segment by segment. What follows a name up to the next slash stands as it is
 * (`{model+}:generateContent`). A slash at the end is tolerated; an empty segment matches nothing.
 */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  readonly #patterns: (Pattern & { value: T })[] = []

  /** Replaces what stood at the same pattern. */
  add(pattern: string, value: T): void {
    if (!pattern.includes('{')) {
      this.#exact.set(pattern, value)
      return
    }
    const known = this.#patterns.find(one => one.source === pattern)
    if (known) known.value = value
    else this.#patterns.push({ source: pattern, parts: pattern.split('/').map(partOf), value })
  }

  /** What was added under exactly this pattern. */
  at(pattern: string): T | undefined {
    return this.#exact.get(pattern) ?? this.#patterns.find(one => one.source === pattern)?.value
  }

  find(path: string): { value: T; params: Record<string, string> } | undefined {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return { value: exact, params: noParams }
    if (path.length > 1 && path.endsWith('/')) return this.find(path.slice(0, -1))
    const segments = path.split('/')
    for (const { parts, value } of this.#patterns) {
      const params = match(parts, segments)
      if (params) return { value, params }
    }
    return undefined
  }
}

interface Pattern {
  readonly source: string
  readonly parts: readonly Part[]
}

/** What stands between two slashes of a pattern: a text, or a name. */
type Part =
  | { readonly text: string }
  | { readonly text?: undefined; readonly name: string; readonly suffix: string; readonly isGreedy: boolean }

function partOf(segment: string): Part {
  if (!segment.startsWith('{')) return { text: segment }
  const close = segment.indexOf('}')
  const isGreedy = segment[close - 1] === '+'
  return { name: segment.slice(1, isGreedy ? close - 1 : close), suffix: segment.slice(close + 1), isGreedy }
}

const noParams: Record<string, string> = Object.freeze({}) as Record<string, string>

function match(parts: readonly Part[], segments: readonly string[]): Record<string, string> | undefined {
  // Made for the first name: most patterns are not those of the path, which a text before it shows.
  let params: Record<string, string> | undefined
  const extra = segments.length - parts.length
  let shift = 0
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!
    if (part.text !== undefined) {
      if (part.text !== segments[at + shift]) return undefined
      continue
    }
    const { name, suffix, isGreedy } = part
    const take = isGreedy ? extra + 1 : 1
    if (take < 1 || segments.length < at + shift + take) return undefined
    const taken = segments.slice(at + shift, at + shift + take)
    if (taken.includes('')) return undefined
    const text = taken.join('/')
    if (!text.endsWith(suffix)) return undefined
    const value = decode(text.slice(0, text.length - suffix.length))
    if (!value) return undefined
    params ??= {}
    params[name] = value
    shift += take - 1
  }
  return parts.length + shift === segments.length ? params : undefined
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
