/**
 * TeX as MathML, by Temml, which is loaded with the first formula. Until then, and for what it cannot read, a formula
 * is its source.
 */
import type Temml from 'temml'

/** Formulas whose MathML is remembered. */
const maxKept = 500
/** Largest size that a formula may ask for, in em. */
const maxSizeEm = 20

const options = {
  throwOnError: true,
  trust: false,
  maxSize: [maxSizeEm, maxSizeEm] as [number, number],
  // Its frame would be an inline style, which the content security policy refuses; that of \fbox is a class.
  macros: { '\\boxed': '\\fbox{$\\displaystyle #1$}' },
}

/** Some lines of definitions of each other make seconds of work. */
const definition = /\\(?:[egx]?def|global|long|let|futurelet|(?:re)?newcommand|providecommand)(?!\p{L})/u

let temml: typeof Temml | undefined
let isLoading = false
const watchers = new Set<() => void>()
/** null = not to be read as TeX. */
const kept = new Map<string, string | null>()

/** The MathML of a formula; undefined = its source is shown, for now (`onMathLoaded` tells) or for good. */
export function mathOf(tex: string, isDisplay: boolean): string | undefined {
  if (definition.test(tex)) return undefined
  if (!temml) {
    if (!isLoading) void load()
    return undefined
  }
  const key = `${isDisplay} ${tex}`
  let html = kept.get(key)
  if (html === undefined) {
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
    html = render(temml, tex, isDisplay)
    kept.set(key, html)
  }
  return html ?? undefined
}

function render(by: typeof Temml, tex: string, displayMode: boolean): string | null {
  try {
    // The browser refuses inline styles even where the sanitiser reads them. Quotes of texts are escaped.
    return by.renderToString(tex, { ...options, displayMode }).replaceAll(/ style="[^"]*"/g, '')
  } catch {
    return null
  }
}

async function load(): Promise<void> {
  isLoading = true
  try {
    temml = (await import('temml')).default
    for (const watcher of watchers) watcher()
  } catch {
    // The next formula tries again; meanwhile the source can be read.
    isLoading = false
  }
}

/** Calls back when formulas can be shown; returns the function that ends it. */
export function onMathLoaded(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Whether they can. */
export const isMathLoaded = (): boolean => temml !== undefined
