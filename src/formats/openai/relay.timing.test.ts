import { expect, test } from 'bun:test'
import { OpenaiRelay } from './relay.ts'

const relayOf = (options: { publicModel?: string; showUsage?: boolean } = {}) =>
  new OpenaiRelay({
    publicModel: options.publicModel ?? 'up-2026',
    showUsage: options.showUsage ?? true,
    errorEvent: error => `data: {"error":"${error.kind}"}\n\n`,
  })

test('an event without end fills no memory', () => {
  const relay = relayOf()
  const piece = Buffer.alloc(64 * 1024, 120)
  const from = performance.now()
  for (let sent = 0; sent < 200; sent++) relay.push(piece)
  expect(relay.failure?.kind).toBe('upstream-broken')
  expect(performance.now() - from).toBeLessThan(200)
})
