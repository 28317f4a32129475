/** Who is charged for a batch: everything that its caller belonged to when it was started, as of a call. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import { startProvider } from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const url = '/v1/chat/completions'
const line = JSON.stringify({
  custom_id: '1',
  method: 'POST',
  url,
  body: { model: 'batches', messages: [{ role: 'user', content: 'hi' }] },
})

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    // Budgets outlive the test in a Redis that it shares with others.
    const run = crypto.randomUUID().slice(0, 8)
    const [blue, red, umbrella, tag] = ['blue', 'red', 'umbrella', 'tag'].map(name => `${name}-${run}`)
    let provider: TestProvider
    let gateway: Gateway
    beforeAll(async () => {
      provider = await startProvider()
      gateway = await startGateway({
        backend,
        config: JSON.stringify({
          model_list: [
            {
              model_name: 'batches',
              proxy_params: { model: 'openai/gpt-4o', api_base: '{simulator}/v1', api_key: 'k' },
            },
          ],
          general_settings: {
            unowned_limits: 'allow',
            enable_jwt_auth: true,
            litellm_jwtauth: {
              audience: 'gateway',
              issuer: provider.issuer,
              team_id_jwt_field: 'team',
              service_accounts: [{ name: 'nightly', claims: { azp: 'ci' }, team_id: blue }],
            },
          },
        }),
      })
      await made('/organization/new', { organization_id: umbrella, organization_alias: umbrella, max_budget: 100 })
      await made('/user/new', { user_id: `ann-${run}`, auto_create_key: false, sso_user_id: 'ann' })
      const members = [{ user_id: `ann-${run}`, role: 'user' }]
      await made('/team/new', {
        team_id: blue,
        max_budget: 50,
        organization_id: umbrella,
        team_member_budget: 20,
        members_with_roles: members,
      })
      await made('/team/new', { team_id: red, max_budget: 50 })
      await made('/tag/new', { name: tag, max_budget: 30 })
    })
    afterAll(async () => {
      await gateway?.stop()
      provider?.stop()
    })

    async function made(path: string, body: object): Promise<Record<string, unknown>> {
      const answer = await gateway.admin(path, body)
      if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
      return (await answer.json()) as Record<string, unknown>
    }
    const clientOf = (apiKey: string) =>
      new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, defaultHeaders: { 'x-litellm-tags': tag! } })
    const start = async (client: OpenAI) => {
      const named = {
        file: await toFile(Buffer.from(line), 'lines.jsonl'),
        purpose: 'batch' as const,
        model: 'batches',
      }
      const input = await client.files.create(named)
      return client.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' })
    }
    /** Read by the operator: its caller may be gone. */
    const settled = async (id: string): Promise<LedgerRow> => {
      expect(await (await gateway.admin(`/v1/batches/${id}`)).json()).toMatchObject({ status: 'completed' })
      const hex = id.slice('batch_'.length)
      let row: LedgerRow | undefined
      await until(async () => {
        row = (await gateway.rows()).find(one => one.request_id.replaceAll('-', '') === hex)
        return row !== undefined
      }, 'its row')
      return row!
    }
    const scopesOf = ({ budget_scopes: list }: LedgerRow) => list?.slice(1).map(text => text.split(' ')[1]!) ?? []

    test('the team, the organization, the member and the tag of a token are charged as by its calls', async () => {
      const seconds = Math.floor(Date.now() / 1000)
      const claims = { iss: provider.issuer, aud: 'gateway', sub: 'ann', iat: seconds, exp: seconds + 300, team: blue }
      const client = clientOf(await provider.sign(claims))
      const row = await settled((await start(client)).id)
      expect(row).toMatchObject({
        operation: 'batches',
        user_id: `ann-${run}`,
        team_id: blue,
        organization_id: umbrella,
        request_tags: [tag],
      })
      const spent = BigInt(row.cost_nano_usd!)
      expect([spent > 0n, row.budget_nano_usd]).toEqual([true, row.cost_nano_usd])
      expect(scopesOf(row)).toEqual(
        expect.arrayContaining([`team:${blue}`, `member:${blue}/ann-${run}`, `organization:${umbrella}`, `tag:${tag}`]),
      )
      await until(async () => {
        const answer = await (await gateway.admin(`/team/info?team_id=${blue}`)).json()
        return (answer as { team_info: { spend: number } }).team_info.spend === Number(spent) / 1e9
      }, 'the spend of the team')
    })

    const tokenOf = (claims: object) => {
      const seconds = Math.floor(Date.now() / 1000)
      return provider.sign({ iss: provider.issuer, aud: 'gateway', iat: seconds, exp: seconds + 300, ...claims })
    }
    const statusOf = (asked: Promise<{ status: string }>) =>
      asked.then(
        one => one.status,
        (error: { status?: number }) => error.status,
      )

    test('a batch of a machine runs as its service account, whose next token reads it, and no other', async () => {
      const machine = async (jti: string) => clientOf(await tokenOf({ sub: 'x@clients', azp: 'ci', jti }))
      const { id } = await start(await machine('first'))
      const ann = clientOf(await tokenOf({ sub: 'ann', team: blue }))
      expect(await statusOf(ann.batches.retrieve(id))).toBe(404)
      expect(await statusOf((await machine('second')).batches.retrieve(id))).toBe('completed')
      const row = await settled(id)
      expect(row).toMatchObject({ team_id: blue, organization_id: umbrella, user_id: null, key_alias: 'nightly' })
      expect(scopesOf(row)).toEqual(expect.arrayContaining([`team:${blue}`, `organization:${umbrella}`]))
    })

    test('a batch goes on when its user is blocked or deleted: it is charged as begun, and the user reads it no more', async () => {
      for (const [end, path] of [
        ['blocked', '/user/update'],
        ['deleted', '/user/delete'],
      ] as const) {
        const userId = `${end}-${run}`
        await made('/user/new', { user_id: userId, auto_create_key: false, sso_user_id: userId })
        await made('/team/member_add', { team_id: blue, member: { user_id: userId, role: 'user' } })
        const client = clientOf(await tokenOf({ sub: userId, team: blue }))
        const { id } = await start(client)
        await made(path, end === 'blocked' ? { user_id: userId, blocked: true } : { user_ids: [userId] })
        expect([end, await statusOf(client.batches.retrieve(id))]).toEqual([end, 401])
        const row = await settled(id)
        expect(row).toMatchObject({ user_id: userId, team_id: blue, organization_id: umbrella })
        expect([row.cost_nano_usd !== null, scopesOf(row)]).toEqual([true, expect.arrayContaining([`team:${blue}`])])
      }
    })

    test('a key that has changed its team, or is gone, leaves its batch to the team that it was started in', async () => {
      for (const change of ['move', 'delete']) {
        const key = await gateway.key({ team_id: red, key_alias: `${change}-${run}` })
        const batch = await start(clientOf(key))
        if (change === 'move') await made('/key/update', { key, team_id: blue })
        else await made('/key/delete', { keys: [key] })
        const row = await settled(batch.id)
        expect(row).toMatchObject({ team_id: red, key_alias: `${change}-${run}`, organization_id: null })
        expect(scopesOf(row)).toContain(`team:${red}`)
        expect(scopesOf(row)).not.toContain(`team:${blue}`)
      }
    })

    test('a derived key is charged for its batch, and so is the key that it comes from', async () => {
      const key = await gateway.key({ max_budget: 10 })
      const answer = await fetch(`${gateway.url}/key/derive`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ duration: '1h', max_budget: 5 }),
      })
      const derived = (await answer.json()) as { key: string }
      const row = await settled((await start(clientOf(derived.key))).id)
      expect(scopesOf(row)).toEqual(
        expect.arrayContaining([`key:${row.key_id}`, expect.stringMatching(/^derived:/), `tag:${tag}`]),
      )
    })
  })
