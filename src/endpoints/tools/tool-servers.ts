/** Tool servers by API: which there are, those made by API, and how they do. Paths and fields as those of LiteLLM. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { secretMask } from '../../core/objects/configured-objects.ts'
import type { ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { ToolServerSettings } from '../../core/tool-servers.ts'
import { lazy } from '../../lib/lazy.ts'
import { dateOf, prepareChange } from '../common/configured-change.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'
import {
  boolean,
  constant,
  dateTime,
  described,
  integer,
  listOf,
  mapOf,
  named,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { listedServerSchema, shownListed } from './rest-tools.ts'

const tag = 'Tools'

const toolServerSchema = named('ToolServer', () =>
  shape(
    {
      server_id: text,
      server_name: text,
      alias: described('What stands before the names of its tools.', text),
      description: text,
      transport: oneOf('http', 'sse', 'stdio', 'openapi'),
      mcp_access_groups: listOf(text),
      allow_all_keys: boolean,
    },
    {
      url: nullable(text),
      origin: described('Where it is defined: `config` is the configuration file.', oneOf('config', 'db')),
      header_names: described('Headers that each request to it has; their values are not shown.', listOf(text)),
      extra_headers: listOf(text),
      allowed_tools: nullable(listOf(text)),
      disallowed_tools: listOf(text),
      default_cost: described('Dollars that a call costs of a tool without a price of its own.', number),
      tool_costs: described('What a call of each tool costs, in dollars.', mapOf(number)),
      version: nullable(integer),
      created_at: nullable(dateTime),
      created_by: nullable(text),
      updated_at: nullable(dateTime),
      updated_by: nullable(text),
      problem: described('Why it is not in use; null = it is.', nullable(text)),
    },
  ),
)

const nanoUsdPerUsd = 1e9
const all = ({ current }: Services): readonly ToolServerSettings[] => current.settings.toolServers ?? []
const stored = ({ configured }: Services): ConfiguredObject[] =>
  configured.objects().filter(one => one.kind === 'tool_server')

/** What every caller of it is shown. */
const publicFields = (server: ToolServerSettings) => ({
  server_id: server.id,
  server_name: server.name,
  alias: server.prefix,
  description: server.description,
  transport: server.transport,
  mcp_access_groups: [...server.accessGroups],
  allow_all_keys: server.allowsAllKeys,
})

/** Addresses and prices are for administrators. */
function shown(services: Services, server: ToolServerSettings, isWhole: boolean): ValueOf<typeof toolServerSchema> {
  if (!isWhole) return publicFields(server)
  const object = stored(services).find(one => one.id === server.id)
  return {
    ...publicFields(server),
    url: server.url ?? null,
    origin: server.origin,
    header_names: Object.keys(server.headers),
    extra_headers: [...server.forwardedHeaders],
    allowed_tools: server.allowedTools ? [...server.allowedTools] : null,
    disallowed_tools: [...server.disallowedTools],
    default_cost: Number(server.defaultCostNanoUsd) / nanoUsdPerUsd,
    tool_costs: Object.fromEntries(
      Object.entries(server.toolCosts).map(([tool, nanoUsd]) => [tool, Number(nanoUsd) / nanoUsdPerUsd]),
    ),
    ...stampsOf(object),
    problem: null,
  }
}

const stampsOf = (object: ConfiguredObject | undefined) => ({
  version: object?.version ?? null,
  created_at: object ? dateOf(object.createdAtMs) : null,
  created_by: object?.createdBy ?? null,
  updated_at: object ? dateOf(object.updatedAtMs) : null,
  updated_by: object?.updatedBy ?? null,
})

/** One that is stored and cannot be used. */
function shownUnused(object: ConfiguredObject, problem: string): ValueOf<typeof toolServerSchema> {
  const { fields = {} } = object.body as { fields?: { description?: string; url?: string; alias?: string } }
  return {
    server_id: object.id,
    server_name: object.name,
    alias: fields.alias ?? object.name,
    description: fields.description ?? '',
    transport: 'http',
    mcp_access_groups: [],
    allow_all_keys: false,
    url: fields.url ?? null,
    origin: 'db',
    ...stampsOf(object),
    problem,
  }
}

/** Those that the caller may use, for administrators all. */
function visible(services: Services, caller: Caller): readonly ToolServerSettings[] {
  if (isAdministrator(caller)) return all(services)
  const names = new Set(services.tools.servers(caller).map(one => one.name))
  return all(services).filter(one => names.has(one.name))
}

/** By id or name. Throws `not-found`, for those of others too. */
function find(services: Services, caller: Caller, wanted: string): ToolServerSettings {
  const found = visible(services, caller).find(one => one.id === wanted || one.name === wanted)
  if (found) return found
  throw new GatewayError('not-found', 'there is no tool server of this id; GET /v1/mcp/server lists them', {
    param: 'server_id',
  })
}

const list: Endpoint = jsonEndpoint(
  named('ToolServers', () => listOf(toolServerSchema)),
  {
    method: 'GET',
    paths: ['/v1/mcp/server'],
    auth: 'key',
    doc: {
      tag,
      operationId: 'listToolServers',
      summary: 'The tool servers that the key may use; all for administrators',
    },
    async handle(_request, services, caller) {
      const isWhole = isAdministrator(caller!)
      const used = visible(services, caller!).map(one => shown(services, one, isWhole))
      if (!isWhole) return used
      await services.checks.load()
      const unused = stored(services).flatMap(object => {
        const problem = services.checks.toolServerProblem(object)
        return problem === undefined ? [] : [shownUnused(object, problem)]
      })
      return [...used, ...unused]
    },
  },
)

const one: Endpoint = jsonEndpoint(toolServerSchema, {
  method: 'GET',
  paths: ['/v1/mcp/server/{server_id}'],
  auth: 'key',
  doc: { tag, operationId: 'getToolServer', summary: 'One tool server, by its id or name' },
  handle: ({ params }, services, caller) =>
    shown(services, find(services, caller!, params.server_id!), isAdministrator(caller!)),
})

const healthSchema = named('ToolServerHealth', () => listOf(listedServerSchema))

/** Asks each server for its list, unless one is known that still holds. */
const health: Endpoint = jsonEndpoint(healthSchema, {
  method: 'GET',
  paths: ['/v1/mcp/server/health', '/v1/mcp/server/{server_id}/health'],
  auth: 'key',
  doc: { tag, operationId: 'checkToolServers', summary: 'Whether tool servers answer, and how many tools each has' },
  async handle({ params, headers }, services, caller) {
    const servers = params.server_id === undefined ? undefined : [find(services, caller!, params.server_id).name]
    const { servers: listed } = await services.tools.list({ caller: caller!, headers }, servers ? { servers } : {})
    return listed.map(shownListed)
  },
})

const groups: Endpoint = jsonEndpoint(
  named('ToolAccessGroups', () => shape({ access_groups: listOf(text) })),
  {
    method: 'GET',
    paths: ['/v1/mcp/access_groups'],
    auth: 'key',
    doc: {
      tag,
      operationId: 'listToolAccessGroups',
      summary: 'The access groups of the tool servers that the key may use',
    },
    handle: (_request, services, caller) => ({
      access_groups: [...new Set(visible(services, caller!).flatMap(one => one.accessGroups))].toSorted(),
    }),
  },
)

/** Fields of LiteLLM's that have another name in the file. */
const renamed: Readonly<Record<string, string>> = { mcp_access_groups: 'access_groups' }
/** What LiteLLM's forms send, and what has no meaning here. */
const passedOver: ReadonlySet<string> = new Set([
  'server_id',
  'server_name',
  'version',
  'credentials',
  'teams',
  'status',
])

function fieldsOf(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = Object.entries(body).flatMap(([name, value]) =>
    passedOver.has(name) ? [] : [[renamed[name] ?? name, value] as const],
  )
  const { credentials } = body as { credentials?: { auth_value?: unknown } | null }
  const token = credentials?.auth_value === undefined ? {} : { authentication_token: credentials.auth_value }
  return { ...Object.fromEntries(fields), ...token }
}

const body = lazy(() =>
  z.looseObject({
    server_id: z.string().min(1).max(64).nullish().describe('Of a change: the server. A new one gets its id here.'),
    server_name: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .describe('The name of the server, which has letters, digits and _.'),
    version: z.number().int().min(1).nullish(),
  }),
)

function checkFree(services: Services, wanted: string): void {
  if (all(services).some(one => one.origin === 'config' && (one.name === wanted || one.prefix === wanted)))
    throw new GatewayError('conflict', 'a tool server of this name stands in the configuration file; choose another', {
      param: 'server_name',
    })
}

/** Throws 400 for one of the file. */
function findStored(services: Services, id: string | null | undefined): ConfiguredObject {
  const found = stored(services).find(one => one.id === id || one.name === id)
  if (found) return found
  if (all(services).some(one => one.id === id || one.name === id))
    throw new GatewayError('invalid-request', 'this tool server stands in the configuration file; change it there', {
      param: 'server_id',
    })
  throw new GatewayError('not-found', 'there is no tool server of this id; GET /v1/mcp/server lists them', {
    param: 'server_id',
  })
}

const shownStored = (services: Services, caller: Caller, id: string): ValueOf<typeof toolServerSchema> => {
  const used = all(services).find(server => server.id === id)
  if (used) return shown(services, used, isAdministrator(caller))
  const object = findStored(services, id)
  return shownUnused(object, services.checks.toolServerProblem(object) ?? 'it is not in use yet')
}

const create: Endpoint = withBody(body, {
  answer: toolServerSchema,
  paths: ['/v1/mcp/server'],
  auth: 'admin',
  tag,
  operationId: 'createToolServer',
  summary: 'Make a tool server; programs (`stdio`) are for the configuration file alone',
  failures: [403, 409],
  async handle(sent, { services, caller }) {
    await prepareChange(services)
    const name = sent.server_name ?? (typeof sent.alias === 'string' ? sent.alias : '')
    checkFree(services, name)
    const content = services.checks.checkToolServer({ name, fields: fieldsOf(sent) }, undefined)
    const id = randomUUIDv7()
    await services.configured.insert({ kind: 'tool_server', id, name, ...content }, actorOf(caller))
    return shownStored(services, caller, id)
  },
})

const update: Endpoint = withBody(body, {
  answer: toolServerSchema,
  method: 'PUT',
  paths: ['/v1/mcp/server'],
  auth: 'admin',
  tag,
  operationId: 'updateToolServer',
  summary: `Change a tool server; only the fields sent change, and \`${secretMask}\` leaves a secret as it is`,
  failures: [403, 404, 409],
  async handle(sent, { services, caller }) {
    await prepareChange(services)
    const before = findStored(services, sent.server_id)
    const name = sent.server_name ?? before.name
    if (name !== before.name) checkFree(services, name)
    const { fields: kept } = before.body as { fields: Record<string, unknown> }
    const fields = { ...kept, ...fieldsOf(sent) }
    const content = services.checks.checkToolServer({ name, fields, keepsSecrets: true }, before)
    const change = { kind: before.kind, id: before.id, name, ...content, version: sent.version ?? before.version }
    await services.configured.update(change, actorOf(caller))
    return shownStored(services, caller, before.id)
  },
})

const remove: Endpoint = jsonEndpoint(
  named('DeletedToolServer', () => shape({ server_id: text, server_name: text, deleted: constant(true) })),
  {
    method: 'DELETE',
    paths: ['/v1/mcp/server/{server_id}'],
    auth: 'admin',
    doc: {
      tag,
      operationId: 'deleteToolServer',
      summary: 'Delete a tool server that was made by API',
      failures: [400, 403, 409],
    },
    async handle({ params }, services, caller) {
      await prepareChange(services)
      const object = findStored(services, params.server_id!)
      await services.configured.delete(object, actorOf(caller!))
      return { server_id: object.id, server_name: object.name, deleted: true as const }
    },
  },
)

/** All of them. */
export const toolServerEndpoints: readonly Endpoint[] = [list, health, one, groups, create, update, remove]
