/** Tool servers that are made by API: their secrets, what they may not be, and how they come into use. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const secret = 'token-canary-7Qm2'

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    let gateway: Gateway
    let server: ToolTestServer

    beforeAll(async () => {
      server = startToolServer({ generation: 'stateless' })
      gateway = await startGateway({
        backend,
        environment: { MODELGATE_ENCRYPTION_KEY: 'an-encryption-key-of-thirty-two-characters' },
        config: `
model_list: []
mcp_servers:
  ofFile: { url: "${server.url}", allow_all_keys: true }
general_settings: { mcp_private_hosts: ["127.0.0.1"] }
`,
      })
    })

    afterAll(async () => {
      await gateway.stop()
      await server.stop()
    })

    const ask = (method: string, path: string, body?: object, key = masterKey) =>
      fetch(gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    const json = async (response: Response) => (await response.json()) as Record<string, unknown>

    test('one is made, used, changed and deleted; its secret is shown nowhere and sent to it alone', async () => {
      const made = await ask('POST', '/v1/mcp/server', {
        server_name: 'made',
        url: server.url,
        transport: 'http',
        auth_type: 'bearer_token',
        credentials: { auth_value: secret },
        static_headers: { 'x-tenant': 'canary-tenant' },
        mcp_access_groups: ['research'],
        description: 'made by API',
      })
      const text = await made.text()
      expect(made.status).toBe(200)
      expect(text).not.toContain('canary')
      const { server_id: id, version } = JSON.parse(text) as { server_id: string; version: number }
      expect(JSON.parse(text)).toMatchObject({
        server_name: 'made',
        origin: 'db',
        header_names: ['x-tenant', 'authorization'],
        mcp_access_groups: ['research'],
        problem: null,
      })
      const key = await gateway.key({ object_permission: { mcp_access_groups: ['research'] } })
      const call = () => ask('POST', '/mcp-rest/tools/call', { name: 'made-echo', arguments: { text: 'x' } }, key)
      expect((await call()).status).toBe(200)
      expect(server.calls.at(-1)!.headers).toMatchObject({
        authorization: `Bearer ${secret}`,
        'x-tenant': 'canary-tenant',
      })

      const changed = await ask('PUT', '/v1/mcp/server', {
        server_id: id,
        version,
        static_headers: { 'x-tenant': '********', 'x-more': 'b' },
      })
      expect(await json(changed)).toMatchObject({ header_names: ['x-tenant', 'x-more', 'authorization'] })
      expect((await call()).status).toBe(200)
      expect(server.calls.at(-1)!.headers).toMatchObject({
        authorization: `Bearer ${secret}`,
        'x-tenant': 'canary-tenant',
        'x-more': 'b',
      })
      expect((await ask('PUT', '/v1/mcp/server', { server_id: id, version, description: 'y' })).status).toBe(409)

      const listed = (await (await ask('GET', '/v1/mcp/server', undefined, key)).json()) as object[]
      expect(listed.map(one => (one as { server_name: string }).server_name)).toEqual(['made'])
      expect(JSON.stringify(listed)).not.toContain('://')
      expect(await (await ask('GET', '/v1/mcp/server/made/health', undefined, key)).json()).toEqual([
        { name: 'made', state: 'listed', tools: 3 },
      ])
      expect((await ask('GET', '/v1/mcp/server/ofFile', undefined, key)).status).toBe(404)
      expect(await json(await ask('GET', '/v1/mcp/access_groups', undefined, key))).toEqual({
        access_groups: ['research'],
      })

      expect((await ask('DELETE', `/v1/mcp/server/${id}`)).status).toBe(200)
      expect((await call()).status).toBe(403)
      const audit = JSON.stringify(await json(await gateway.admin('/audit')))
      expect(audit).toContain('tool_server')
      expect(audit).not.toContain(secret)
    })

    test('it is no program, no reference, no private address that the file does not name, and no name of the file', async () => {
      const refused = async (fields: object) => {
        const answer = await ask('POST', '/v1/mcp/server', { server_name: 'bad', url: server.url, ...fields })
        return [answer.status, await answer.text()] as const
      }
      for (const program of [
        { command: 'sh', args: ['-c', 'id'] },
        { transport: 'stdio' },
        { env: { A: 'b' } },
        { url: null, command: 'sh' },
      ]) {
        const [status, text] = await refused(program)
        expect([program, status]).toEqual([program, 422])
        expect(text).toContain('configuration file alone')
      }
      const [, reference] = await refused({ auth_type: 'bearer_token', authentication_token: 'os.environ/HOME' })
      expect(reference).toContain('which requests cannot')
      expect((await refused({ server_name: 'has-hyphen' }))[0]).toBe(422)
      expect((await refused({ server_name: 'ofFile' }))[0]).toBe(409)
      expect((await refused({ nothing_known: 1 }))[0]).toBe(422)
      expect((await refused({ extra_headers: ['Authorization'] }))[0]).toBe(422)
      const key = await gateway.key({})
      expect((await ask('POST', '/v1/mcp/server', { server_name: 'x', url: server.url }, key)).status).toBe(403)

      const made = await ask('POST', '/v1/mcp/server', {
        server_name: 'inner',
        url: server.url.replace('127.0.0.1', 'localhost'),
      })
      const { server_id: id } = (await made.json()) as { server_id: string }
      const health = (await (await ask('GET', `/v1/mcp/server/${id}/health`)).json()) as { reason: string }[]
      expect(health[0]!.reason).toContain('private network')
      expect(health[0]!.reason).not.toContain('127.0.0.1')
      await ask('DELETE', `/v1/mcp/server/${id}`)
    })
  })
