/** What is another tenant's is never readable, countable or guessable: over every route that takes an id. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Endpoint, EndpointDoc } from '../../src/core/endpoint.ts'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { parametersOf, schemaOf } from '../../src/endpoints/openapi/zod-schema.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const endpoints = await allEndpoints()

type Json = Record<string, unknown>

let gateway: Gateway
/** Keys of tenant `blue`, by what their holders are. */
const askers = new Map<string, string>()
/** Ids of tenant `red` by their kinds; each has the same number of characters as its ghost. */
let foreign: Record<string, string>
/** Ids of the same form that nothing has. */
let ghosts: Record<string, string>

const post = async (path: string, body: Json): Promise<Json> => {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as Json
}

/** An organization with an admin, a team with an admin and a member, and a key of the team. */
async function makeTenant(name: string) {
  const organization_id = `${name}-organization`
  const team_id = `${name}-team`
  await post('/organization/new', { organization_id, organization_alias: `${name}-canary` })
  const user = async (role: string, fields: Json) =>
    post('/user/new', { user_id: `${name}-${role}`, user_email: `${name}-${role}@canary.example`, ...fields })
  const chief = await user('chief', { organizations: [organization_id] })
  await post('/organization/member_add', { organization_id, member: { user_id: `${name}-chief`, role: 'org_admin' } })
  await post('/team/new', { team_id, organization_id, team_alias: `${name}-canary` })
  const lead = await user('lead', { teams: [{ team_id, user_role: 'admin' }] })
  const member = await user('member', { teams: [team_id] })
  const key = await post('/key/generate', { team_id, user_id: `${name}-member`, key_alias: `${name}-canary` })
  await post('/customer/new', { user_id: `${name}-customer`, alias: `${name}-canary` })
  await post('/budget/new', { budget_id: `${name}-budget` })
  return { chief, lead, member, key }
}

beforeAll(async () => {
  gateway = await startGateway()
  const red = await makeTenant('red')
  const blue = await makeTenant('blue')
  for (const role of ['chief', 'lead', 'member'] as const) askers.set(role, blue[role].key as string)
  askers.set('key', await gateway.key())
  const token = red.key.token as string
  foreign = idsOf('red', token)
  ghosts = idsOf('rex', token.split('').toReversed().join(''))
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${red.key.key}` },
    body: JSON.stringify({ model: 'chat-model', user: 'red-customer', messages: [{ role: 'user', content: 'hi' }] }),
  })
})
afterAll(() => gateway.stop())

const idsOf = (name: string, token: string): Record<string, string> => ({
  token,
  user: `${name}-member`,
  team: `${name}-team`,
  organization: `${name}-organization`,
  customer: `${name}-customer`,
  budget: `${name}-budget`,
  alias: `${name}-canary`,
  email: `${name}-member@canary.example`,
})

/** What a field of a body or a query is filled with: an id of one of these kinds, alone or in a list. */
const kindOfField: Readonly<Record<string, string>> = {
  key: 'token',
  keys: 'token',
  key_hash: 'token',
  api_key: 'token',
  key_aliases: 'alias',
  key_alias: 'alias',
  user_id: 'user',
  user_ids: 'user',
  internal_user_id: 'user',
  created_by: 'user',
  user_email: 'email',
  team_id: 'team',
  team_ids: 'team',
  team: 'team',
  team_alias: 'alias',
  organization_id: 'organization',
  organization_ids: 'organization',
  organizations: 'organization',
  organization_alias: 'alias',
  end_user_id: 'customer',
  end_user_ids: 'customer',
  customer_id: 'customer',
  end_user: 'customer',
  budget_id: 'budget',
  budgets: 'budget',
}

/** In a body they name what is made or changed, and are no ids. */
const labels: ReadonlySet<string> = new Set(['key_alias', 'team_alias', 'organization_alias'])

/** Values for fields that are no ids, where a schema needs them. */
const fillers: Readonly<Record<string, (ids: Record<string, string>) => unknown>> = {
  member: ids => ({ user_id: ids.user }),
  members: ids => [{ user_id: ids.user }],
  models: () => ['chat-model'],
  team_member_permissions: () => [],
  role: () => undefined,
  group_by: () => 'team',
  start_date: () => '2026-01-01',
  end_date: () => '2030-01-01',
}

interface Field {
  readonly name: string
  readonly isList: boolean
}

const fieldsOf = (properties: Json | undefined): Field[] =>
  Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    isList: JSON.stringify(schema).includes('"array"'),
  }))

const bodyFields = ({ request }: EndpointDoc): Json | undefined =>
  request && (schemaOf(request) as { properties?: Json }).properties

function valuesFor(fields: readonly Field[], wanted: readonly string[], ids: Record<string, string>): Json {
  const values = fields.flatMap(({ name, isList }) => {
    if (fillers[name] && !kindOfField[name]) return [[name, fillers[name](ids)]]
    if (!wanted.includes(name)) return []
    const id = ids[kindOfField[name]!]
    return [[name, isList ? [id] : id]]
  })
  return Object.fromEntries(values) as Json
}

/** The management routes, and for each the id fields that it takes, one or all at a time. */
const managed = endpoints
  .filter(
    ({ auth, doc }) =>
      ['key', 'manager'].includes(auth) && !/^(createChat|create(Completion|Response)\b)/.test(doc.operationId),
  )
  .filter(
    ({ paths }) =>
      /^\/(v2\/)?(key|user|team|organization|customer|end_user|budget|spend|global|tag|audit)\b/.test(paths[0]!) ||
      paths.includes('/v1/models'),
  )

async function ask(
  endpoint: Endpoint,
  path: string,
  wanted: readonly string[],
  ids: Record<string, string>,
  key: string,
) {
  const { method, doc } = endpoint
  const query = valuesFor(fieldsOf(parametersOf(doc.query ?? {})), wanted, ids)
  const sent = wanted.filter(name => !labels.has(name))
  const body = valuesFor(fieldsOf(bodyFields(doc)), sent, ids)
  const url = new URL(gateway.url + path.replaceAll(/\{\w+\}/g, ids.token!))
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(doc.request && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await textOf(answer) }
}

/** Of a stream that does not end by itself, the first event. */
async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text()
  const reader = answer.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value).replace(/^id: .*$/m, '')
}

/** The same for both, without their ids. */
const neutral = (text: string, ids: Record<string, string>) =>
  Object.entries(ids)
    .reduce((left, [name, id]) => left.replaceAll(id, `<${name}>`), text)
    .replaceAll(/\\?"?(created_at|updated_at|counted_at)\\?"?:"[^"]*"/g, '')

test('a foreign id is answered as one that does not exist, on every route and for every role', async () => {
  const seen: string[] = []
  let asked = 0
  for (const endpoint of managed) {
    const properties = {
      ...parametersOf(endpoint.doc.query ?? {}),
      ...bodyFields(endpoint.doc),
    }
    const isBody = endpoint.doc.request !== undefined
    const idFields = Object.keys(properties).filter(name => kindOfField[name] && !(isBody && labels.has(name)))
    const inPath = endpoint.paths[0]!.includes('{') || endpoint.paths.some(path => path.includes('{'))
    const choices = [...idFields.map(name => [name]), idFields].filter(one => one.length > 0 || inPath)
    for (const path of endpoint.paths)
      for (const wanted of choices)
        for (const [role, key] of askers) {
          const [mine, ghost] = [
            await ask(endpoint, path, wanted, foreign, key),
            await ask(endpoint, path, wanted, ghosts, key),
          ]
          asked++
          const what = `${role} ${endpoint.method} ${path} ${wanted.join()}`
          if (mine.status !== ghost.status || neutral(mine.text, foreign) !== neutral(ghost.text, ghosts))
            seen.push(
              `${what}: ${mine.status} ${mine.text.slice(0, 200)} | ${ghost.status} ${ghost.text.slice(0, 200)}`,
            )
        }
  }
  expect(seen).toEqual([])
  expect(asked).toBeGreaterThan(200)
  for (const key of askers.values()) {
    const answer = await fetch(`${gateway.url}/key/info`, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.status).toBe(200)
  }
}, 60_000)

test('lists and reports of a tenant hold nothing of another', async () => {
  const leaks: string[] = []
  for (const endpoint of managed.filter(one => one.method === 'GET'))
    for (const [role, key] of askers) {
      const { status, text } = await ask(endpoint, endpoint.paths[0]!, [], foreign, key)
      // Only what was sent back of the question.
      if (status === 200 && /red-|canary\.example/.test(text.replaceAll(/blue-\w+@canary\.example/g, '')))
        leaks.push(`${role} ${endpoint.paths[0]}: ${text.slice(0, 300)}`)
    }
  expect(leaks).toEqual([])
})

test('what belongs to the other tenant is as it was', async () => {
  const { keys } = (await (await gateway.admin('/key/list?return_full_object=true&team_id=red-team')).json()) as {
    keys: Json[]
  }
  // The users were made with a key each.
  const found = keys.map(one => [one.key_alias, one.blocked, one.user_id].join(' ')).toSorted()
  expect(found).toEqual([' false red-lead', ' false red-member', 'red-canary false red-member'])
  const team = (await (await gateway.admin('/team/info?team_id=red-team')).json()) as { team_info: Json }
  expect((team.team_info.members as string[]).toSorted()).toEqual(['red-lead', 'red-member'])
})
