import { expect, test } from 'bun:test'
import type { EndedCall, Services } from '../core/endpoint.ts'
import type { BatchLease, FileRecord } from '../core/objects/file-records.ts'
import type { Client } from '../core/request.ts'
import { GatewayError } from '../core/errors.ts'
import { askForBatch, refreshedBatch } from './batch-state.ts'

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
      batchSettled: async () => true,
    },
    ledger: { query: async () => ({ rows: [], nextCursor: null }), flush: async () => true },
    settleEnded: (one: EndedCall) => void ended.push(one),
  } as unknown as Services
}

test('of several questions that see the end of a batch at once one settles it', async () => {
  const ended: EndedCall[] = []
  const services = servicesOf(ended)
  const answer = { id: 'up', status: 'completed' }
  await Promise.all([1, 2, 3].map(() => refreshedBatch(services, record, answer, { request: client })))
  expect(ended.length).toBe(1)
})

test('a batch whose settlement could not be noted is not charged a second time', async () => {
  const ended: EndedCall[] = []
  const services = servicesOf(ended)
  let failures = 1
  const changed = {
    ...services,
    files: {
      ...services.files,
      async batchSettled() {
        if (failures-- > 0) throw new Error('the database is away')
        return true
      },
    },
    ledger: { ...services.ledger, query: async () => ({ rows: ended, nextCursor: null }) },
  } as unknown as Services
  const see = () =>
    refreshedBatch(changed, record, { id: 'up', status: 'completed' }, { request: client, leasedBy: 'one' })
  await expect(see()).rejects.toThrow('away')
  await see()
  expect(ended.length).toBe(1)
})

test('a question that cannot settle an end gives its lease back, as soon as the database answers', async () => {
  const services = servicesOf([])
  const released = Promise.withResolvers<string>()
  const leases: string[] = []
  const changed = {
    ...services,
    clock: { epochMs: () => nowMs, monotonicMs: () => 0 },
    files: {
      ...services.files,
      leaseBatch: async (_: string, lease: BatchLease) => leases.push(lease.owner),
      releaseBatch: async (_: string, { owner }: { owner: string }) => released.resolve(owner),
    },
    ledger: { ...services.ledger, query: () => Promise.reject(new Error('the database is away')) },
  } as unknown as Services
  await expect(refreshedBatch(changed, record, { id: 'up', status: 'completed' }, { request: client })).rejects.toThrow(
    'away',
  )
  expect([await released.promise]).toEqual(leases)
})

test('no batch ends in the future, though its upstream says so', async () => {
  const ended: EndedCall[] = []
  await refreshedBatch(
    servicesOf(ended),
    record,
    { id: 'up', status: 'completed', completed_at: 1e300 },
    { request: client },
  )
  expect(ended.map(one => one.endedAtMs)).toEqual([nowMs])
})

test('a batch that its upstream has forgotten ends after two days, charged as what it reserved', async () => {
  const ended: EndedCall[] = []
  const kept: object[] = []
  const services = servicesOf(ended)
  const changed = {
    ...services,
    files: { ...services.files, batchSettled: async (_: string, body: object) => (kept.push(body), true) },
    fileCalls: { json: () => Promise.reject(new GatewayError('model-not-found', 'no such batch')) },
  } as unknown as Services
  const reserved = [{ scope: 'key:k', startMs: 0, nanoUsd: 5, model: null }]
  const ask = (ageMs: number, leasedBy?: string) =>
    askForBatch(changed, {
      request: client,
      record: { ...record, reserved, body: { status: 'in_progress' }, createdAtMs: nowMs - ageMs },
      leasedBy,
    })
  const twoDaysMs = 48 * 3_600_000
  // Upstreams list a new batch with a delay; and a client is told of the upstream's answer.
  await expect(ask(twoDaysMs - 1, 'watch')).rejects.toThrow('No such Batch object')
  await expect(ask(twoDaysMs + 1)).rejects.toThrow('No such Batch object')
  expect([ended, kept]).toEqual([[], []])
  expect(await ask(twoDaysMs + 1, 'watch')).toEqual({ status: 'failed' })
  expect(kept).toEqual([{ status: 'failed' }])
  expect(ended).toMatchObject([{ outcome: 'interrupted', costNanoUsd: null, batch: { reserved } }])
})
