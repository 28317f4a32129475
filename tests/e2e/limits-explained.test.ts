/** Limits of a key explained scope by scope, and what has a budget: as the calls themselves find them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Scope {
  readonly kind: string
  readonly id: string
  readonly model: string | null
  readonly rpm_limit: number | null
  readonly rpm_used: number | null
  readonly budget: { max_budget: number; spent: number; reserved: number; left: number } | null
  readonly tightest: string[]
}
interface Limits {
  readonly scopes: Scope[]
  readonly refusal: { reason: string; kind: string; id: string } | null
}
interface Usage {
  readonly budgets: {
    scope: string
    kind: string
    id: string
    name: string
    model: string | null
    max_budget: number
    spent: number
    left: number
    temp_budget_reason: string | null
  }[]
  readonly is_complete: boolean
  readonly next_cursor: string | null
}

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    let gateway: Gateway
    /** Redis is shared by all runs of the tests, and counts by these ids. */
    const run = crypto.randomUUID().slice(0, 8)
    const [o1, t0, t1, t2, u1, c1, g1] = ['o1', 't0', 't1', 't2', 'u1', 'c1', 'g1'].map(one => `${one}-${run}`)
    beforeAll(async () => (gateway = await startGateway({ backend })))
    afterAll(() => gateway.stop())

    const asked = async <Answer>(path: string, status = 200): Promise<Answer> => {
      const answer = await gateway.admin(path)
      const text = await answer.text()
      expect([path, answer.status, status === answer.status ? '' : text]).toEqual([path, status, ''])
      return JSON.parse(text) as Answer
    }
    const made = async (path: string, fields: object) => {
      const answer = await gateway.admin(path, fields)
      if (answer.status !== 200) throw new Error(await answer.text())
    }
    const call = async (key: string) =>
      (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'chat-model', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
        })
      ).status
    const row = ({ scopes }: Limits, kind: string, model: string | null = null) =>
      scopes.find(one => one.kind === kind && one.model === model)

    /** Asks until it says so: calls are settled, and changes are heard of, a moment later. */
    const limitsWhen = async (key: string, isThere: (limits: Limits) => boolean): Promise<Limits> => {
      for (;;) {
        const limits = await asked<Limits>(`/key/limits?key=${key}`)
        if (isThere(limits)) return limits
        await Bun.sleep(5)
      }
    }

    test('every scope of a key, the tightest of each kind, and nothing that refuses', async () => {
      await made('/organization/new', { organization_id: o1, organization_alias: 'One', max_budget: 50 })
      await made('/team/new', { team_id: t1, team_alias: 'Red', organization_id: o1, max_budget: 5 })
      await made('/budget/new', { budget_id: 'b1', rpm_limit: 7 })
      await made('/user/new', { user_id: u1, budget_id: 'b1', auto_create_key: false })
      await made('/team/member_add', { team_id: t1, member: { user_id: u1, role: 'user' } })
      const fields = { user_id: u1, team_id: t1, key_alias: 'k1', max_budget: 9, model_max_budget: { m: 1 } }
      const key = await gateway.key({ ...fields, budget_duration: '30d' })
      expect(await call(key)).toBe(200)
      const limits = await limitsWhen(key, one => row(one, 'team')!.budget!.spent > 0)
      expect(limits.scopes.map(({ kind, model }) => [kind, model])).toEqual([
        ['key', null],
        ['key', 'm'],
        ['user', null],
        ['team', null],
        ['member', null],
        ['organization', null],
      ])
      expect(row(limits, 'user')).toMatchObject({ rpm_limit: 7, rpm_used: 1, tightest: ['requests'] })
      expect(row(limits, 'key', 'm')!.tightest).toEqual(['budget'])
      const { spent, reserved, left } = row(limits, 'team')!.budget!
      expect([spent, reserved, left + spent].map(one => Number(one.toFixed(9)))).toEqual([
        row(limits, 'key')!.budget!.spent,
        0,
        5,
      ])
      expect(limits.refusal).toBeNull()
      // Of one model only what holds for it.
      const ofModel = await asked<Limits>(`/key/limits?key=${key}&model=chat-model`)
      expect(row(ofModel, 'key', 'm')).toBeUndefined()
      expect(row(ofModel, 'team')!.tightest).toEqual(['budget'])
    })

    test('what it says refuses a call is what does', async () => {
      await made('/team/new', { team_id: t0, max_budget: 0 })
      const spent = await gateway.key({ team_id: t0 })
      expect((await asked<Limits>(`/key/limits?key=${spent}`)).refusal).toMatchObject({
        reason: 'budget',
        kind: 'team',
        id: t0,
      })
      expect(await call(spent)).toBe(429)
      const none = await gateway.key({ rpm_limit: 0 })
      expect((await asked<Limits>(`/key/limits?key=${none}`)).refusal).toMatchObject({
        reason: 'requests',
        kind: 'key',
      })
      expect(await call(none)).toBe(429)
      const narrow = await gateway.key({ models: ['claude-model'] })
      const ofChat = `/key/limits?key=${narrow}&model=chat-model`
      expect((await asked<Limits>(ofChat)).refusal).toMatchObject({ reason: 'model', kind: 'key' })
      expect(await call(narrow)).toBe(403)
      expect((await asked<Limits>(`/key/limits?key=${narrow}&model=claude-model`)).refusal).toBeNull()
      await made('/team/new', { team_id: t2 })
      const ofBlocked = await gateway.key({ team_id: t2 })
      await made('/team/block', { team_id: t2 })
      const limits = await limitsWhen(ofBlocked, one => one.refusal?.reason === 'blocked')
      expect(limits.refusal).toMatchObject({ kind: 'team', id: t2 })
      expect(await call(ofBlocked)).toBe(401)
    })

    test('a key sees its own amounts and those of its team, not those of its organization', async () => {
      const [organization_id, team_id] = [`o9-${run}`, `t9-${run}`]
      await made('/organization/new', { organization_id, organization_alias: 'Nine', max_budget: 1 })
      await made('/team/new', { team_id, organization_id, max_budget: 5 })
      const key = await gateway.key({ team_id })
      const own = (await (
        await fetch(`${gateway.url}/key/limits`, { headers: { authorization: `Bearer ${key}` } })
      ).json()) as Limits
      expect(row(own, 'team')!.budget!.max_budget).toBe(5)
      expect(row(own, 'organization')).toMatchObject({ budget: null, tightest: ['budget'] })
      expect(row(await asked<Limits>(`/key/limits?key=${key}`), 'organization')!.budget!.max_budget).toBe(1)
    })

    test('a customer and a tag count where the call names them, and only readers of everything may ask', async () => {
      await made('/customer/new', { user_id: c1, max_budget: 3 })
      await made('/tag/new', { name: g1, max_budget: 2 })
      const key = await gateway.key()
      const limits = await asked<Limits>(`/key/limits?key=${key}&customer=${c1}&tags=${g1},unknown`)
      expect([row(limits, 'customer')!.budget!.max_budget, row(limits, 'tag')!.budget!.max_budget]).toEqual([3, 2])
      const as = (query: string) =>
        fetch(`${gateway.url}/key/limits${query}`, { headers: { authorization: `Bearer ${key}` } })
      expect((await as('')).status).toBe(200)
      expect((await as('?customer=c1')).status).toBe(403)
      const other = await gateway.key({ key_alias: 'other' })
      expect((await as(`?key=${other}`)).status).toBe(403)
      expect((await as('?key=nothing')).status).toBe(403)
      await asked('/key/limits', 404)
      await asked('/key/limits?key=nothing', 404)
    })

    test('what has a budget, in pages, with what a named one sets and who uses it', async () => {
      await made('/budget/new', { budget_id: 'shared', max_budget: 4, budget_duration: '1d' })
      for (const id of ['x1', 'x2', 'x3']) await made('/customer/new', { user_id: id, budget_id: 'shared' })
      await made('/customer/new', { user_id: 'without' })
      // None of them has spent: then they are in the order of their names.
      const first = await asked<Usage>('/budget/usage?kind=customer&page_size=3')
      expect(first.budgets.map(({ id, max_budget: max }) => [id, max])).toEqual([
        [c1!, 3],
        ['x1', 4],
        ['x2', 4],
      ])
      const second = await asked<Usage>(`/budget/usage?kind=customer&page_size=3&cursor=${first.next_cursor}`)
      expect(second).toMatchObject({
        budgets: [{ id: 'x3', max_budget: 4, spent: 0, left: 4 }],
        is_complete: true,
        next_cursor: null,
      })
      const users = await asked<Usage>('/budget/usage?kind=customer&budget_id=shared&page_size=100')
      expect(users.budgets).toHaveLength(3)
      expect((await asked<Usage>(`/budget/usage?kind=team&id=${t1}`)).budgets).toMatchObject([{ name: 'Red' }])
      expect((await asked<Usage>('/budget/usage?kind=gateway')).budgets).toEqual([])
      const named = await asked<{ budgets: { budget_id: string }[]; next_cursor: string }>(
        '/v2/budget/list?page_size=1',
      )
      expect(named.budgets[0]!.budget_id).toBe('shared')
      expect(named.next_cursor).toBeString()
    })

    test('all budgets, the nearest to its limit first: of models, of members by the share of their team, raised ones', async () => {
      const mark = `near-${run}`
      const [team_id, u2, u3] = [`t5-${mark}`, `u2-${mark}`, `u3-${mark}`]
      for (const user_id of [u2, u3]) await made('/user/new', { user_id, auto_create_key: false })
      await made('/team/new', { team_id, team_alias: `Near ${mark}`, max_budget: 1, team_member_budget: 2 })
      await made('/team/member_add', { team_id, member: { user_id: u2 } })
      await made('/team/member_add', { team_id, member: { user_id: u3 }, max_budget_in_team: 1 })
      const key_alias = `k-${mark}`
      const key = await gateway.key({ key_alias, team_id, user_id: u2, model_max_budget: { 'chat-model': 8 } })
      expect(await call(key)).toBe(200)
      const usage = (query: string) => asked<Usage>(`/budget/usage?${query}`)
      const near = async () => (await usage(`search=${mark}&page_size=100`)).budgets
      let list = await near()
      // The order follows the ledger, a moment after the calls.
      while (list[0]!.id !== team_id || !(list[0]!.spent > 0)) list = await near()
      const shares = list.map(one => one.spent / one.max_budget)
      expect(shares).toEqual(shares.toSorted((one, other) => other - one))
      const of = (kind: string, id: string) => list.find(one => one.kind === kind && one.id === id)
      expect(of('member', `${team_id}/${u2}`)).toMatchObject({ max_budget: 2, name: `${u2} (Near ${mark})` })
      expect(of('member', `${team_id}/${u2}`)!.spent).toBe(list[0]!.spent)
      expect(of('member', `${team_id}/${u3}`)).toMatchObject({ max_budget: 1, spent: 0 })
      const ofModel = (await usage(`kind=key&search=${key_alias}`)).budgets
      expect(ofModel).toMatchObject([{ model: 'chat-model', max_budget: 8, spent: list[0]!.spent }])
      const above = `min_share=${(0.75 * list[0]!.spent).toFixed(12)}`
      expect((await usage(`${above}&search=${mark}`)).budgets.map(one => one.id)).toEqual([team_id])
      // Page by page the same, without one twice or none at all before the last.
      const paged: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Usage = await usage(`search=${mark}&page_size=2${cursor && `&cursor=${cursor}`}`)
        expect(page.budgets.length).toBe(page.next_cursor === null ? page.budgets.length : 2)
        expect(page.budgets.length).toBeGreaterThan(0)
        paged.push(...page.budgets.map(one => one.scope))
        cursor = page.next_cursor
      }
      expect(paged).toEqual(list.map(one => one.scope))
      // A raise holds with its reason, and takes it along.
      const raise = { temp_budget_increase: 5, temp_budget_expiry: '2099-01-01T00:00:00Z' }
      for (const path of ['/key/generate', '/team/new', '/budget/new', '/tag/new']) {
        const body = { name: 'raised', max_budget: 1, ...raise, temp_budget_expiry: '2020-01-01T00:00:00Z' }
        const { name: _, ...unnamed } = body
        const refused = await gateway.admin(path, path === '/tag/new' ? body : unnamed)
        expect([path, refused.status]).toEqual([path, 422])
        expect(await refused.text()).toContain('temp_budget_expiry')
      }
      await made('/team/update', { team_id, ...raise, temp_budget_reason: 'fair in Hanover' })
      const raised = async () => (await usage(`kind=team&id=${team_id}`)).budgets[0]!
      expect(await raised()).toMatchObject({ max_budget: 6, temp_budget_reason: 'fair in Hanover' })
      await made('/team/update', { team_id, temp_budget_increase: null, temp_budget_expiry: null })
      expect(await raised()).toMatchObject({ max_budget: 1, temp_budget_reason: null })
      for (const [query, status] of [
        ['id=x', 422],
        ['cursor=none', 422],
        ['kind=tag&id=none', 200],
      ] as const)
        await asked(`/budget/usage?${query}`, status)
      const alone = await gateway.admin('/team/update', { team_id, temp_budget_reason: 'none' })
      expect([alone.status, await alone.text()]).toEqual([422, expect.stringContaining('temp_budget_reason needs')])
    })

    test('limits of a user and of a team are explained without a key, for those who may see them', async () => {
      const user_id = `u6-${run}`
      const user = await gateway.admin('/user/new', { user_id, max_budget: 6, rpm_limit: 9 })
      const { key } = (await user.json()) as { key: string }
      expect(row(await asked<Limits>(`/key/limits?user_id=${user_id}`), 'user')).toMatchObject({
        rpm_limit: 9,
        budget: { max_budget: 6 },
      })
      const ofTeam = await asked<Limits>(`/key/limits?team_id=${t1}`)
      expect(ofTeam.scopes.map(one => one.kind)).toEqual(['team', 'organization'])
      const as = async (query: string) =>
        (await fetch(`${gateway.url}/key/limits?${query}`, { headers: { authorization: `Bearer ${key}` } })).status
      expect(await as(`user_id=${user_id}`)).toBe(200)
      for (const query of [`user_id=${u1}`, `team_id=${t1}`, 'user_id=none'])
        expect([query, await as(query)]).toEqual([query, 404])
      await asked(`/key/limits?user_id=${u1}&team_id=${t1}`, 422)
    })
  })
