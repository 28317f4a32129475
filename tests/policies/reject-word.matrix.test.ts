/** The policy `reject-word` at every endpoint that makes a call: the list comes from the router. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { allEndpoints } from '../../src/endpoints/index.ts'
import type { FaultKind } from '../../src/core/errors.ts'
import type { Outcome } from '../../src/core/hub/operation.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { inputFiles } from '../../src/core/hub/input-files.ts'
import type { Upload } from '../../src/core/upload.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { matrixCases, noCalls } from './matrix-cases.ts'
import type { Sender } from './matrix-cases.ts'
import { makeFixtures } from './matrix-fixtures.ts'
import { BatchUpstream, matrixConfig } from './matrix-config.ts'
import { Recorder } from './recorder.ts'
import { rejectWord } from './reject-word.ts'

const endpoints = await allEndpoints()

type Json = Record<string, any>

const allowed = 'a walk in Pemba'
const refused = 'a walk in ZanziBar'

let gateway: Gateway
let sender: Sender
const batches = new BatchUpstream()
const recorder = new Recorder()

beforeAll(async () => {
  gateway = await startGateway({
    config: matrixConfig(batches.url),
    policies: [rejectWord('zanzibar'), recorder.policy],
  })
  // A slot that is not given back shows at once.
  const key = await gateway.key({ max_parallel_requests: 1 })
  sender = { gateway, key, fixtures: await makeFixtures(gateway, key, [allowed, refused]) }
})

afterAll(async () => {
  await gateway?.stop()
  await batches.stop()
})

/** Requests that the upstreams have got so far. */
const sent = (): number => gateway.simulator.truth.totals().requests + batches.requests

/** The error as each dialect tells it. */
function expectRefusal(endpoint: Endpoint, body: Json): void {
  const message = expect.stringContaining("'zanzibar'")
  if (body.object === 'thread.run') return expect(body.last_error).toEqual({ code: 'invalid_prompt', message })
  if (endpoint.doc.tag === 'Conversations')
    return expect(body.last_error).toEqual({ code: 'content_policy_violation', message })
  expect(body.error.message).toContain("'zanzibar'")
  if (endpoint.doc.tag === 'Messages')
    return expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  if (endpoint.doc.tag === 'Gemini') return expect(body.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' })
  expect(body.error).toMatchObject({
    type: 'invalid_request_error',
    code: 'content_policy_violation',
    name: 'ContentPolicyViolationError',
  })
}

/** The one settlement since `from`, and the one row of the ledger that says the same. */
async function expectOneEnd(from: number, end: { outcome: Outcome; kind: FaultKind | null }): Promise<void> {
  const settlements = recorder.settlements.slice(from)
  expect(settlements.map(({ outcome, error }) => [outcome, error?.kind ?? null])).toEqual([[end.outcome, end.kind]])
  const rows = await gateway.rows(`&request_id=${settlements[0]!.call.id}`)
  expect(rows.map(row => [row.outcome, row.error_kind])).toEqual([[end.outcome, end.kind]])
  if (end.kind === null) return
  expect(rows[0]).toMatchObject({ attempts: 0, deployment_id: null, status: 400 })
  expect([null, '0']).toContain(rows[0]!.cost_nano_usd)
}

/** Administration calls no model. */
const managed =
  /^(Access groups|Budgets|Cache|Credentials|Customers|Directory|Guardrails|Keys|Models|Organizations|Sign-in|Spend|Tags|Teams|Users)$/
const written = endpoints.filter(({ method, doc }) => method === 'POST' && !managed.test(doc.tag))

test('every endpoint that makes a call has a case, and every case an endpoint', () => {
  const known = new Set([...Object.keys(matrixCases), ...noCalls])
  const operations = new Set(written.map(({ doc }) => doc.operationId))
  expect([...operations].filter(one => !known.has(one))).toEqual([])
  expect([...known].filter(one => !operations.has(one))).toEqual([])
  expect(endpoints.filter(({ doc }) => doc.callsModel && !(doc.operationId in matrixCases))).toEqual([])
})

for (const endpoint of written) {
  const cases = matrixCases[endpoint.doc.operationId] ?? []
  if (cases.length > 0)
    describe(endpoint.doc.operationId, () => {
      for (const { place, send } of cases)
        test(`${place}: refused with the word, answered without it`, async () => {
          const ends = recorder.settlements.length
          const good = await send(sender, allowed)
          const answer = await good.text()
          expect([good.status, answer.slice(0, 500)]).toEqual([200, answer.slice(0, 500)])
          expect(recorder.settlements.slice(ends).map(({ outcome }) => outcome)).not.toContain('error')
          await refusedAt(endpoint, place, () => send(sender, refused))
        })
      for (const path of otherPaths(endpoint))
        test(`${path}: refused with the word`, () =>
          refusedAt(endpoint, path, () => cases[0]!.send(sender, refused, path)))
    })
}

/** Runs are begun under a path with a thread's id: theirs are asked by their cases. */
function otherPaths({ paths, doc }: Endpoint): string[] {
  if (doc.tag === 'Threads') return []
  const model = doc.operationId.toLowerCase().includes('embed') ? 'embedder' : 'flash'
  return paths.map(path => path.replace('{model+}', model).replace('/utils/token_counter', '$&?call_endpoint=1'))
}

async function refusedAt(endpoint: Endpoint, place: string, send: () => Promise<Response>): Promise<void> {
  // Only the last call of a case may be refused: the calls that prepare it are made here, too.
  const before = recorder.settlements.length
  const prepared = endpoint.doc.operationId === 'submitToolOutputs' ? 1 : 0
  const requests = sent()
  const bad = await send()
  const body = (await bad.json()) as Json
  expect([place, bad.status, JSON.stringify(body).includes('zanzibar')]).toEqual([place, 400, true])
  expectRefusal(endpoint, body)
  expect(sent() - requests).toBe(prepared)
  await expectOneEnd(before + prepared, { outcome: 'error', kind: 'content-policy' })
}

test('a file comes in pieces of at most 256 Ki characters that overlap, in memory and on disk alike', () => {
  const text = Array.from({ length: 300_000 }, (_, at) => `é${at} `).join('')
  const bytes = Buffer.from(text)
  for (const size of [997, 64 * 1024, bytes.length]) {
    const content = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const part = { name: 'file', filename: 'a.txt', bytes: bytes.length, content }
    const [file] = inputFiles({ parts: [part], close() {} } as unknown as Upload)
    let joined = ''
    for (const piece of file!.text()) {
      expect(piece.length).toBeLessThanOrEqual(256 * 1024)
      if (joined !== '') expect(joined.endsWith(piece.slice(0, 1024))).toBe(true)
      joined += joined === '' ? piece : piece.slice(1024)
    }
    expect(joined === text).toBe(true)
  }
})
