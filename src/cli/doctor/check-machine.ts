/** The machine and its files: directory, disk, descriptors, memory, port. */
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { ask, textOf } from '../gateway-access.ts'
import { diskFullness } from '../../app/troubles.ts'
import { descriptorLimit } from '../../platform/descriptor-limit.ts'
import { hasUnfinishedRestore } from '../../store/backup/finish-restore.ts'
import { filesOf } from '../../store/ledger/journal/journal.ts'
import { backlogOf, measureJournals, noBacklog, sumOf } from '../../store/ledger/journal/journal-backlog.ts'
import { fine, problem, warning } from './finding.ts'
import type { Finding } from './finding.ts'

/** Whether the directory can be used, is private, and has room. It does not need to exist. */
export function checkDirectory(directory: string): Finding[] {
  const about = 'data directory'
  let place = directory
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place)
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return [
      problem(
        about,
        `${place} cannot be written by this user`,
        'give it to the user of the gateway, or name another with --data-dir',
      ),
    ]
  }
  const found: Finding[] = []
  if (place === directory && (statSync(directory).mode & 0o077) !== 0)
    found.push(
      warning(
        about,
        `${directory} can be entered by other users`,
        'start the gateway once, which closes it, or chmod 700',
      ),
    )
  const { bavail, blocks, bsize } = statfsSync(place)
  const full = diskFullness({ directory, freeBytes: bavail * bsize, totalBytes: blocks * bsize })
  if (full) found.push(problem('disk', full.message, 'free space, or move the data directory'))
  if (hasUnfinishedRestore(directory))
    found.push(
      problem(about, 'a restore was cut', 'start the gateway, which finishes it, or run modelgate restore again'),
    )
  return found.length > 0 ? found : [fine(about, directory)]
}

/** Rows of calls that are in the journal and not in the database. */
export function checkJournal(directory: string, isServing: boolean): Finding[] {
  try {
    const { records, sinceMs } = journalsOf(directory)
      .map(one => backlogOf(measureJournals(one, '')))
      .reduce(sumOf, noBacklog)
    if (records === 0) return [fine('journal', 'no call waits for the database')]
    const since = Number.isFinite(sinceMs) ? ` since ${new Date(sinceMs).toISOString()}` : ''
    const message = `${Math.round(records)} records of calls are in the journal${since}`
    if (isServing) return [fine('journal', message)]
    return [warning('journal', message, 'start the gateway, which stores them')]
  } catch {
    return []
  }
}

/** Those of workers have their own. */
function journalsOf(directory: string): string[] {
  const workers = filesOf(join(directory, 'workers')).map(number => join(directory, 'workers', number, 'journal'))
  return [join(directory, 'journal'), ...workers]
}

const descriptorsMin = 4096

/** Each connection and each upstream needs one. */
export function checkDescriptors(): Finding[] {
  const limit = descriptorLimit()
  if (limit === undefined || limit >= descriptorsMin)
    return [fine('open files', limit === undefined ? 'unknown' : String(limit))]
  return [
    warning(
      'open files',
      `a process may have ${limit} open, which bounds the clients that are served at once`,
      `raise it: ulimit -n ${descriptorsMin * 16}, or LimitNOFILE of the systemd unit`,
    ),
  ]
}

const memoryBytesMin = 384 * 1024 * 1024

/** What the process may use: that of the machine, or of its container. */
export function checkMemory(): Finding[] {
  const bytes = Math.min(totalmem(), containerBytes())
  const shown = `${Math.round(bytes / 1024 ** 2)} MiB`
  if (bytes >= memoryBytesMin) return [fine('memory', shown)]
  return [
    warning(
      'memory',
      `${shown} are little`,
      `give the process ${memoryBytesMin / 1024 ** 2} MiB, or lower body_memory_mb`,
    ),
  ]
}

function containerBytes(): number {
  for (const path of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'])
    try {
      const bytes = Number(readFileSync(path, 'utf8').trim())
      if (bytes > 0) return bytes
    } catch {
      // There is no such group.
    }
  return Infinity
}

const answerMsMax = 3000

/** Whether the port is free, or a gateway answers on it. */
export async function checkPort(
  host: string,
  port: number,
): Promise<{ readonly found: Finding[]; readonly isServing: boolean }> {
  const about = 'port'
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true)
    return { found: [fine(about, `${port} of ${host} is free`)], isServing: false }
  } catch (error) {
    if (await isGateway(host, port)) return { found: [fine(about, `a gateway answers on ${port}`)], isServing: true }
    const remedy = 'stop the other program, or choose others with --port and --host'
    const message = `${port} of ${host} cannot be used: ${(error as Error).message}`
    return { found: [problem(about, message, remedy)], isServing: false }
  }
}

async function isGateway(host: string, port: number): Promise<boolean> {
  const asked = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  try {
    const answer = await ask(`http://${asked}:${port}/health/readiness`, { limitMs: answerMsMax })
    return 'db' in (JSON.parse(await textOf(answer)) as object)
  } catch {
    return false
  }
}
