/**
 * The threads that compile JavaScript step behind those that run it (Linux): while the processors are busy calls go
 * first, and code that is called often stays in its slower form a little longer.
 *
 * Gain in the first two seconds of load, in turns with the tree before on one core of a busy machine: 13,000 instead of
 * 6,000 requests/s (docs/decisions/0005).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** As JavaScriptCore names them. */
const compilerName = 'JITWorker'
/** A tenth of a busy processor: the collector waits for compilers at times, so that they must not stand still. */
const niceOfCompilers = 10
/** The threads end when there is nothing to compile, and others come. */
const lookEveryMs = 500

/** From now on, until it is stopped. Does nothing where a thread has no priority of its own. */
export function keepCompilersBehind(): { stop(): void } {
  if (process.platform !== 'linux') return { stop() {} }
  let behind = new Set<string>()
  const look = () => {
    const compilers = compilerThreads()
    for (const thread of compilers) if (!behind.has(thread)) stepBehind(Number(thread))
    behind = new Set(compilers)
  }
  look()
  const timer = setInterval(look, lookEveryMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** Their ids at the system. */
function compilerThreads(): string[] {
  try {
    return readdirSync('/proc/self/task').filter(thread => nameOf(thread) === compilerName)
  } catch {
    // There is no /proc.
    return []
  }
}

function nameOf(thread: string): string {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').trimEnd()
  } catch {
    // It has ended meanwhile.
    return ''
  }
}

function stepBehind(thread: number): void {
  try {
    setPriority(thread, niceOfCompilers)
  } catch {
    // It has ended meanwhile, or the system refuses: it goes on as the others.
  }
}
