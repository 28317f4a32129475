/** Processes on pinned cores, and what they cost: the measuring half of the bench. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import type { Subprocess } from 'bun'

/** The system under test has one core for itself; load and upstreams share the other. */
export const coreUnderTest = 0
export const coreOfLoad = 1

const started: Subprocess[] = []

/** Starts a program on one core; it ends with the bench at the latest. */
export function startPinned(
  core: number,
  command: string[],
  env: Record<string, string> = {},
): Subprocess<'ignore', 'pipe', 'inherit'> {
  const child = Bun.spawn(['taskset', '-c', String(core), ...command], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, ...env },
  })
  started.push(child)
  return child
}

/** Runs `main`; at its end, and on a signal, stops what was started and removes the folder. */
export async function runIn(folder: string, main: () => Promise<void>): Promise<void> {
  const cleanUp = async () => {
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void cleanUp().then(() => process.exit(1)))
  try {
    await main()
  } finally {
    await cleanUp()
  }
}

async function stopAll(): Promise<void> {
  for (const child of started) child.kill('SIGTERM')
  await Promise.race([Promise.all(started.map(child => child.exited)), Bun.sleep(3000)])
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL')
}

/** The process and everything below it. */
export function familyOf(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc'))
    if (/^\d+$/.test(entry))
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
        parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
      } catch {
        // It ended while we looked.
      }
  const family = [pid]
  for (const member of family) for (const [child, parent] of parents) if (parent === member) family.push(child)
  return family
}

/** CPU time of a process family in microseconds, all threads, from the scheduler's own nanoseconds. */
export function cpuUs(pids: readonly number[]): number {
  let ns = 0
  for (const pid of pids)
    for (const task of readdirSync(`/proc/${pid}/task`))
      ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
  return ns / 1000
}

/** Threads of a gateway by what they do; `other` = compilers, collector and allocator of the runtime. */
export type ThreadKind = 'serving' | 'ledger' | 'other'

/**
 * As `cpuUs`, by thread. Workers beside that of the ledger, which has the same name, have nothing to do in the bench.
 */
export function threadCpuUs(pids: readonly number[]): Record<ThreadKind, number> {
  const sums = { serving: 0, ledger: 0, other: 0 }
  for (const pid of pids)
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const name = readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim()
      const kind = task === String(pid) ? 'serving' : name === 'Worker' ? 'ledger' : 'other'
      sums[kind] += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1000
    }
  return sums
}

/** `private` = without the pages of programs and files, which the system can take back at any time. */
const memoryNames = { now: 'VmRSS', peak: 'VmHWM', private: 'RssAnon' }

/** Resident memory in MB; `peak` since the process started or `resetPeak`. */
export function memoryMb(pids: readonly number[], which: keyof typeof memoryNames): number {
  const name = memoryNames[which]
  let kb = 0
  for (const pid of pids)
    kb += Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  return kb / 1024
}

export function resetPeak(pids: readonly number[]): void {
  for (const pid of pids) Bun.spawnSync(['sh', '-c', `echo 5 > /proc/${pid}/clear_refs`])
}

export async function waitFor(url: string, timeoutMs = 10_000): Promise<void> {
  const until = performance.now() + timeoutMs
  for (;;) {
    try {
      await (await fetch(url)).arrayBuffer()
      return
    } catch (error) {
      if (performance.now() > until) throw error
      await Bun.sleep(20)
    }
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN
}
