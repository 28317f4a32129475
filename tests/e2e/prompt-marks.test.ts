/** Marks for prompt caches that the operator sets for a model, at upstreams that cache what is marked. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { Agent } from '../support/agent-session.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = (url: string) => `
model_list:
  - model_name: plain
    proxy_params: { model: anthropic/claude-a, api_base: "${url}", api_key: k }
  - model_name: auto
    proxy_params: { model: anthropic/claude-b, api_base: "${url}", api_key: k, prompt_caching: auto }
  - model_name: bedrock
    proxy_params: { model: bedrock/anthropic.claude-sonnet-4-20250514-v1:0, api_base: "${url}", api_key: k, aws_region_name: us-east-1, prompt_caching: auto }
  - model_name: unknowing
    proxy_params: { model: cohere/command, api_base: "${url}", api_key: k, prompt_caching: auto, drop_params: false }
  - model_name: points
    proxy_params:
      model: anthropic/claude-c
      api_base: "${url}"
      api_key: k
      cache_control_injection_points: [{ location: message, role: system, control: { type: ephemeral, ttl: 1h } }, { location: tool_config }]
`

describe('marks of a model', () => {
  let gateway: Gateway
  let upstream: Simulator
  beforeAll(async () => {
    upstream = await startSimulator({ promptCaches: {} })
    gateway = await startGateway({ config: config(upstream.url) })
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const share = async (model: string) => {
    const agent = new Agent({ model, name: model, headers: { 'x-proxy-session-id': model } })
    let [input, cached] = [0, 0]
    for (let turn = 0; turn < 30; turn++) {
      const answer = await agent.turn(gateway.url)
      expect(answer.status).toBe(200)
      input += answer.input
      cached += answer.cached
    }
    return cached / input
  }

  test('let an agent read its prompt from the cache', async () => {
    const shares = { plain: await share('plain'), auto: await share('auto'), bedrock: await share('bedrock') }
    console.log(`cached: ${JSON.stringify(shares)}`)
    expect(shares.plain).toBe(0)
    expect(shares.auto).toBeGreaterThan(0.85)
    expect(shares.bedrock).toBeGreaterThan(0.85)
  })

  test('are not sent to upstreams that know none, and nothing is said to be lost', async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify({
        model: 'unknowing',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
        ],
      }),
    })
    expect([answer.status, answer.headers.get('x-proxy-dropped-params')]).toEqual([200, null])
    expect(JSON.stringify(upstream.truth.entries.at(-1)!.body)).not.toContain('cache')
  })

  const send = async (body: object) => {
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': masterKey },
      body: JSON.stringify({ max_tokens: 10, ...body }),
    })
    expect(answer.status).toBe(200)
    return upstream.truth.entries.at(-1)!.body as Record<string, unknown>
  }
  const turn = { role: 'user', content: 'Hello' }

  test('stand in Messages that are forwarded, and leave those of the client alone', async () => {
    const tools = [{ name: 'a', input_schema: { type: 'object' } }]
    const sent = await send({ model: 'points', system: 'Be brief.', messages: [turn], tools })
    expect(sent.system).toEqual([{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }])
    expect(sent.tools).toMatchObject([{ name: 'a', cache_control: { type: 'ephemeral' } }])
    expect(sent.messages).toEqual([turn])
    const own = [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]
    const left = await send({ model: 'points', system: 'Be brief.', messages: [{ role: 'user', content: own }] })
    expect(left.system).toBe('Be brief.')
    const plain = await send({ model: 'plain', system: 'Be brief.', messages: [turn] })
    expect(plain.system).toBe('Be brief.')
  })
})
