/**
 * Guardrails on questions, at every endpoint that makes a call and every place of its input: the list comes from the
 * router. What is refused reaches no upstream, what is masked reaches it without the secret.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { matrixCases } from '../policies/matrix-cases.ts'
import type { Sender } from '../policies/matrix-cases.ts'
import { makeFixtures } from '../policies/matrix-fixtures.ts'
import { BatchUpstream, matrixConfig } from '../policies/matrix-config.ts'

const endpoints = await allEndpoints()

const allowed = 'a walk in Pemba'
const secret = 'a walk in ZanziBar'
const guardrails = `
guardrails:
  - guardrail_name: refused
    litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar], whole_words: false }
  - guardrail_name: masked
    litellm_params: { guardrail: regex, mode: pre_call, action: mask, patterns: [{ name: PLACE, pattern: "(?i)zanzibar" }] }
`

let gateway: Gateway
const senders: Record<'refused' | 'masked', Sender> = {} as Record<'refused' | 'masked', Sender>
const batches = new BatchUpstream()

beforeAll(async () => {
  gateway = await startGateway({ config: matrixConfig(batches.url) + guardrails })
  for (const name of ['refused', 'masked'] as const) {
    const key = await gateway.key({ guardrails: [name] })
    senders[name] = { gateway, key, fixtures: await makeFixtures(gateway, key, [allowed, secret]) }
  }
}, 60_000)
afterAll(async () => {
  await gateway?.stop()
  await batches.stop()
})

const requests = (): number => gateway.simulator.truth.totals().requests + batches.requests

/** Everything that upstreams have got since `from`, decoded. */
function sentSince(from: number, files: number): string {
  const entries = gateway.simulator.truth.entries.slice(from)
  const texts = entries.map(({ body }) => JSON.stringify(body) ?? '')
  const all = [...texts, ...batches.files.slice(files)].join('\n')
  const decoded = [...all.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)].map(([one]) => Buffer.from(one, 'base64').toString())
  const escapes = all.replace(/\\+u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
  return [escapes, ...decoded].join('\n').toLowerCase()
}

const managed = new Set(['Access groups', 'Guardrails'])
const calls = endpoints.filter(
  ({ method, doc }) => method === 'POST' && !managed.has(doc.tag) && doc.operationId in matrixCases,
)

test('every endpoint that calls a model has cases', () => {
  const missing = endpoints.filter(({ doc }) => doc.callsModel && !(doc.operationId in matrixCases))
  expect(missing.map(({ doc }) => doc.operationId)).toEqual([])
  expect(calls.length).toBeGreaterThan(20)
})

/** Only read, or read by an upstream as bytes: such a text cannot be masked, and is refused instead. */
const fixedPlaces = /tool name|text file|large file|text in|file$|suffix/

for (const endpoint of calls)
  describe(endpoint.doc.operationId, () => {
    for (const { place, send } of matrixCases[endpoint.doc.operationId]!) {
      test(`${place}: what is refused reaches no upstream`, async () => {
        const good = await send(senders.refused, allowed)
        await good.text()
        expect(good.status).toBe(200)
        const before = requests()
        const bad = await send(senders.refused, secret)
        const text = await bad.text()
        expect([bad.status, text]).toEqual([400, expect.stringContaining("guardrail 'refused'")])
        // A run shows the instructions that it was made with.
        const said = text.replace(/"(?:additional_)?instructions":"[^"]*"/g, '')
        expect(said.toLowerCase()).not.toContain('zanzibar')
        expect(requests() - before).toBe(endpoint.doc.operationId === 'submitToolOutputs' ? 1 : 0)
      })

      test(`${place}: what is masked reaches no upstream as it was`, async () => {
        const from = gateway.simulator.truth.entries.length
        const files = batches.files.length
        const answer = await send(senders.masked, secret)
        const text = await answer.text()
        const isBatchLine = place.includes('batch line')
        if (answer.status !== 200 && (fixedPlaces.test(place) || isBatchLine)) {
          expect(text).toMatch(/guardrail|cannot be done in a batch|`suffix`/)
          expect(answer.status).toBe(400)
        } else expect([answer.status, text.slice(0, 300)]).toEqual([200, text.slice(0, 300)])
        expect(sentSince(from, files)).not.toContain('zanzibar')
      })
    }
  })
