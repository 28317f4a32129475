/** Who may list and call which tool, at every path; budgets and limits of calls; programs as servers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let server: ToolTestServer
const program = new URL('../support/tool-program.ts', import.meta.url).pathname

beforeAll(async () => {
  server = startToolServer({ generation: 'stateless' })
  gateway = await startGateway({
    config: `
model_list: []
allow_stdio: true
mcp_servers:
  open: { url: "${server.url}", allow_all_keys: true }
  red: { url: "${server.url}", access_groups: [colours], mcp_info: { mcp_server_cost_info: { default_cost_per_query: 0.4 } } }
  blue: { url: "${server.url}", access_groups: [colours] }
  local:
    command: ${process.execPath}
    args: ["${program}"]
    env: { GREETING: hello }
`,
  })
})

afterAll(async () => {
  await gateway.stop()
  await server.stop()
})

interface Listed {
  readonly tools: { readonly name: string }[]
  readonly servers: { readonly name: string; readonly state: string; readonly reason?: string }[]
  readonly message: string
}

const ask = (key: string, path: string, body?: object) =>
  fetch(gateway.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}` },
    ...(body && { body: JSON.stringify(body) }),
  })
/** A server that is slow to start is not in the first list. */
async function list(key: string): Promise<Listed> {
  for (let tries = 0; ; tries++) {
    const listed = (await (await ask(key, '/mcp-rest/tools/list')).json()) as Listed
    if (tries === 20 || listed.servers.every(one => one.state === 'listed')) return listed
    await Bun.sleep(200)
  }
}
const serversOf = async (key: string) => [...new Set((await list(key)).tools.map(one => one.name.split('-')[0]))]
const call = (key: string, name: string, args: object = { text: 'x' }) =>
  ask(key, '/mcp-rest/tools/call', { name, arguments: args })
const keyWith = (permission: object | undefined, more: object = {}) =>
  gateway.key({ ...(permission && { object_permission: permission }), ...more })

test('a key without a grant has the open servers alone, the master key all', async () => {
  expect(await serversOf(await keyWith(undefined))).toEqual(['open'])
  expect(await serversOf(masterKey)).toEqual(['open', 'red', 'blue', 'local'])
})

test('servers, groups, tools and blocks narrow, at lists and at calls alike', async () => {
  expect(await serversOf(await keyWith({ mcp_servers: ['red'] }))).toEqual(['red'])
  expect(await serversOf(await keyWith({ mcp_access_groups: ['colours'] }))).toEqual(['red', 'blue'])
  const narrow = await keyWith({
    mcp_servers: ['red', 'blue'],
    mcp_tool_permissions: { red: ['echo'] },
    blocked_tools: ['blue-slow', 'fail'],
  })
  const names = (await list(narrow)).tools.map(one => one.name)
  expect(names).toEqual(['red-echo', 'blue-echo'])
  for (const name of ['red-fail', 'red-slow', 'blue-slow', 'blue-fail', 'open-echo', 'nowhere-echo']) {
    const refused = await call(narrow, name)
    expect([name, refused.status]).toEqual([name, 403])
    const { error } = (await refused.json()) as { error: { message: string; code: string } }
    expect(error.code).toBe('tool_not_allowed')
    expect(error.message).toContain(name)
  }
  expect((await call(narrow, 'blue-echo')).status).toBe(200)
})

test('the lists of organization, team, user and key hold together', async () => {
  await gateway.admin('/organization/new', {
    organization_id: 'acme',
    organization_alias: 'acme',
    object_permission: { mcp_servers: ['red', 'blue'] },
  })
  await gateway.admin('/team/new', {
    team_id: 'painters',
    organization_id: 'acme',
    object_permission: { mcp_servers: ['blue', 'open', 'local'] },
  })
  expect(await serversOf(await keyWith(undefined, { team_id: 'painters' }))).toEqual(['blue'])
  expect(await serversOf(await keyWith({ mcp_servers: ['red'] }, { team_id: 'painters' }))).toEqual([])
  const key = await keyWith({ mcp_servers: ['red'] }, { team_id: 'painters' })
  const empty = await list(key)
  expect(empty.message).toContain('may use no tool server')
})

test('a derived key narrows, and grants nothing', async () => {
  const parent = await keyWith({ mcp_servers: ['red', 'blue'] })
  const derive = async (key: string, permission: object) =>
    ((await (await ask(key, '/key/derive', { object_permission: permission })).json()) as { key: string }).key
  expect(await serversOf(await derive(parent, { mcp_servers: ['blue', 'open'] }))).toEqual(['blue'])
  const plain = await keyWith(undefined)
  expect(await serversOf(await derive(plain, { mcp_servers: ['red'] }))).toEqual([])
  expect(await serversOf(await derive(plain, { blocked_tools: ['echo'] }))).toEqual(['open'])
})

test('persons grant themselves no server, and narrow', async () => {
  await gateway.admin('/user/new', { user_id: 'ann', user_role: 'internal_user', auto_create_key: false })
  const own = await gateway.key({ user_id: 'ann' })
  const make = (permission: object) => ask(own, '/key/generate', { object_permission: permission })
  expect((await make({ mcp_servers: ['red'] })).status).toBe(403)
  expect((await make({ mcp_access_groups: ['colours'] })).status).toBe(403)
  expect((await make({ blocked_tools: ['open-slow'] })).status).toBe(200)
})

test('a budget that is too small refuses the call before it is made', async () => {
  const key = await keyWith({ mcp_servers: ['red'] }, { max_budget: 1 })
  const before = server.calls.length
  const statuses: number[] = []
  for (let at = 0; at < 3; at++) statuses.push((await call(key, 'red-echo')).status)
  expect(statuses).toEqual([200, 200, 429])
  expect(server.calls.length).toBe(before + 2)
  const spent = async () =>
    ((await (await gateway.admin(`/key/info?key=${key}`)).json()) as { info: { spend: number } }).info.spend
  for (let at = 0; at < 50 && (await spent()) === 0; at++) await Bun.sleep(100)
  expect(await spent()).toBeCloseTo(0.8, 9)
})

test('many calls at once never take more than the budget', async () => {
  const key = await keyWith({ mcp_servers: ['red'] }, { max_budget: 2 })
  const before = server.calls.length
  const answers = await Promise.all(Array.from({ length: 20 }, () => call(key, 'red-echo')))
  expect(answers.filter(one => one.status === 200)).toHaveLength(5)
  expect(server.calls.length).toBe(before + 5)
})

test('a call of a tool is a request of the key', async () => {
  const key = await keyWith(undefined, { rpm_limit: 2 })
  const statuses: number[] = []
  for (let at = 0; at < 3; at++) statuses.push((await call(key, 'open-echo')).status)
  expect(statuses).toEqual([200, 200, 429])
})

test('a program is a server: it sees its own environment, and is started again', async () => {
  const key = await keyWith({ mcp_servers: ['local'] })
  const answer = (await (await call(key, 'local-environment')).json()) as { content: { text: string }[] }
  const seen = JSON.parse(answer.content[0]!.text) as Record<string, string>
  expect(seen.GREETING).toBe('hello')
  expect(
    Object.keys(seen).filter(name => !['GREETING', 'PATH', 'HOME', 'USER', 'LANG', 'TMPDIR'].includes(name)),
  ).toEqual([])
  const exit = await call(key, 'local-exit')
  expect(exit.status).toBe(503)
  await Bun.sleep(700)
  expect((await call(key, 'local-environment')).status).toBe(200)
})

test('one slow server delays no list, and keeps its tools', async () => {
  const slow = startToolServer({ generation: 'stateless' })
  const other = await startGateway({
    config: `
model_list: []
mcp_servers:
  quick: { url: "${server.url}", allow_all_keys: true }
  slow: { url: "${slow.url}", allow_all_keys: true, list_ttl_seconds: 0 }
  dead: { url: "http://127.0.0.1:1/mcp", allow_all_keys: true }
`,
  })
  const key = await other.key({})
  const listed = async () => {
    const answer = await fetch(`${other.url}/v1/mcp/tools`, { headers: { authorization: `Bearer ${key}` } })
    return (await answer.json()) as Listed
  }
  let first = await listed()
  for (let tries = 0; tries < 20 && first.tools.length < 6; tries++) first = await listed()
  expect(first.servers.map(one => [one.name, one.state])).toEqual([
    ['quick', 'listed'],
    ['slow', 'listed'],
    ['dead', 'failed'],
  ])
  expect(first.servers[2]!.reason).toContain("'dead'")
  slow.delayMs = 3000
  await Bun.sleep(60)
  const second = await listed()
  expect(second.servers[1]!.state).toBe('stale')
  expect(second.tools).toHaveLength(6)
  await other.stop()
  await slow.stop()
})
