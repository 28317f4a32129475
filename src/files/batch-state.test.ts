import { expect, test } from 'bun:test'
import type { EndedCall, Services } from '../core/endpoint.ts'
import type { BatchLease, FileRecord } from '../core/ports.ts'
import type { Client } from '../core/request.ts'
import { refreshedBatch } from './batch-state.ts'

const nowMs = 1_800_000_000_000
const client: Client = { clientAddress: '', left: false, onLeft: () => {} }
const record = {
  id: 'batch_0195',
  kind: 'batch',
  keyId: 'k',
  deploymentId: 'd',
  upstreamId: 'up',
  models: [],
  createdAtMs: nowMs - 1000,
  body: {},
  recorded: false,
  owner: null,
} as unknown as FileRecord

/** Leases as a database gives them: to one owner, who may renew his. Every question takes a turn. */
function servicesOf(ended: EndedCall[]): Services {
  let owner: string | undefined
  return {
    clock: { epochMs: () => nowMs },
    current: {
      settings: { deployments: [{ id: 'd', target: { provider: { files: {} }, model: 'm' }, prices: null }] },
    },
    keys: { find: async () => undefined },
    tenants: { compile: async (key: object) => ({ role: 'key', key }) },
    files: {
      async leaseBatch(_: string, lease: BatchLease) {
        await Bun.sleep(1)
        return (owner ??= lease.owner) === lease.owner
      },
      update: async () => true,
    },
    settleEnded: (one: EndedCall) => void ended.push(one),
  } as unknown as Services
}

test('of several questions that see the end of a batch at once one settles it', async () => {
  const ended: EndedCall[] = []
  const services = servicesOf(ended)
  const answer = { id: 'up', status: 'completed' }
  await Promise.all([1, 2, 3].map(() => refreshedBatch(services, client, record, answer)))
  expect(ended.length).toBe(1)
})

test('no batch ends in the future, though its upstream says so', async () => {
  const ended: EndedCall[] = []
  await refreshedBatch(servicesOf(ended), client, record, { id: 'up', status: 'completed', completed_at: 1e300 })
  expect(ended.map(one => one.endedAtMs)).toEqual([nowMs])
})
