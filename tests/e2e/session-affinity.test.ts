/** Sessions of agents over several deployments, at upstreams that cache prompts as vendors do. */
import { afterEach, describe, expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { Agent } from '../support/agent-session.ts'
import type { AgentOptions } from '../support/agent-session.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway, GatewayOptions } from './harness.ts'

const turns = 200
/** Between two turns: the time of a person, or of a long test, just within the life of a cache. */
const pauseMs = 4 * 60_000
let nowMs = 0
const newUpstream = (port = 0) => startSimulator({ promptCaches: { nowMs: () => nowMs }, port })
const opened: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop()
})

interface Rig {
  readonly gateway: Gateway
  readonly upstreams: readonly Simulator[]
}

/** A gateway before as many accounts, each with caches of its own. */
async function rig(accounts: number, router = '', options: GatewayOptions = {}): Promise<Rig> {
  const upstreams: Simulator[] = []
  for (let at = 0; at < accounts; at++) upstreams.push(await newUpstream())
  opened.push(...upstreams)
  return { gateway: await before(upstreams, router, options), upstreams }
}

async function before(upstreams: readonly Simulator[], router = '', options: GatewayOptions = {}): Promise<Gateway> {
  const list = upstreams.map(
    ({ url }, at) =>
      `  - model_name: m\n    proxy_params: { model: custom_openai/gpt, api_base: "${url}/v1", api_key: k }\n` +
      `    model_info: { id: d${at} }\n`,
  )
  const config = `model_list:\n${list.join('')}router_settings: { ${router} }\n`
  const gateway = await startGateway({ ...options, config })
  opened.push(gateway)
  return gateway
}

/** Runs a session to its end; `each` is called after every turn with its number and where it was. */
async function run(
  gateway: Gateway | readonly Gateway[],
  more: Partial<AgentOptions> = {},
  each: (turn: number, by: string) => unknown = () => {},
) {
  const gateways = [gateway].flat()
  const options = { model: 'm', name: 'one', headers: { 'x-proxy-session-id': 'one' }, ...more }
  const agent = new Agent(options)
  let [input, cached, misses] = [0, 0, 0]
  const places: string[] = []
  for (let turn = 1; turn <= turns; turn++) {
    nowMs += pauseMs
    const answer = await agent.turn(gateways[turn % gateways.length]!.url)
    if (answer.status !== 200) throw new Error(`turn ${turn} has ${answer.status}`)
    input += answer.input
    cached += answer.cached
    if (answer.cached === 0) misses++
    if (answer.by !== places.at(-1)) places.push(answer.by!)
    await each(turn, answer.by!)
  }
  return { share: cached / input, misses, places }
}

describe('a session of 200 turns over two deployments', () => {
  test('is cached as at one deployment', async () => {
    const alone = await run((await rig(1)).gateway)
    const spread = await run((await rig(2, 'session_affinity: false')).gateway)
    const kept = await run((await rig(2)).gateway)
    console.log(
      `cached: one deployment ${alone.share.toFixed(4)}, two ${kept.share.toFixed(4)}, ` +
        `two without affinity ${spread.share.toFixed(4)} (${spread.places.length - 1} moves)`,
    )
    expect(kept.share).toBeGreaterThanOrEqual(0.95 * alone.share)
    expect(kept).toMatchObject({ misses: 1, places: [expect.any(String)] })
    expect(spread.share).toBeLessThan(0.8 * alone.share)
  })

  test.each([
    ['by the header of Codex', { headers: { 'session-id': '0199d1a4-7c1e-7b2a-9c3d-1f2e3d4c5b6a' } }],
    ['by a field of the body', { headers: {}, fields: { prompt_cache_key: 'one' } }],
    ['by how it begins', { headers: {} }],
    ['by how it begins, of a client that is traced', { headers: {}, isTraced: true }],
  ] as [string, Partial<AgentOptions>][])('is recognized %s', async (_, more) => {
    const kept = await run((await rig(2)).gateway, more)
    expect(kept).toMatchObject({ misses: 1, places: [expect.any(String)] })
  })

  test('misses once when its deployment is killed, and does not go back', async () => {
    const { gateway, upstreams } = await rig(2)
    const index = (id: string) => Number(id.slice(1))
    let revived: Simulator | undefined
    const kept = await run(gateway, {}, async (turn, by) => {
      if (turn === 100) await upstreams[index(by)]!.stop()
      if (turn !== 150) return
      revived = await newUpstream(upstreams[1 - index(by)]!.port)
      opened.push(revived)
    })
    expect(kept.places).toHaveLength(2)
    expect(kept.misses).toBe(2)
    expect(revived!.truth.entries).toHaveLength(0)
  })
})

test('sessions are shared among the deployments', async () => {
  const { gateway } = await rig(2)
  const homes = new Set<string>()
  for (let at = 0; at < 20; at++) {
    const name = `s${at}`
    homes.add((await new Agent({ model: 'm', name, headers: { 'session-id': name } }).turn(gateway.url)).by!)
  }
  expect(homes.size).toBe(2)
})

for (const backend of backends().slice(1))
  test(`over replicas a session moves once: on ${backend.name}`, async () => {
    const store = await backend.open()
    const shared: GatewayOptions = {
      backend: { name: backend.name, open: async () => ({ ...store, close: async () => {} }) },
    }
    const upstreams = [await newUpstream(), await newUpstream()]
    opened.push({ stop: () => store.close() }, ...upstreams)
    const replicas = [await before(upstreams, '', shared), await before(upstreams, '', shared)]
    const kept = await run(replicas, {}, async (turn, by) => {
      if (turn === 100) await upstreams[Number(by.slice(1))]!.stop()
    })
    expect(kept.places).toHaveLength(2)
    expect(kept.misses).toBe(2)
  })
