/** Usage and spending by everything that it is shown by, as calls make it; each key sees its own. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const config = `
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
    model_info: { id: chat-deployment }
  - model_name: free-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k }
    model_info: { id: free-deployment }
  - model_name: broken
    proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" }
router_settings: { num_retries: 0 }
`

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let ann: string
    let bob: string
    beforeAll(async () => {
      gateway = await startGateway({ backend, config })
      ann = await gateway.key({ user_id: 'ann', team_id: 'red', key_alias: 'of ann', metadata: { tags: ['prod'] } })
      bob = await gateway.key({ user_id: 'bob', team_id: 'blue' })
      await call(ann, { metadata: { tags: ['trial', 'prod'], purpose: 'x' }, user: 'customer-1' })
      await call(ann, { tags: ['other'] }, { 'x-litellm-tags': 'from-header, trial' })
      await call(bob, { model: 'free-model' })
      await call(bob, { model: 'broken' })
    })
    afterAll(() => gateway.stop())

    const call = async (key: string, body: object, headers: Record<string, string> = {}): Promise<Response> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'user-agent': 'acme/1.2 (linux)', ...headers },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hi' }], ...body }),
      })
      return new Response(await response.text(), response)
    }
    const get = async (path: string, key = masterKey): Promise<Json> => {
      const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      return { status: response.status, body: (await response.json()) as Json }
    }
    const today = () => new Date().toISOString().slice(0, 10)
    /** What ann's two calls cost, from their rows at the prices above. */
    const annSpend = async (): Promise<number> => {
      const rows = await gateway.rows('&user_id=ann')
      const nanoUsd = rows.reduce((sum, row) => sum + row.input_tokens! * 3000 + row.output_tokens! * 15_000, 0)
      expect(rows).toHaveLength(2)
      return nanoUsd / 1e9
    }

    test('rows carry tags and the names of the peer, and the upstream gets no list in metadata', async () => {
      const rows = (await get('/spend/logs/v2?user_id=ann')).body.data as Json[]
      expect(rows.map(row => row.request_tags)).toEqual([
        ['prod', 'from-header', 'trial', 'other'],
        ['prod', 'trial'],
      ])
      const row = rows[1]!
      const { body: list } = await get('/key/list?return_full_object=true&user_id=ann')
      expect(row).toMatchObject({
        api_key: list.keys[0].token,
        call_type: 'acompletion',
        model_id: 'chat-deployment',
        model_group: 'chat-model',
        custom_llm_provider: 'custom_openai',
        user: 'ann',
        prompt_tokens: row.input_tokens,
        completion_tokens: row.output_tokens,
        total_tokens: row.input_tokens + row.output_tokens,
        cache_hit: 'False',
        client_name: 'acme',
        metadata: { user_api_key_alias: 'of ann', user_api_key_team_id: 'red', status: 'success' },
      })
      expect(Date.parse(row.endTime) - Date.parse(row.startTime)).toBe(
        Math.trunc(row.started_at_ms + row.duration_ms) - row.started_at_ms,
      )
      const byHash = await get(`/spend/logs/v2?api_key=${row.api_key}`)
      expect(byHash.body.data).toHaveLength(2)
      const byCustomer = await get('/spend/logs/v2?end_user=customer-1')
      expect(byCustomer.body.data.map((one: Json) => one.request_id)).toEqual([row.request_id])
      const sent = gateway.simulator.truth.entries.map(entry => entry.body as Json)
      expect(sent[0]!.metadata).toEqual({ purpose: 'x' })
      expect(sent.filter(body => body.tags !== undefined || body.metadata?.tags !== undefined)).toEqual([])
    })

    test('the list begins with the oldest where it is asked to, page by page', async () => {
      const newest = (await get('/spend/logs/v2?user_id=ann')).body.data as Json[]
      const first = (await get('/spend/logs/v2?user_id=ann&sort_order=asc&page_size=1')).body
      expect(first.data.map((row: Json) => row.request_id)).toEqual([newest[1]!.request_id])
      const next = (await get(`/spend/logs/v2?user_id=ann&sort_order=asc&page_size=1&cursor=${first.next_cursor}`)).body
      expect(next.data.map((row: Json) => row.request_id)).toEqual([newest[0]!.request_id])
      expect(next.next_cursor).toBeNull()
    })

    test('pages have numbers and a count, as scripts for LiteLLM read them', async () => {
      const day = `start_date=${today()} 00:00:00&end_date=${today()} 23:59:59`
      const all = (await get(`/spend/logs/v2?${day}`)).body
      expect(all).toMatchObject({ total: 4, total_is_capped: false, page: 1, page_size: 50, total_pages: 1 })
      const second = (await get(`/spend/logs/ui?${day}&page=2&page_size=3&sort_by=startTime&sort_order=desc`)).body
      expect(second).toMatchObject({ total: 4, page: 2, page_size: 3, total_pages: 2, next_cursor: null })
      expect(second.data).toEqual(all.data.slice(3))
      expect((await get(`/spend/logs/v2?page=3&page_size=3`)).body.data).toEqual([])
      const failed = (await get(`/spend/logs/v2?status_filter=failure`)).body
      expect([failed.total, failed.data[0].status, failed.data[0].http_status]).toEqual([1, 'failure', 503])
      const served = (await get(`/spend/logs/v2?status_filter=success&min_spend=0.000001&user_id=ann`)).body
      expect([served.total, served.data.map((row: Json) => row.status)]).toEqual([2, ['success', 'success']])
      const own = (await get(`/spend/logs/v2?page=1`, bob)).body
      expect([own.total, own.data.length]).toEqual([2, 2])
      expect((await get('/spend/logs/v2?cursor=first&page_size=1')).body.total).toBeUndefined()
      for (const wrong of ['page=1&cursor=first', 'page=2000&page_size=1000', 'page=0'])
        expect((await get(`/spend/logs/v2?${wrong}`)).body.detail[0].loc).toEqual(['query', 'page'])
    })

    test('the list is ordered and chosen by what scripts for LiteLLM name', async () => {
      const list = async (query: string, key = masterKey) => (await get(`/spend/logs/v2?${query}`, key)).body
      const of = async (query: string, field: string) => (await list(query)).data.map((row: Json) => row[field])
      const spends = await of('sort_by=spend', 'spend')
      expect(spends).toEqual([...(await of('user_id=ann', 'spend')), 0, null].toSorted((a, b) => b! - a!))
      expect(spends.filter((one: number | null) => one !== null && one > 0)).toHaveLength(2)
      const [dear, cheap] = [Math.max(...spends), Math.min(...spends.slice(0, 2))]
      expect(await of(`min_spend=${dear}&sort_by=spend&sort_order=asc`, 'spend')).toContain(dear)
      // The call that failed.
      expect(await of(`max_spend=${cheap / 2}`, 'spend')).toEqual([0])
      expect(await of('key_alias=of ann', 'user_id')).toEqual(['ann', 'ann'])
      expect((await list('key_alias=of ann', bob)).total).toBe(0)
      expect(await of('model_id=free-deployment', 'model')).toEqual(['free-model'])
      expect(await of('error_code=503', 'model')).toEqual(['broken'])
      expect(await of('model_group=free-model', 'model')).toEqual(['free-model'])
      expect((await list('model_group=a&model=b')).detail[0].loc).toEqual(['query', 'model_group'])
      expect(await list('sort_by=ttft_ms&page=2&page_size=3')).toMatchObject({ total: 4, next_cursor: null })
      expect((await list('sort_by=cost')).detail[0].loc).toEqual(['query', 'sort_by'])
      // It would count as 0, and find the calls that cost nothing.
      expect((await list('max_spend=')).detail[0].loc).toEqual(['query', 'max_spend'])
      expect((await list('sort_by=spend&cursor=first')).detail[0].loc).toEqual(['query', 'cursor'])
    })

    test('customers are listed by what was spent for them, of all keys and of one', async () => {
      const ask = async (body: object | undefined, key = masterKey) => {
        const answer = await fetch(`${gateway.url}/global/spend/end_users`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: body && JSON.stringify(body),
        })
        return { status: answer.status, body: (await answer.json()) as Json }
      }
      const [row] = await gateway.rows('&end_user=customer-1')
      const line = { end_user: 'customer-1', total_count: 1, total_spend: Number(row!.cost_nano_usd) / 1e9 }
      expect(await ask(undefined)).toEqual({ status: 200, body: [line] })
      expect((await ask({ api_key: ann, startTime: today(), endTime: `${today()} 23:59:59` })).body).toEqual([line])
      expect((await ask({ startTime: '2020-01-01', endTime: '2020-01-31' })).body).toEqual([])
      expect((await ask({}, bob)).body).toEqual([])
      expect((await ask({ api_key: ann }, bob)).status).toBe(403)
      const wrong = await ask({ startTime: '2020-02-01', endTime: '2020-01-01' })
      expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ['body', 'endTime']])
    })

    test('the list without pages is an array of rows, and of days between two dates', async () => {
      const pages = (await get('/spend/logs/v2?user_id=ann')).body.data as Json[]
      expect((await get('/spend/logs?user_id=ann')).body).toEqual(pages)
      expect((await get(`/spend/logs?api_key=${ann}`)).body).toEqual(pages)
      expect((await get(`/spend/logs?request_id=${pages[0]!.request_id}`)).body).toEqual([pages[0]])
      expect((await get('/spend/logs?request_id=none')).body).toEqual([])
      const before = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
      const after = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
      const span = `start_date=${before}&end_date=${after}`
      expect((await get(`/spend/logs?${span}&user_id=ann&summarize=False`)).body).toEqual(pages)
      const spend = await annSpend()
      const close = expect.closeTo(spend, 9)
      const empty = { startTime: after, spend: 0, users: {}, models: {} }
      const [annHash, bobHash] = [pages[0]!.api_key, (await get('/spend/logs', bob)).body[0].api_key]
      expect((await get(`/spend/logs?${span}&api_key=${annHash}`)).body).toEqual([
        { startTime: today(), spend: close, users: { ann: close }, models: { 'chat-model': close }, [annHash]: close },
        empty,
      ])
      const [whole] = (await get(`/spend/logs?${span}`)).body
      expect(whole).toEqual({
        startTime: today(),
        spend: close,
        users: { ann: close, bob: 0 },
        models: { 'chat-model': close, 'free-model': 0, broken: 0 },
        [annHash]: close,
        [bobHash]: 0,
      })
      const [ofBob] = (await get(`/spend/logs?${span}`, bob)).body
      expect(Object.keys(ofBob)).toEqual(['startTime', 'spend', 'users', 'models', bobHash])
      expect((await get(`/spend/logs?${span}&api_key=${annHash}`, bob)).status).toBe(403)
      expect((await get('/spend/logs?page_size=5')).status).toBe(422)
    })

    test('tags that are none are refused by name, and nothing is sent', async () => {
      const key = await gateway.key({ user_id: 'carl' })
      const before = gateway.simulator.truth.entries.length
      const wrong: [object, (string | number)[]][] = [
        [{ tags: 'one' }, ['body', 'tags']],
        [{ metadata: { tags: [5] } }, ['body', 'metadata', 'tags']],
        [{ tags: ['x'.repeat(129)] }, ['body', 'tags']],
        [{ tags: ['a\nb'] }, ['body', 'tags']],
        [{ tags: Array.from({ length: 21 }, (_, at) => `t${at}`) }, ['body', 'tags']],
      ]
      for (const [body, loc] of wrong) {
        const response = await call(key, body)
        expect(response.status).toBe(422)
        expect(((await response.json()) as Json).detail[0].loc).toEqual(loc)
      }
      expect(gateway.simulator.truth.entries.length).toBe(before)
    })

    test('daily activity of a user has its parts, and the sums of its rows', async () => {
      const { body } = await get(`/user/daily/activity?user_id=ann&start_date=${today()}&end_date=${today()}`)
      const spend = await annSpend()
      expect(body.results).toHaveLength(1)
      const [day] = body.results as Json[]
      expect(day!.date).toBe(today())
      const served = { successful_requests: 2, unpriced_requests: 0 }
      expect(day!.metrics.spend).toBeCloseTo(spend, 9)
      expect(day!.breakdown.model_groups['chat-model'].metrics).toMatchObject(served)
      expect(Object.keys(day!.breakdown.models)).toEqual(['sim-chat'])
      expect(Object.keys(day!.breakdown.providers)).toEqual(['custom_openai'])
      expect(Object.keys(day!.breakdown.endpoints)).toEqual(['/v1/chat/completions'])
      expect(Object.keys(day!.breakdown.entities)).toEqual(['ann'])
      expect(day!.breakdown.deployments).toMatchObject({
        'chat-deployment': { metrics: served, metadata: { model_name: 'chat-model', model: 'custom_openai/sim-chat' } },
      })
      const [key] = Object.values<Json>(day!.breakdown.api_keys)
      expect(key!.metadata).toMatchObject({ key_alias: 'of ann', team_id: 'red' })
      expect(body.metadata).toMatchObject({ page: 1, total_pages: 1, has_more: false, breakdown_complete: true })
      expect(body.metadata.total_spend).toBeCloseTo(spend, 9)
    })

    test('daily activity by team, tag and customer, and of everybody', async () => {
      const entities = async (path: string, key = masterKey) =>
        Object.keys((await get(path, key)).body.results[0]?.breakdown.entities ?? {}).sort()
      expect(await entities('/team/daily/activity')).toEqual(['blue', 'red'])
      const { breakdown } = (await get('/team/daily/activity')).body.results[0]
      expect(breakdown.deployments).toEqual({})
      const everybody = (await get('/user/daily/activity')).body.results[0].breakdown
      expect(Object.keys(everybody.deployments).toSorted()).toContain('free-deployment')
      expect(await entities('/team/daily/activity?team_ids=red,green')).toEqual(['red'])
      expect(await entities('/tag/daily/activity')).toEqual(['from-header', 'other', 'prod', 'trial'])
      expect(await entities('/customer/daily/activity')).toEqual(['customer-1'])
      expect(await entities('/end_user/daily/activity?end_user_ids=nobody')).toEqual([])
      const all = (await get('/user/daily/activity')).body
      const rows = await gateway.rows()
      expect(all.metadata.total_api_requests).toBe(rows.length)
      expect(all.metadata.total_unpriced_requests).toBe(
        rows.filter(row => row.cost_nano_usd === null && row.attempts > 0).length,
      )
    })

    test('a key sees its own usage alone', async () => {
      for (const path of ['/user/daily/activity', '/team/daily/activity', '/global/spend/teams', '/spend/users']) {
        const { status, body } = await get(path, bob)
        expect([path, status]).toEqual([path, 200])
        expect(JSON.stringify(body)).not.toMatch(/ann|red|chat-deployment/)
      }
      expect((await get('/tag/daily/activity', bob)).body.results).toEqual([])
      const { body: list } = await get('/spend/keys')
      const annId = (list as Json[]).find(one => one.user_id === 'ann')!.token_id
      expect((await get(`/user/daily/activity?api_key=${annId}`, bob)).status).toBe(403)
      expect((await get('/user/daily/activity?user_id=ann', bob)).body.results).toEqual([])
      expect((await get('/global/spend', bob)).body.spend).toBe(0)
    })

    test('lists of spending: keys, users, teams, models, providers, tags, days', async () => {
      const spend = await annSpend()
      const money = (value: number) => expect(value).toBeCloseTo(spend, 9)
      const keys = (await get('/spend/keys')).body as Json[]
      money(keys[0]!.spend)
      expect(keys[0]).toMatchObject({ key_alias: 'of ann', user_id: 'ann', team_id: 'red' })
      const users = (await get('/spend/users')).body as Json[]
      expect(users.map(one => one.user_id).sort()).toEqual(['ann', 'bob', 'carl'])
      money((await get('/global/spend')).body.spend)
      money((await get('/global/spend/keys?limit=1')).body[0].total_spend)
      money((await get('/global/spend/models')).body[0].total_spend)
      money((await get('/global/spend/provider')).body[0].spend)
      money((await get('/global/spend/logs')).body[0].spend)
      const teams = (await get('/global/spend/teams')).body
      expect(teams.teams.sort()).toEqual(['blue', 'red'])
      money(teams.daily_spend[0].red)
      expect(teams.total_spend_per_team[0].team_id).toBe('red')
      const tags = (await get('/spend/tags')).body as Json[]
      expect(tags.find(one => one.individual_request_tag === 'prod')!.log_count).toBeGreaterThanOrEqual(2)
      expect((await get('/global/spend/all_tag_names')).body.tag_names).toContain('from-header')
      money((await get('/global/spend/tags')).body.spend_per_tag.find((one: Json) => one.name === 'prod').spend)
    })

    test('teams are named by their aliases beside their ids, in every report', async () => {
      expect((await gateway.admin('/team/new', { team_id: 'green', team_alias: 'The greens' })).status).toBe(200)
      const key = await gateway.key({ team_id: 'green' })
      const called = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 4' }] }),
      })
      expect([called.status, (await called.text()) !== '']).toEqual([200, true])
      const named = { team_id: 'green', team_alias: 'The greens' }
      const totals = (await get('/global/spend/teams')).body.total_spend_per_team as Json[]
      expect(totals.find(one => one.team_id === 'green')).toMatchObject(named)
      expect(totals.find(one => one.team_id === 'red')).toMatchObject({ team_alias: null })
      const [day] = (await get('/global/spend/report?group_by=team')).body as Json[]
      const found = day!.teams.find((one: Json) => one.team_id === 'green')
      expect(found).toMatchObject({ team_name: 'The greens' })
      const { results } = (await get('/team/daily/activity?team_ids=green')).body
      expect(results[0].breakdown.entities.green.metadata).toEqual({ team_alias: 'The greens' })
    })

    test('the report by team, customer and key, and activity by day and model', async () => {
      const spend = await annSpend()
      const [day] = (await get('/global/spend/report?group_by=team')).body as Json[]
      const red = day!.teams.find((one: Json) => one.team_name === 'red')
      expect(red.total_spend).toBeCloseTo(spend, 9)
      expect(red.metadata[0]).toMatchObject({ model: 'chat-model' })
      const [ofCustomers] = (await get('/global/spend/report?group_by=customer')).body as Json[]
      expect(ofCustomers!.customers.map((one: Json) => one.customer)).toEqual(['customer-1'])
      const byKey = (await get('/global/spend/report?group_by=api_key')).body as Json[]
      expect(
        byKey
          .map(one => one.total_cost)
          .sort()
          .at(-1),
      ).toBeCloseTo(spend, 9)
      const activity = (await get('/global/activity')).body
      expect(activity.sum_api_requests).toBe((await gateway.rows()).length)
      expect(activity.daily_data[0].date).toMatch(/^[A-Z][a-z]{2} \d{2}$/)
      const models = (await get('/global/activity/model')).body as Json[]
      expect(models.map(one => one.model)).toContain('free-model')
    })

    test('spans that are none are refused by name', async () => {
      for (const query of [
        'start_date=2026-02-30',
        'start_date=2026-11-02&end_date=2026-11-01',
        'start_date=2000-01-01',
      ])
        expect((await get(`/user/daily/activity?${query}`)).status).toBe(422)
      expect((await get('/user/daily/activity?page_size=0')).status).toBe(422)
    })

    test('the histogram counts what the list shows, for every filter, and to each what it may see', async () => {
      const member = (await (
        await gateway.admin('/user/new', { user_id: 'mia', user_role: 'internal_user' })
      ).json()) as { key: string }
      await call(member.key, {})
      for (const [key, query] of [
        [masterKey, ''],
        [masterKey, 'user_id=ann'],
        [masterKey, 'team_id=blue&outcome=error'],
        [masterKey, 'model=chat-model&outcome=success'],
        [masterKey, 'end_user=customer-1'],
        [ann, ''],
        [bob, 'bars=4'],
        [member.key, ''],
        [member.key, 'user_id=ann'],
      ] as const) {
        const { data } = (await get(`/spend/logs/v2?${query.replace('bars=4', '')}`, key)).body
        const { body } = await get(`/spend/logs/histogram?${query}`, key)
        const sum = (name: string) => body.bars.reduce((total: number, bar: Json) => total + bar[name], 0)
        const failed = data.filter((row: Json) => row.outcome !== 'success').length
        expect([query, body.calls, body.failed_calls]).toEqual([query, data.length, failed])
        expect([sum('calls'), sum('failed_calls')]).toEqual([data.length, failed])
        expect(body).toMatchObject({ unit: 'part', counted_from: body.start_date })
        expect([body.bars[0].start_date, body.bars.at(-1).end_date]).toEqual([body.start_date, body.end_date])
        expect(Date.parse(body.end_date) - Date.parse(body.start_date)).toBe(86_400_000)
      }
      const annRow = (await gateway.rows('&user_id=ann'))[0]!
      expect((await get(`/spend/logs/histogram?key_id=${annRow.key_id}`, bob)).status).toBe(403)
      expect((await get(`/spend/logs/histogram?key_id=${annRow.key_id}`)).body.calls).toBe(2)
      expect((await get('/spend/logs/histogram?bars=1e9')).body.detail[0].loc).toEqual(['query', 'bars'])
      expect((await get('/spend/logs/histogram?limit=5')).status).toBe(422)
    })

    test("the client's own notes are in the row, and the upstream gets none of them", async () => {
      const key = await gateway.key({ user_id: 'dora', metadata: { spend_logs_metadata: { desk: 'b', job: 'key' } } })
      const header = { 'x-litellm-spend-logs-metadata': '{"job": "header", "trace_id": "t-1"}' }
      await call(key, { metadata: { purpose: 'y', spend_logs_metadata: { job: 'body', step: 2 } } }, header)
      await call(key, {})
      const [plain, noted] = (await get('/spend/logs/v2?user_id=dora')).body.data as Json[]
      const own = { desk: 'b', job: 'header', step: 2, trace_id: 't-1' }
      expect([noted!.spend_logs_metadata, noted!.metadata.spend_logs_metadata]).toEqual([own, own])
      expect(plain!.spend_logs_metadata).toEqual({ desk: 'b', job: 'key' })
      const sent = gateway.simulator.truth.entries.slice(-2).map(entry => (entry.body as Json).metadata)
      expect(sent).toEqual([{ purpose: 'y' }, undefined])
      expect(((await get('/spend/logs/v2?user_id=bob')).body.data as Json[])[0]!.spend_logs_metadata).toBeNull()
      const before = gateway.simulator.truth.entries.length
      for (const wrong of ['{', '[1]', '"x"', `{"a": "${'x'.repeat(5000)}"}`]) {
        const response = await call(key, {}, { 'x-litellm-spend-logs-metadata': wrong })
        expect(response.status).toBe(422)
        expect(((await response.json()) as Json).detail[0].loc).toEqual(['header', 'x-litellm-spend-logs-metadata'])
      }
      expect(gateway.simulator.truth.entries.length).toBe(before)
    })

    test('calls of a deleted key are found by the alias that it had, with those of the key that has it now', async () => {
      for (const isDeleted of [true, false]) {
        const key = await gateway.key({ key_alias: 'twice' })
        await call(key, { model: 'broken' })
        if (isDeleted) await gateway.admin('/key/delete', { keys: [key] })
      }
      const { total, data } = (await get('/spend/logs/v2?key_alias=twice')).body
      expect([total, new Set(data.map((row: Json) => row.key_id)).size]).toEqual([2, 2])
    })
  })
