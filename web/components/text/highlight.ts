/**
 * Colours of code. A worker finds them, loaded with the first code: the patterns of a language take seconds on a text
 * that is made for it, and then the worker is ended, and the code keeps its one colour. The page waits for none of it.
 */

/** Longer code is shown in one colour. */
const maxLength = 20_000
const limitMs = 1000
/** Blocks of code whose colours are remembered. */
const maxKept = 500

interface Job {
  readonly key: string
  readonly code: string
  readonly language: string
}

/** HTML by language and code; null = on its way, or none. */
const kept = new Map<string, string | null>()
/** The first one is at work. */
const jobs: Job[] = []
const watchers = new Set<() => void>()
let count = 0
let worker: Worker | undefined
let isReady = false
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * The code as HTML: its text escaped, parts of it in `<span class="hljs-...">`. Undefined = not yet, or never.
 * `language` is its name or a short form ("py", "ts").
 */
export function highlighted(code: string, language: string): string | undefined {
  if (code.length > maxLength) return undefined
  const key = `${language}\n${code}`
  const html = kept.get(key)
  if (html === undefined) {
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
    kept.set(key, null)
    if (jobs.push({ key, code, language }) === 1) next()
  }
  return html ?? undefined
}

/** Calls back whenever more code has its colours; returns the function that ends it. */
export function onHighlighted(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** How often that was. */
export const highlightedCount = (): number => count

function next(): void {
  const job = jobs[0]
  if (!job) return
  if (!worker) return start()
  if (!isReady) return
  timer = setTimeout(end, limitMs)
  worker.postMessage([job.code, job.language])
}

function start(): void {
  isReady = false
  worker = new Worker(new URL('./highlight-worker.ts', import.meta.url), { type: 'module' })
  worker.addEventListener('error', end)
  worker.addEventListener('message', ({ data }: MessageEvent<string | null>) => {
    clearTimeout(timer)
    if (isReady) keep(data)
    isReady = true
    next()
  })
}

function keep(html: string | null): void {
  const job = jobs.shift()
  if (!job || html === null) return
  kept.set(job.key, html)
  count++
  for (const watcher of watchers) watcher()
}

/** Of a worker that takes too long, or could not be loaded. */
function end(): void {
  clearTimeout(timer)
  worker?.terminate()
  worker = undefined
  jobs.shift()
  next()
}
