/** A guarded stream is hardly later than one without guardrails: 50 tokens a second, rules of four kinds. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { PacedTokens, windowedRules } from '../bench/guarded-stream.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

const upstream = new PacedTokens({ count: 60, gapMs: 20 })
let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: chat, proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k } }
${windowedRules}`,
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop()
})

test('windowed rules add at most 40 ms to the median of the tokens', async () => {
  const measure = async (guardrails: string[]) => {
    const key = await gateway.key({ guardrails })
    const open = () =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      })
    return await upstream.measure(open, 5)
  }
  // Side by side, so that both meet the same machine.
  const [bare, guarded] = await Promise.all([measure([]), measure(['pii', 'names', 'tickets'])])
  console.log('without guardrails', bare, 'with them', guarded)
  expect(guarded.tokens).toBe(300)
  expect(guarded.p50Ms - bare.p50Ms).toBeLessThan(40)
})
