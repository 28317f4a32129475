/** How well many paced streams at once keep their pace. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { chat, rawExchange } from '../testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 3 })
})
afterAll(() => simulator.stop())

test('of 500 streams of 20 steps of 20 ms half take less than 1.5 s', async () => {
  const sent = chat('token-ms=20', { stream: true }, 'tokens: 20').replace('host: x', 'host: x\r\nconnection: close')
  await Promise.all(Array.from({ length: 500 }, () => rawExchange(simulator, sent)))
  const tookMs = simulator.truth.entries.map(entry => entry.closedMs! - entry.startedMs).sort((a, b) => a - b)
  expect(tookMs[250]).toBeLessThan(1500)
})
