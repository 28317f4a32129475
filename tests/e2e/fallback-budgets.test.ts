/** Limits and budgets of single models, where calls are passed on to fallbacks: each counts what its model was sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readBudgetScopes } from '../../src/core/tenancy/budget-charge.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

/** An output token costs 0.001 dollars, at `two` 0.002, and input nothing but at `broken`. */
const config = (upstream: string) =>
  JSON.stringify({
    model_list: ['down', 'broken', 'two', 'three'].map(name => ({
      model_name: name,
      proxy_params: {
        model: `custom_openai/${name}`,
        api_base: upstream,
        api_key: 'k',
        input_cost_per_token: name === 'broken' ? 0.0001 : 0,
        output_cost_per_token: name === 'two' ? 0.002 : 0.001,
      },
    })),
    router_settings: {
      num_retries: 0,
      allowed_fails: 1000,
      fallbacks: [{ down: ['two', 'three'] }, { broken: ['two', 'three'] }],
    },
  })

/** `down` fails, `broken` answers with an unusable body, others with 10 tokens. */
function startUpstream() {
  const asked: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { model } = (await request.json()) as { model: string }
      asked.push(model)
      if (model === 'down') return Response.json({ error: { message: 'down' } }, { status: 500 })
      if (model === 'broken') return Response.json({ object: 'chat.completion', choices: 7 })
      return Response.json({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 },
      })
    },
  })
  return { asked, url: `http://127.0.0.1:${server.port}/v1`, stop: () => server.stop(true) }
}

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startUpstream()
    let gateway: Gateway
    beforeAll(async () => {
      gateway = await startGateway({ backend, config: config(upstream.url) })
    })
    afterAll(async () => {
      await gateway?.stop()
      await upstream.stop()
    })

    const budget = (limit: number) => ({ budget_limit: limit })
    const call = async (key: string, model: string) => {
      upstream.asked.length = 0
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model, max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] }),
      })
      const body = (await answer.json()) as { model?: string; error?: { message: string } }
      return { status: answer.status, served: body.model, message: body.error?.message, asked: [...upstream.asked] }
    }
    /** By the last part of each budget's name, in dollars. */
    const charges = async () => {
      const [row] = await gateway.rows()
      const { periods } = readBudgetScopes(row!.budget_scopes ?? [])
      return Object.fromEntries(
        periods.map(one => [
          one.scope.includes(':model:') ? one.scope.split(':').at(-1) : 'key',
          Number(one.nanoUsd ?? row!.budget_nano_usd) / 1e9,
        ]),
      )
    }

    test('the budget of the model that served is charged, and that of the one that failed is not', async () => {
      const key = await gateway.key({ max_budget: 10, model_max_budget: { down: budget(1), two: budget(1) } })
      expect(await call(key, 'down')).toMatchObject({ status: 200, asked: ['down', 'two'] })
      expect(await charges()).toEqual({ key: 0.02, down: 0, two: 0.02 })
      expect(await call(key, 'two')).toMatchObject({ status: 200, asked: ['two'] })
      expect(await charges()).toEqual({ key: 0.02, two: 0.02 })
    })

    test('a failed request that is billed is charged to its own model, and every other budget is charged the whole', async () => {
      const key = await gateway.key({ max_budget: 10, model_max_budget: { broken: budget(1), two: budget(1) } })
      expect(await call(key, 'broken')).toMatchObject({ status: 200, asked: ['broken', 'two'] })
      const { key: whole, broken, two } = await charges()
      expect([two, broken! > 0]).toEqual([0.02, true])
      expect(whole!).toBeCloseTo(broken! + 0.02, 9)
    })

    test('a fallback without room for the bound is passed over, and its budget alone need not exist for the key', async () => {
      // A call of 20 tokens can cost 0.04 at `two`, the dearest of the three.
      const key = await gateway.key({ model_max_budget: { two: budget(0.05) } })
      expect(await call(key, 'down')).toMatchObject({ status: 200, asked: ['down', 'two'] })
      expect(await charges()).toEqual({ two: 0.02 })
      expect(await call(key, 'down')).toMatchObject({ status: 200, asked: ['down', 'three'] })
      expect(await charges()).toEqual({})
      expect((await call(key, 'two')).status).toBe(429)
    })

    test('where no fallback has room the client hears of its budget, not of the failure before it', async () => {
      const key = await gateway.key({ model_max_budget: { two: budget(0.001), three: budget(0.001) } })
      const refused = await call(key, 'down')
      expect([refused.status, refused.asked]).toEqual([429, ['down']])
      expect(refused.message).toContain('Budget has been exceeded')
      expect(refused.message).toContain("'two'")
    })

    test('requests and tokens a minute of a model count what it was sent', async () => {
      const key = await gateway.key({ model_rpm_limit: { two: 1 }, model_tpm_limit: { down: 60, three: 1000 } })
      expect(await call(key, 'down')).toMatchObject({ status: 200, asked: ['down', 'two'] })
      expect(await call(key, 'down')).toMatchObject({ status: 200, asked: ['down', 'three'] })
      expect((await call(key, 'two')).status).toBe(429)
      // What was reserved of the tokens of `down` came back: it was sent nothing that is counted.
      for (let time = 0; time < 4; time++) expect((await call(key, 'down')).status).toBe(200)
    })

    test('many calls at once that are passed on exceed no budget of the fallback', async () => {
      const key = await gateway.key({ max_budget: 10, model_max_budget: { two: budget(0.3) } })
      const answers = await Promise.all(Array.from({ length: 60 }, () => call(key, 'down')))
      expect(new Set(answers.map(one => one.status))).toEqual(new Set([200]))
      const rows = (await gateway.rows()).slice(0, 60)
      const spent = rows.reduce((sum, { budget_scopes: list, budget_nano_usd: whole }) => {
        const found = readBudgetScopes(list ?? []).periods.find(one => one.scope.endsWith(':two'))
        return sum + (found ? Number(found.nanoUsd ?? whole) : 0)
      }, 0)
      expect(spent / 1e9).toBeWithin(0.1, 0.3 + 1e-9)
    })
  })
