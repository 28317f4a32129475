/**
 * The table of docs/connections.md, from the constants of the server: tests and the attack bench hold the server to it.
 */
import { bodyTimeoutMs, bytesPerSecondMin, gapMs, graceMs } from '../../../src/http/server/body-rate.ts'
import {
  discardedBytesMax,
  evictableAfterMs,
  keepAliveTimeoutMs,
  lingerMs,
  pipelinedBytesMax,
  sendHighWaterBytes,
  stalledEvictableAfterMs,
  stallTimeoutMs,
  unauthenticatedBytesMax,
} from '../../../src/http/server/client-limits.ts'
import { highWaterBytes } from '../../../src/http/server/incoming-body.ts'
import { headBytesMax } from '../../../src/http/header-fields.ts'

export interface ConnectionPhase {
  readonly name: string
  readonly holder: 'anyone' | 'a valid key'
  /** null = as long as what it waits for takes. */
  readonly lastsMs: number | null
  /** What the time is counted from, or waits for. */
  readonly counted: string
  /** What the gateway keeps in memory for it. */
  readonly keeps: string
  /** null = never. */
  readonly evictableAfterMs: number | null
  /** 0 is evicted first; null = not at all, or as the request in front of it. */
  readonly rank: 0 | 1 | 2 | null
}

const size = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : bytes > 0 ? `${bytes / 1024} KiB` : 'nothing'
const seconds = (ms: number): string => `${ms / 1000} s`

export const connectionPhases = {
  silent: {
    name: 'connected, nothing sent',
    holder: 'anyone',
    lastsMs: stallTimeoutMs,
    counted: 'from its start',
    keeps: size(0),
    evictableAfterMs,
    rank: 0,
  },
  head: {
    name: 'a part of a head sent',
    holder: 'anyone',
    lastsMs: stallTimeoutMs,
    counted: 'from its first byte',
    keeps: size(headBytesMax),
    evictableAfterMs,
    rank: 0,
  },
  lookup: {
    name: 'its key is looked up in the database',
    holder: 'anyone',
    lastsMs: null,
    counted: 'until the database answers',
    keeps: `${size(highWaterBytes)} of the body`,
    evictableAfterMs,
    rank: 0,
  },
  refusedOwing: {
    name: 'answered without a valid key, owes its body',
    holder: 'anyone',
    lastsMs: lingerMs,
    counted: `from the answer; ${size(unauthenticatedBytesMax)} are read`,
    keeps: size(0),
    evictableAfterMs,
    rank: 0,
  },
  refusedUnread: {
    name: 'answered without a valid key, does not read',
    holder: 'anyone',
    lastsMs: stallTimeoutMs,
    counted: 'from when it does not take all',
    keeps: `an answer; ${size(pipelinedBytesMax)} behind it`,
    evictableAfterMs,
    rank: 0,
  },
  closing: {
    name: 'the last answer sent, the connection closes',
    holder: 'anyone',
    lastsMs: lingerMs,
    counted: `from the answer; ${size(unauthenticatedBytesMax)} are read`,
    keeps: size(0),
    evictableAfterMs,
    rank: 0,
  },
  idle: {
    name: 'idle between two requests',
    holder: 'anyone',
    lastsMs: keepAliveTimeoutMs,
    counted: 'from the last answer',
    keeps: size(0),
    evictableAfterMs,
    rank: 1,
  },
  owing: {
    name: 'answered with a valid key, owes its body',
    holder: 'a valid key',
    lastsMs: stallTimeoutMs,
    counted: `from the answer; ${size(discardedBytesMax)} are read`,
    keeps: size(0),
    evictableAfterMs,
    rank: 1,
  },
  body: {
    name: 'a body arrives',
    holder: 'a valid key',
    lastsMs: bodyTimeoutMs,
    counted:
      `in all; ${seconds(gapMs)} without a byte; less than ${bytesPerSecondMin} bytes/s on average ` +
      `for ${seconds(graceMs)}`,
    keeps: '`max_request_size_mb`, all together `max_body_memory_mb`',
    evictableAfterMs: stalledEvictableAfterMs,
    rank: 2,
  },
  unread: {
    name: 'an answer is not read',
    holder: 'a valid key',
    lastsMs: stallTimeoutMs,
    counted: 'from the last byte taken',
    keeps: `${size(sendHighWaterBytes)} and an answer`,
    evictableAfterMs: stalledEvictableAfterMs,
    rank: 2,
  },
  work: {
    name: 'a call is under way',
    holder: 'a valid key',
    lastsMs: null,
    counted: 'until its deployments answer or time out',
    keeps: `the body; ${size(pipelinedBytesMax)} behind it, and one read`,
    evictableAfterMs: null,
    rank: null,
  },
} as const satisfies Record<string, ConnectionPhase>

/** As it stands in docs/connections.md. */
export function phaseTable(): string {
  const rows = Object.values<ConnectionPhase>(connectionPhases).map(phase => {
    const lasts = phase.lastsMs === null ? phase.counted : `${seconds(phase.lastsMs)} ${phase.counted}`
    const evictable =
      phase.evictableAfterMs === null ? 'never' : `after ${seconds(phase.evictableAfterMs)}, rank ${phase.rank}`
    return `| ${phase.name} | ${phase.holder} | ${lasts} | ${phase.keeps} | ${evictable} |`
  })
  return ['| phase | who may hold it | how long | kept in memory | evictable |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  )
}
