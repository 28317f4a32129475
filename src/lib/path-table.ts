/**
 * Finds what stands at a path. Exact paths in one look-up; patterns (`{name}` = one segment,
 * `{name+}` = one or more) segment by segment. What follows a name up to the next slash stands as it is
 * (`{model+}:generateContent`). A slash at the end is tolerated; an empty segment matches nothing.
 */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  readonly #patterns: { source: string; segments: string[]; value: T }[] = []

  /** Replaces what stood at the same pattern. */
  add(pattern: string, value: T): void {
    if (!pattern.includes('{')) {
      this.#exact.set(pattern, value)
      return
    }
    const known = this.#patterns.find(one => one.source === pattern)
    if (known) known.value = value
    else this.#patterns.push({ source: pattern, segments: pattern.split('/'), value })
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
    for (const { segments: pattern, value } of this.#patterns) {
      const params = match(pattern, segments)
      if (params) return { value, params }
    }
    return undefined
  }
}

const noParams: Record<string, string> = Object.freeze({}) as Record<string, string>

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  const extra = segments.length - pattern.length
  let shift = 0
  for (let at = 0; at < pattern.length; at++) {
    const part = pattern[at]!
    if (!part.startsWith('{')) {
      if (part !== segments[at + shift]) return undefined
      continue
    }
    const close = part.indexOf('}')
    const suffix = part.slice(close + 1)
    const greedy = part[close - 1] === '+'
    const take = greedy ? extra + 1 : 1
    if (take < 1 || segments.length < at + shift + take) return undefined
    const taken = segments.slice(at + shift, at + shift + take)
    if (taken.includes('')) return undefined
    const text = taken.join('/')
    if (!text.endsWith(suffix)) return undefined
    const value = decode(text.slice(0, text.length - suffix.length))
    if (!value) return undefined
    params[part.slice(1, greedy ? close - 1 : close)] = value
    shift += take - 1
  }
  return pattern.length + shift === segments.length ? params : undefined
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
