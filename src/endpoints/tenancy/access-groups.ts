/**
 * Access groups made by API: names for sets of models, which keys, teams and users list as a model. Two families of
 * paths, as LiteLLM has them; groups that models name in `model_info.access_groups` are shown beside them.
 */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import type { Caller } from '../../core/caller.ts'
import type { ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { described, integer, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { changes, dateOf, prepareChange } from '../common/configured-change.ts'
import { lazy } from '../../lib/lazy.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'

const noneOf = described('Always empty: only models are grouped here.', listOf(text))

const accessGroupSchema = named('AccessGroup', () =>
  shape({
    access_group_id: text,
    access_group_name: text,
    description: nullable(text),
    access_model_names: listOf(text),
    access_mcp_server_ids: noneOf,
    access_agent_ids: noneOf,
    assigned_team_ids: noneOf,
    assigned_key_ids: noneOf,
    ...changes,
  }),
)

const accessGroupsSchema = named('AccessGroups', () => listOf(accessGroupSchema))

const accessGroupInfoSchema = named('AccessGroupInfo', () =>
  shape({ access_group: text, model_names: listOf(text), deployment_count: integer }),
)

const accessGroupInfoListSchema = named('AccessGroupInfoList', () =>
  shape({ access_groups: listOf(accessGroupInfoSchema) }),
)

const changedAccessGroupSchema = named('ChangedAccessGroup', () =>
  shape({ access_group: text, model_names: listOf(text), models_updated: integer }),
)

const deletedAccessGroupSchema = named('DeletedAccessGroup', () =>
  shape({ access_group: text, models_updated: integer, message: text }),
)

const groupName = lazy(() => keyName().max(200))
const models = lazy(() => z.array(z.string().min(1).max(500)).max(10_000))
const namedModels = lazy(() => ({ model_names: models().nullish(), model_ids: models().nullish() }))
const newBody = lazy(() => z.strictObject({ access_group: groupName(), ...namedModels() }))
const updateBody = lazy(() => z.strictObject(namedModels()))
/** What LiteLLM's groups hold beside models; nothing of it exists here. */
const none = lazy(() => z.array(z.unknown()).max(0, 'must be empty: only models are grouped here').nullish())

const assigned = lazy(() =>
  z
    .array(z.unknown())
    .max(0, 'must be empty: write the name of the group into the `models` of the team or key')
    .nullish(),
)

const version = lazy(() => z.number().int().min(1).nullish())

const unifiedFields = lazy(() => ({
  description: z.string().max(2000).nullish(),
  access_model_names: models().nullish(),
  access_mcp_server_ids: none(),
  access_agent_ids: none(),
  assigned_team_ids: assigned(),
  assigned_key_ids: assigned(),
}))

const unifiedNew = lazy(() => z.strictObject({ access_group_name: groupName(), ...unifiedFields() }))

const unifiedUpdate = lazy(() =>
  z.strictObject({ access_group_name: groupName().nullish(), ...unifiedFields(), version: version() }),
)

const tag = 'Access groups'

const stored = ({ configured }: Services) => configured.objects().filter(one => one.kind === 'access_group')
const modelsOf = (group: ConfiguredObject) => group.body.models as readonly string[]

/** Throws `unprocessable` for a name of a group that is taken, and for models that do not exist. */
function check(services: Services, field: string, names: readonly string[]): void {
  const index = services.current.models
  const patterns = new Set(index.wildcardNames())
  const at = names.findIndex(one => !patterns.has(one) && index.resolve(one).length === 0)
  if (at >= 0)
    throw unprocessable([
      { loc: ['body', field, at], msg: `no model is named '${names[at]!.slice(0, 200)}'`, type: 'unknown_value' },
    ])
}

function checkFree(services: Services, name: string, field: string): void {
  const { deployments } = services.current.settings
  const owner = deployments.find(one => (one.info.access_groups as string[] | undefined)?.includes(name))
  if (owner)
    throw new GatewayError('conflict', `a group of this name is made by ${owner.origin.where}; choose another`, {
      param: field,
    })
}

/** Throws `invalid-request` for a group of the file, with its place, and `not-found`. */
function find(services: Services, by: (group: ConfiguredObject) => boolean, named: string): ConfiguredObject {
  const found = stored(services).find(by)
  if (found) return found
  const { deployments } = services.current.settings
  const owner = deployments.find(one => (one.info.access_groups as string[] | undefined)?.includes(named))
  if (owner)
    throw new GatewayError('invalid-request', `this group is made by ${owner.origin.where}; change it there`, {
      param: 'access_group',
    })
  throw new GatewayError(
    'not-found',
    `there is no access group '${named.slice(0, 200)}'; GET /access_group/list lists them`,
    { param: 'access_group' },
  )
}

interface Content {
  readonly name: string
  readonly description: string | null
  readonly models: readonly string[]
}

async function insert(services: Services, caller: Caller, { name, ...body }: Content): Promise<ConfiguredObject> {
  const content = { kind: 'access_group' as const, id: randomUUIDv7(), name, body, secrets: null }
  return services.configured.insert(content, actorOf(caller))
}

async function replace(
  services: Services,
  caller: Caller,
  { before, content: { name, ...body }, expected }: { before: ConfiguredObject; content: Content; expected?: number },
): Promise<ConfiguredObject> {
  const { id, kind } = before
  const content = { kind, id, name, body, secrets: null, version: expected ?? before.version }
  return services.configured.update(content, actorOf(caller))
}

const deploymentsOf = ({ current }: Services, names: readonly string[]): number =>
  current.settings.deployments.filter(one => names.includes(one.modelName) || names.includes(one.id)).length

function sentModels(
  services: Services,
  { model_names: names, model_ids: ids }: z.infer<ReturnType<typeof updateBody>>,
): string[] {
  const sent = [...(names ?? []), ...(ids ?? [])]
  if (sent.length === 0)
    throw unprocessable([{ loc: ['body', 'model_names'], msg: 'is missing; send a list of models', type: 'missing' }])
  check(services, names?.length ? 'model_names' : 'model_ids', sent)
  return [...new Set(sent)]
}

/** 409 for a name that is taken, 422 for models that do not exist. */
const groupNew: Endpoint = withBody(newBody, {
  answer: changedAccessGroupSchema,
  paths: ['/access_group/new'],
  auth: 'admin',
  tag,
  operationId: 'createAccessGroup',
  summary: 'Give a set of models a name, which keys and teams list as a model',
  failures: [403, 409],
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const content = { name: body.access_group, description: null, models: sentModels(services, body) }
    checkFree(services, content.name, 'access_group')
    return changed(services, await insert(services, caller, content))
  },
})

const changed = (services: Services, group: ConfiguredObject) => ({
  access_group: group.name,
  model_names: modelsOf(group),
  models_updated: deploymentsOf(services, modelsOf(group)),
})

const groupInfoOf = (services: Services, access_group: string) => {
  const names = services.current.settings.accessGroups[access_group] ?? []
  return { access_group, model_names: names, deployment_count: deploymentsOf(services, names) }
}

const groupList: Endpoint = jsonEndpoint(accessGroupInfoListSchema, {
  method: 'GET',
  paths: ['/access_group/list'],
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'listAccessGroups',
    summary: 'All access groups',
  },
  handle: (_request, services) => ({
    access_groups: Object.keys(services.current.settings.accessGroups).map(name => groupInfoOf(services, name)),
  }),
})

const groupInfo: Endpoint = jsonEndpoint(accessGroupInfoSchema, {
  method: 'GET',
  paths: ['/access_group/{access_group}/info'],
  auth: 'viewer',
  doc: { tag, operationId: 'getAccessGroup', summary: 'One access group' },
  handle({ params }, services) {
    const name = params.access_group!
    if (!Object.hasOwn(services.current.settings.accessGroups, name)) find(services, one => one.name === name, name)
    return groupInfoOf(services, name)
  },
})

const groupUpdate: Endpoint = withBody(updateBody, {
  answer: changedAccessGroupSchema,
  method: 'PUT',
  paths: ['/access_group/{access_group}/update'],
  auth: 'admin',
  tag,
  operationId: 'updateAccessGroup',
  summary: 'Replace the models of a group',
  failures: [403, 409],
  async handle(body, { services, caller, request }) {
    await prepareChange(services)
    const named = request.params.access_group!
    const before = find(services, one => one.name === named, named)
    const sent = sentModels(services, body)
    const description = before.body.description as string | null
    const content = { name: before.name, description, models: sent }
    return changed(services, await replace(services, caller, { before, content }))
  },
})

const groupDelete: Endpoint = jsonEndpoint(deletedAccessGroupSchema, {
  method: 'DELETE',
  paths: ['/access_group/{access_group}/delete'],
  auth: 'admin',
  doc: {
    tag,
    operationId: 'deleteAccessGroup',
    summary: 'Delete a group; keys that list it lose its models',
    failures: [403, 409],
  },
  async handle({ params }, services, caller) {
    await prepareChange(services)
    const found = find(services, one => one.name === params.access_group, params.access_group!)
    await services.configured.delete(found, actorOf(caller!))
    return {
      access_group: found.name,
      models_updated: deploymentsOf(services, modelsOf(found)),
      message: `Access group '${found.name}' deleted successfully`,
    }
  },
})

const unifiedPaths = (tail = '') => ['/v1/access_group', '/v1/unified_access_group'].map(path => path + tail)
const one = unifiedPaths('/{access_group_id}')

const unifiedCreate: Endpoint = withBody(unifiedNew, {
  answer: accessGroupSchema,
  paths: unifiedPaths(),
  auth: 'admin',
  tag,
  operationId: 'createUnifiedAccessGroup',
  summary: 'The same with an id; 201',
  failures: [403, 409],
  successStatus: 201,
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const content = contentOf(services, body, { name: body.access_group_name, description: null, models: [] })
    checkFree(services, content.name, 'access_group_name')
    return shown(await insert(services, caller, content))
  },
})

/** What was sent over what was there before. */
function contentOf(services: Services, body: z.infer<ReturnType<typeof unifiedUpdate>>, before: Content): Content {
  const sent = body.access_model_names ?? before.models
  check(services, 'access_model_names', body.access_model_names ?? [])
  return {
    name: body.access_group_name ?? before.name,
    description: body.description ?? before.description,
    models: [...new Set(sent)],
  }
}

const unifiedList: Endpoint = jsonEndpoint(accessGroupsSchema, {
  method: 'GET',
  paths: unifiedPaths(),
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'listUnifiedAccessGroups',
    summary: 'The access groups made by API',
  },
  handle: (_request, services) => stored(services).map(shown),
})

const byId = (services: Services, id: string): ConfiguredObject => find(services, group => group.id === id, id)

const unifiedGet: Endpoint = jsonEndpoint(accessGroupSchema, {
  method: 'GET',
  paths: one,
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'getUnifiedAccessGroup',
    summary: 'One access group by its id',
  },
  handle: ({ params }, services) => shown(byId(services, params.access_group_id!)),
})

const unifiedChange: Endpoint = withBody(unifiedUpdate, {
  answer: accessGroupSchema,
  method: 'PUT',
  paths: one,
  auth: 'admin',
  tag,
  operationId: 'updateUnifiedAccessGroup',
  summary: 'Change an access group; only the fields sent change',
  failures: [403, 409],
  async handle(body, { services, caller, request }) {
    await prepareChange(services)
    const before = byId(services, request.params.access_group_id!)
    const description = before.body.description as string | null
    const content = contentOf(services, body, { name: before.name, description, models: modelsOf(before) })
    if (content.name !== before.name) checkFree(services, content.name, 'access_group_name')
    const change = { before, content, ...(body.version != null && { expected: body.version }) }
    return shown(await replace(services, caller, change))
  },
})

const unifiedDelete: Endpoint = {
  method: 'DELETE',
  paths: one,
  auth: 'admin',
  doc: {
    tag,
    operationId: 'deleteUnifiedAccessGroup',
    summary: 'Delete an access group; 204',
    failures: [403, 409],
    successStatus: 204,
    success: {},
  },
  async handle({ params }, services, caller) {
    await prepareChange(services)
    await services.configured.delete(byId(services, params.access_group_id!), actorOf(caller!))
    return { status: 204, headers: {}, body: null }
  },
}

function shown(group: ConfiguredObject): ValueOf<typeof accessGroupSchema> {
  return {
    access_group_id: group.id,
    access_group_name: group.name,
    description: group.body.description as string | null,
    access_model_names: modelsOf(group),
    access_mcp_server_ids: [],
    access_agent_ids: [],
    assigned_team_ids: [],
    assigned_key_ids: [],
    version: group.version,
    created_at: dateOf(group.createdAtMs),
    created_by: group.createdBy,
    updated_at: dateOf(group.updatedAtMs),
    updated_by: group.updatedBy,
  }
}

/** Everything under /access_group and /v1/access_group. */
export const accessGroupEndpoints: readonly Endpoint[] = [
  groupNew,
  groupList,
  groupInfo,
  groupUpdate,
  groupDelete,
  unifiedCreate,
  unifiedList,
  unifiedGet,
  unifiedChange,
  unifiedDelete,
]
