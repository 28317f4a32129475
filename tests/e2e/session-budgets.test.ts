/** Budgets of sessions: of the key and of the client, refused exactly. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = `
model_list:
  - model_name: priced
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0, output_cost_per_token: 0.001 }
`

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    let gateway: Gateway
    beforeAll(async () => void (gateway = await startGateway({ backend, config })))
    afterAll(() => gateway.stop())

    /** Asks for ten tokens: a cent. */
    const ask = (key: string, headers: Record<string, string>) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify({ model: 'priced', max_tokens: 10, messages: [{ role: 'user', content: 'tokens: 10' }] }),
      })
    const statuses = async (calls: readonly Promise<Response>[]) =>
      (await Promise.all(calls)).map(({ status }) => status).toSorted()
    const newSession = () => crypto.randomUUID()

    test('of the key: so much for each session, by whichever header it is named', async () => {
      const key = await gateway.key({ max_budget_per_session: 0.05 })
      const session = newSession()
      const calls = Array.from({ length: 12 }, (_, at) =>
        ask(key, { [at % 2 === 0 ? 'x-proxy-session-id' : 'session-id']: session }),
      )
      expect(await statuses(calls)).toEqual([...Array(5).fill(200), ...Array(7).fill(429)])
      const refused = await ask(key, { 'session-id': session })
      expect(await refused.json()).toMatchObject({
        error: { code: 'budget_exceeded', message: expect.stringMatching(/session .*Max budget: 0\.05/) },
      })
      expect((await ask(key, { 'session-id': newSession() })).status).toBe(200)
      expect((await ask(key, {})).status).toBe(200)
    })

    test('of the client: it lowers that of the key, and cannot raise it', async () => {
      const key = await gateway.key({ max_budget_per_session: 0.05 })
      const low = { 'x-proxy-session-id': newSession(), 'x-proxy-session-budget': '0.02' }
      expect(await statuses(Array.from({ length: 4 }, () => ask(key, low)))).toEqual([200, 200, 429, 429])
      const high = { 'x-proxy-session-id': newSession(), 'x-proxy-session-budget': '1' }
      expect(await statuses(Array.from({ length: 7 }, () => ask(key, high)))).toEqual([...Array(5).fill(200), 429, 429])
      const plain = await gateway.key()
      const own = { 'x-proxy-session-id': newSession(), 'x-proxy-session-budget': '0.01' }
      expect(await statuses([ask(plain, own), ask(plain, own)])).toEqual([200, 429])
    })

    test('equal ids of other teams are other sessions', async () => {
      const session = { 'x-proxy-session-id': newSession(), 'x-proxy-session-budget': '0.01' }
      const keys = await Promise.all(['one', 'two'].map(team_id => gateway.key({ team_id })))
      expect(await statuses(keys.map(key => ask(key, session)))).toEqual([200, 200])
    })

    test.each([
      [{ 'x-proxy-session-budget': '1' }, 'names no session'],
      [{ 'x-proxy-session-id': 's', 'x-proxy-session-budget': 'much' }, 'an amount of dollars'],
      [{ 'x-proxy-session-id': 's', 'x-proxy-session-budget': '-1' }, 'an amount of dollars'],
    ] as [Record<string, string>, string][])('a header that means nothing is refused: %p', async (headers, words) => {
      const answer = await ask(await gateway.key(), headers)
      expect(answer.status).toBe(422)
      expect(await answer.text()).toContain(words)
    })
  })
