/** How busy others keep the machine while a command runs. */
import { readFileSync, readdirSync } from 'node:fs'
import { cpus } from 'node:os'

/** Of the kernel's counters (USER_HZ, the same on every Linux). */
const tickMs = 10
const sampleMs = 200

/** Time of all cores together since the machine started, milliseconds. */
interface MachineTime {
  readonly all: number
  readonly idle: number
}

/**
 * `idle` leaves out what is waited for disks, and `all` has what a host took from this machine (proc_stat(5): user,
 * nice, system, idle, iowait, irq, softirq, steal). Without /proc what other machines took is not known.
 */
function machineTime(): MachineTime {
  try {
    const [total = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
    const times = total.split(/\s+/).slice(1, 9).map(Number)
    return { all: times.reduce((sum, ticks) => sum + ticks, 0) * tickMs, idle: times[3]! * tickMs }
  } catch {
    const cores = cpus().map(({ times }) => times)
    const sum = (pick: (times: (typeof cores)[number]) => number) => cores.reduce((all, one) => all + pick(one), 0)
    return { all: sum(one => one.user + one.nice + one.sys + one.irq + one.idle), idle: sum(one => one.idle) }
  }
}

/**
 * Follows a process and all that it started, also what has outlived its parent: a browser's processes are not waited
 * for, so that the time that the system gives for a process that ended does not have theirs.
 */
export class MachineLoad {
  readonly #from = machineTime()
  /** What each process has used so far, by id. */
  readonly #usedMs = new Map<number, number>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(pid: number) {
    this.#usedMs.set(pid, 0)
    this.#look()
    this.#timer = setInterval(() => this.#look(), sampleMs)
  }

  /**
   * When it has ended: the part of the machine's time that others used, waited for or took, 0 to 1. `processorMs` = the
   * time of the process and of those that were waited for, as the system gives it.
   */
  end(processorMs: number): number {
    clearInterval(this.#timer)
    const now = machineTime()
    const allMs = now.all - this.#from.all
    const seenMs = this.#usedMs.values().reduce((sum, ms) => sum + ms, 0)
    const othersMs = allMs - (now.idle - this.#from.idle) - Math.max(processorMs, seenMs)
    return allMs > 0 ? Math.min(Math.max(othersMs / allMs, 0), 1) : 0
  }

  #look(): void {
    const children = new Map<number, number[]>()
    const usedMs = new Map<number, number>()
    for (const name of directoriesOfProcesses()) {
      const process = readProcess(name)
      if (!process) continue
      usedMs.set(process.pid, process.usedMs)
      children.getOrInsertComputed(process.parent, () => []).push(process.pid)
    }
    const own = [...this.#usedMs.keys()]
    for (let at = 0; at < own.length; at++) {
      const used = usedMs.get(own[at]!)
      if (used !== undefined) this.#usedMs.set(own[at]!, used)
      for (const child of children.get(own[at]!) ?? [])
        if (!this.#usedMs.has(child)) {
          this.#usedMs.set(child, 0)
          own.push(child)
        }
    }
  }
}

function directoriesOfProcesses(): string[] {
  try {
    return readdirSync('/proc').filter(name => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** proc_pid_stat(5). undefined = it has ended. */
function readProcess(name: string): { pid: number; parent: number; usedMs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'utf8')
    // The name of the program may have spaces and brackets in it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid: Number(name), parent: Number(fields[1]), usedMs: (Number(fields[11]) + Number(fields[12])) * tickMs }
  } catch {
    return undefined
  }
}
