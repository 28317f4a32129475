/** Whether this process may be sent traffic. */
import type { Readiness } from '../core/endpoint.ts'
import type { WorkerLink } from '../core/workers.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { Backlog } from '../store/ledger/journal/journal-backlog.ts'
import type { Store } from './store.ts'

/** What `/health/readiness` says; `draining`: the process takes no new calls any more. */
export function readiness(store: Store, worker: WorkerLink | undefined, draining: boolean): Readiness {
  // An unreachable database does not matter for a while: known keys work and the journal records every call.
  // Two replicas that count limits separately would admit twice as much: only the one with the claim is ready.
  const ready = !draining && store.ledger.healthy && store.isOnlyReplica()
  return {
    ready,
    details: {
      db: store.databaseState(),
      redis:
        store.redis === undefined || worker?.hasOwnStore
          ? 'not configured'
          : store.redis.reachable
            ? 'connected'
            : 'disconnected',
      ...(worker && { workers: worker.count, workers_serving: worker.serving() }),
      ...(store.redis && !store.redis.reachable && { limits: store.redis.withoutRedis }),
      ledger: store.ledger.healthy ? (store.ledger.failure() ?? 'ok') : 'the journal cannot be written (disk full?)',
      ledger_backlog: backlogDetails(store.ledger.backlog()),
      ...(!store.isOnlyReplica() && {
        replicas: 'another replica runs on this database, and there is no REDIS_URL to share limits',
      }),
      ...(draining && { draining: true }),
    },
  }
}

/** What waits for the database, and how long the oldest of it does. */
function backlogDetails({ bytes, records, sinceMs }: Backlog): Readiness['details']['ledger_backlog'] {
  return { bytes, records, oldest_seconds: Math.round(Math.max(clock.epochMs() - sinceMs, 0) / 1000) }
}
