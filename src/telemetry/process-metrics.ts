/** Metrics of the process: its build, memory, files, and how long its thread was busy with something else. */
import { readdirSync, statfsSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import { HistogramValues } from './exposition.ts'
import type { Exposition } from './exposition.ts'

const tickMs = 250
const delayBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** What is known of the process from its start on. */
export interface ProcessFacts {
  readonly version: string
  readonly dataDirectory: string
  /** Of file descriptors; undefined = the system does not say. */
  readonly descriptorsMax: number | undefined
}

/** How much later than planned a timer ran, until `stop`. */
export class LoopDelay {
  readonly values = new HistogramValues(delayBounds)
  readonly #timer: ReturnType<typeof setInterval>

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    let dueMs = clock.monotonicMs() + tickMs
    this.#timer = setInterval(() => {
      const nowMs = clock.monotonicMs()
      this.values.observe(Math.max(nowMs - dueMs, 0) / 1000)
      dueMs = nowMs + tickMs
    }, tickMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** `facts` undefined = only what every process knows of itself. */
export function exposeProcessFacts(out: Exposition, facts: ProcessFacts | undefined, delay?: LoopDelay): void {
  if (facts) {
    const disk = diskOf(facts.dataDirectory)
    if (disk) {
      out.value('modelgate_data_disk_free_bytes', {}, Number(disk.bavail) * Number(disk.bsize))
      out.value('modelgate_data_disk_size_bytes', {}, Number(disk.blocks) * Number(disk.bsize))
    }
    if (delay) out.histogram('modelgate_event_loop_delay_seconds', {}, delay.values)
    out.value('modelgate_build_info', { version: facts.version, bun: Bun.version }, 1)
  }
  out.value('process_resident_memory_bytes', {}, process.memoryUsage.rss())
  const { user, system } = process.cpuUsage()
  out.value('process_cpu_seconds_total', {}, (user + system) / 1e6)
  if (!facts) return
  out.value('process_start_time_seconds', {}, performance.timeOrigin / 1000)
  const open = openDescriptors()
  if (open !== undefined) out.value('process_open_fds', {}, open)
  if (facts.descriptorsMax !== undefined && Number.isFinite(facts.descriptorsMax))
    out.value('process_max_fds', {}, facts.descriptorsMax)
}

function diskOf(directory: string): ReturnType<typeof statfsSync> | undefined {
  try {
    return statfsSync(directory)
  } catch {
    return undefined
  }
}

/** The reading of the directory itself has one of them. */
function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
