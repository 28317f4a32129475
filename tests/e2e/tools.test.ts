/** Tools through the gateway: every generation of client at every generation of server. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let modern: ToolTestServer
let sessions: ToolTestServer
let key: string

beforeAll(async () => {
  modern = startToolServer({ generation: 'stateless', asks: true })
  sessions = startToolServer({ generation: 'sessions' })
  gateway = await startGateway({
    config: `
model_list: []
mcp_servers:
  fresh:
    url: "${modern.url}"
    allow_all_keys: true
    auth_type: bearer_token
    authentication_token: token-of-fresh
    extra_headers: [x-user-token]
    access_groups: [research]
    mcp_info: { mcp_server_cost_info: { default_cost_per_query: 0.01, tool_name_to_cost_per_query: { slow: 0.05 } } }
  older:
    url: "${sessions.url}"
    allow_all_keys: true
    disallowed_tools: [fail]
  closed:
    url: "${sessions.url}"
`,
  })
  key = await gateway.key({ key_alias: 'tools' })
})

afterAll(async () => {
  await gateway.stop()
  await modern.stop()
  await sessions.stop()
})

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: object, schema?: undefined, options?: object): Promise<Record<string, unknown>>
  close(): Promise<void>
}

const headersOf = (more: Record<string, string> = {}) => ({ headers: { authorization: `Bearer ${key}`, ...more } })

const clients: Record<string, (path?: string, more?: Record<string, string>) => Promise<AnyClient>> = {
  async '2026-07-28'(path = '/mcp', more) {
    const client = new NewClient({ name: 'new', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new NewTransport(new URL(gateway.url + path), { requestInit: headersOf(more) }))
    return {
      listTools: () => client.listTools() as never,
      callTool: (params, _schema, options) => client.callTool(params as never, options as never) as never,
      close: () => client.close(),
    }
  },
  async '2025-11-25'(path = '/mcp', more) {
    const client = new OldClient({ name: 'old', version: '1' })
    await client.connect(new OldTransport(new URL(gateway.url + path), { requestInit: headersOf(more) }) as never)
    return client as never
  },
}

for (const [version, connect] of Object.entries(clients))
  describe(`a client of ${version}`, () => {
    test('lists the tools of all servers that its key may use, and calls them', async () => {
      const client = await connect()
      const names = (await client.listTools()).tools.map(one => one.name)
      expect(names).toEqual(['fresh-echo', 'fresh-fail', 'fresh-slow', 'fresh-ask', 'older-echo', 'older-slow'])
      const fresh = await client.callTool({ name: 'fresh-echo', arguments: { text: 'hello' } })
      expect(fresh.content).toEqual([{ type: 'text', text: 'stateless: hello' }])
      const older = await client.callTool({ name: 'older-echo', arguments: { text: 'hello' } })
      expect(older.content).toEqual([{ type: 'text', text: 'session: hello' }])
      const failed = await client.callTool({ name: 'fresh-fail', arguments: {} })
      expect(failed).toMatchObject({ isError: true, content: [{ type: 'text', text: 'it went wrong' }] })
      await client.close()
    })

    test('is told what it may not call by name, and no more', async () => {
      const client = await connect()
      for (const name of ['closed-echo', 'nothing-echo', 'older-fail', 'fresh-nothing', 'unnamed'])
        expect(client.callTool({ name, arguments: {} })).rejects.toThrow(
          `the tool '${name}' is not among those that this key may use`,
        )
      await client.close()
    })

    test('sees progress, and cancels', async () => {
      const client = await connect()
      for (const name of ['fresh-slow', 'older-slow']) {
        const steps: number[] = []
        const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
        await client.callTool({ name, arguments: { seconds: 0.2 } }, undefined, { onprogress })
        expect(steps).toEqual([1, 2, 3, 4])
      }
      const before = [modern.cancelled, sessions.cancelled]
      for (const name of ['fresh-slow', 'older-slow']) {
        const ending = new AbortController()
        const calling = client.callTool({ name, arguments: { seconds: 4 } }, undefined, { signal: ending.signal })
        calling.catch(() => {})
        await Bun.sleep(150)
        ending.abort()
        expect(calling).rejects.toThrow()
      }
      await until(() => modern.cancelled === before[0]! + 1 && sessions.cancelled === before[1]! + 1)
      await client.close()
    })

    test('selects servers by path, header and group', async () => {
      const names = async (path: string, more: Record<string, string> = {}) => {
        const client = await connect(path, more)
        const list = (await client.listTools()).tools.map(one => one.name)
        await client.close()
        return list
      }
      const older = ['older-echo', 'older-slow']
      const fresh = ['fresh-echo', 'fresh-fail', 'fresh-slow', 'fresh-ask']
      expect(await names('/mcp/older')).toEqual(older)
      expect(await names('/older/mcp')).toEqual(older)
      expect(await names('/mcp', { 'x-mcp-servers': 'older' })).toEqual(older)
      expect(await names('/mcp', { 'x-mcp-servers': 'older, fresh' })).toEqual([...older, ...fresh])
      expect(await names('/mcp', { 'x-mcp-access-groups': 'research' })).toEqual(fresh)
      expect(await names('/mcp/research')).toEqual(fresh)
      const client = await connect('/mcp/older')
      expect((await client.callTool({ name: 'echo', arguments: { text: 'x' } })).content).toEqual([
        { type: 'text', text: 'session: x' },
      ])
      expect(client.callTool({ name: 'fresh-echo', arguments: { text: 'x' } })).rejects.toThrow('not among those')
      await client.close()
    })
  })

test('the server gets its own credentials and the headers that are named, and never the key', async () => {
  const client = await clients['2026-07-28']!('/mcp', { 'x-user-token': 'of-the-person', 'x-other': 'secret' })
  const meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01' }
  await client.callTool({ name: 'fresh-echo', arguments: { text: 'headers' }, _meta: meta })
  const { headers, meta: seen } = modern.calls.at(-1)!
  expect(headers).toMatchObject({
    authorization: 'Bearer token-of-fresh',
    'x-user-token': 'of-the-person',
    'mcp-protocol-version': '2026-07-28',
    'mcp-name': 'echo',
    'mcp-param-text': 'headers',
  })
  expect(headers).not.toHaveProperty('x-other')
  expect(JSON.stringify(headers)).not.toContain(key)
  expect(seen).toMatchObject(meta)
  await client.close()
})

test('a tool that asks a person is an error that says so, and no empty result', async () => {
  const answer = await fetch(`${gateway.url}/mcp-rest/tools/call`, {
    method: 'POST',
    ...headersOf(),
    body: JSON.stringify({ name: 'fresh-ask' }),
  })
  expect([answer.status >= 400, await answer.text()]).toEqual([
    true,
    expect.stringContaining("the tool server 'fresh': Cannot request input"),
  ])
})

test('a session that its server has forgotten is begun again, and the tool runs once', async () => {
  const client = await clients['2025-11-25']!()
  sessions.forget()
  const before = sessions.calls.length
  const result = await client.callTool({ name: 'older-echo', arguments: { text: 'again' } })
  expect(result.content).toEqual([{ type: 'text', text: 'session: again' }])
  expect(sessions.calls.length).toBe(before + 1)
  await client.close()
})

test('a session of another key, or none, is not found', async () => {
  const post = (session: string) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        ...headersOf().headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
  const answer = await post('0123456789abcdef0123456789abcdef.AAAA')
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { data: { status: 404 } } })
})

test('an unknown server, and one of others, are the same refusal', async () => {
  const refused = async (path: string) => {
    const answer = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        ...headersOf().headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    return (await answer.text()).replace(/closed|nowhere/, 'X')
  }
  const [foreign, none] = [await refused('/mcp/closed'), await refused('/mcp/nowhere')]
  expect(foreign).toBe(none)
  expect(foreign).toContain('"status":403')
})

test('each call has a row with its cost', async () => {
  const client = await clients['2026-07-28']!('/mcp', { 'x-litellm-session-id': 'session-of-tools' })
  await client.callTool({ name: 'fresh-slow', arguments: { seconds: 0 } })
  await client.close()
  await Bun.sleep(200)
  const row = (await gateway.rows()).find(one => one.session_id === 'session-of-tools')
  expect(row).toMatchObject({
    operation: 'tools',
    route: '/mcp',
    outcome: 'success',
    status: 200,
    tool_server: 'fresh',
    tool_name: 'slow',
    tool_error: false,
    parent_call_id: null,
    tool_request_bytes: 13,
    key_alias: 'tools',
    attempts: 1,
  })
  expect(row!.cost_nano_usd).toBe('50000000')
  expect(row!.tool_answer_bytes).toBeGreaterThan(10)
})

async function until(done: () => boolean): Promise<void> {
  for (let at = 0; at < 100 && !done(); at++) await Bun.sleep(50)
  expect(done()).toBe(true)
}
