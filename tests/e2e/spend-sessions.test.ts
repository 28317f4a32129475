/** Sessions as the ledger tells them: list, turns, breaks, export. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { Agent } from '../support/agent-session.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

for (const backend of backends())
  describe(`sessions on ${backend.name}`, () => {
    let gateway: Gateway
    const upstreams: Simulator[] = []
    beforeAll(async () => {
      for (let at = 0; at < 2; at++) upstreams.push(await startSimulator({ promptCaches: {} }))
      const list = upstreams.map(
        ({ url }, at) =>
          `  - model_name: m\n    proxy_params: { model: custom_openai/gpt, api_base: "${url}/v1", api_key: k, ` +
          `input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }\n    model_info: { id: d${at} }\n`,
      )
      gateway = await startGateway({ backend, config: `model_list:\n${list.join('')}` })
    })
    afterAll(async () => {
      await gateway.stop()
      for (const one of upstreams) await one.stop()
    })

    const get = async (path: string, key = masterKey) => {
      const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
    }
    const json = async (path: string, key?: string) => JSON.parse((await get(path, key)).text) as Json

    test('a session is listed and told turn by turn, with what broke it', async () => {
      const key = await gateway.key({ team_id: 'agents' })
      const agent = new Agent({ model: 'm', name: 'a', key, headers: { 'x-proxy-session-id': 'dir/one' } })
      for (let turn = 0; turn < 3; turn++) await agent.turn(gateway.url)
      const { by } = await agent.turn(gateway.url)
      await upstreams[Number(by!.slice(1))]!.stop()
      const moved = await agent.turn(gateway.url)
      const path = `/spend/sessions/${encodeURIComponent('dir/one')}`
      const session = await json(path, key)
      expect(session).toMatchObject({ session_id: 'dir/one', calls: 5, failed_calls: 0, is_capped: false })
      expect(session.turns.map(({ breaks }: Json) => breaks)).toEqual([[], [], [], [], ['deployment', 'cold']])
      expect(session.turns.map(({ deployment_id: id }: Json) => id)).toEqual([by, by, by, by, moved.by])
      expect(session.deployments.map(({ calls }: Json) => calls).toSorted()).toEqual([1, 4])
      expect(session.models).toMatchObject([{ model: 'm', calls: 5 }])
      expect(session.cached_share).toBeWithin(0.4, 0.8)
      const spend = session.turns.reduce((sum: number, turn: Json) => sum + turn.spend, 0)
      expect(session.spend).toBeCloseTo(spend, 9)
      const { data } = await json('/spend/sessions', key)
      expect(data).toMatchObject([
        { session_id: 'dir/one', calls: 5, deployments: 2, models: 1, model: 'm', input_tokens: session.input_tokens },
      ])
      expect(data[0].spend).toBeCloseTo(spend, 9)
      const exported = await get(`${path}/export`, key)
      expect(exported.type).toStartWith('application/x-ndjson')
      const rows = exported.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Json)
      expect(rows.map(({ request_id: id }) => id)).toEqual(session.turns.map(({ request_id: id }: Json) => id))
      expect(rows.every(({ session_id: id }) => id === 'dir/one')).toBe(true)
    })

    test('others see nothing of it', async () => {
      const other = await gateway.key({ team_id: 'others' })
      expect((await json('/spend/sessions', other)).data).toEqual([])
      for (const path of ['', '/export'])
        expect((await get(`/spend/sessions/${encodeURIComponent('dir/one')}${path}`, other)).status).toBe(404)
      expect((await json('/spend/sessions?start_date=2020-01-01&end_date=2020-01-02')).data).toEqual([])
    })
  })
