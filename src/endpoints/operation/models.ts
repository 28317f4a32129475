/** Models made by API: created, changed, deleted, in LiteLLM's names. Those of the configuration file are read-only. */
import { changes, dateOf, doneMessageSchema, masked, prepareChange } from '../common/configured-change.ts'
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import type { Caller } from '../../core/caller.ts'
import { maskedFields, secretNamesOf } from '../../core/objects/configured-objects.ts'
import type { CheckedModel, ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { anyObject, boolean, described, listOf, named, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { block, blockOf, unblock } from './common/model-blocks.ts'
import { lazy } from '../../lib/lazy.ts'
import { withBody } from '../common/json-endpoint.ts'

const warnings = described('What was accepted, and is probably a mistake; absent = nothing.', listOf(text))

const storedModelSchema = named('StoredModel', () =>
  shape(
    {
      model_id: described('It is the `x-proxy-model-id` of calls.', text),
      model_name: text,
      litellm_params: masked,
      proxy_params: described('It is the same as `litellm_params`.', anyObject),
      model_info: anyObject,
      blocked: described('Whether it gets no calls.', boolean),
      ...changes,
    },
    { warnings },
  ),
)

const fields = lazy(() => z.record(z.string(), z.unknown()))
const modelId = lazy(() => z.string().min(1).max(128))

const parameters = lazy(() => ({
  litellm_params: fields().nullish(),
  proxy_params: fields().nullish(),
  model_info: fields().nullish(),
}))

const version = lazy(() => z.number().int().min(1).nullish())
const newBody = lazy(() => z.strictObject({ model_name: z.string(), ...parameters() }))

const updateBody = lazy(() =>
  z.strictObject({
    model_name: z.string().nullish(),
    ...parameters(),
    blocked: z
      .boolean()
      .nullish()
      .describe(
        'true = it gets no calls, false = it does again; `POST /model/block` does the same for any deployment.',
      ),
    version: version(),
  }),
)

const deleteBody = lazy(() => z.strictObject({ id: modelId(), version: version() }))

const tag = 'Models'

/** The entry's fields that a client sent, under the names that it used. */
function sentEntry(
  body: z.infer<ReturnType<typeof newBody>> | z.infer<ReturnType<typeof updateBody>>,
): Record<string, unknown> {
  const { model_name: name, litellm_params: litellm, proxy_params: proxy, model_info: info } = body
  return {
    ...(name != null && { model_name: name }),
    ...(litellm && { litellm_params: litellm }),
    ...(proxy && { proxy_params: proxy }),
    ...(info && { model_info: info }),
  }
}

/** 422 with the field of each mistake, as of the configuration file; 409 for an id that is taken. */
export const modelNew: Endpoint = withBody(newBody, {
  answer: storedModelSchema,
  paths: ['/model/new'],
  auth: 'admin',
  tag,
  operationId: 'createModel',
  summary: 'Add a deployment of a model, by the rules of an entry of `model_list`',
  failures: [400, 409],
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const given = body.model_info?.id
    const id = typeof given === 'string' ? given : randomUUIDv7()
    await services.checks.readSecrets(body)
    const checked = services.checks.checkModel(sentEntry(body), id, undefined)
    if (deploymentById(services, id))
      throw new GatewayError('conflict', `there is a model with the id '${id}' already`, { param: 'model_info.id' })
    await checkTeam(services, checked)
    const made = await services.configured.insert(contentOf(id, checked), actorOf(caller))
    return shownModel(services, made, checked.warnings)
  },
})

/** Throws 422 for a team that does not exist: no key could call its model. */
async function checkTeam({ tenancy }: Services, { deployment: { teamId } }: CheckedModel): Promise<void> {
  if (teamId === undefined || (await tenancy.find('team', teamId))) return
  throw unprocessable([
    {
      loc: ['body', 'model_info', 'team_id'],
      msg: `there is no team '${teamId.slice(0, 100)}'; POST /team/new makes one`,
      type: 'unknown_value',
    },
  ])
}

const contentOf = (id: string, { deployment, body, secrets }: CheckedModel) => ({
  kind: 'model' as const,
  id,
  name: deployment.modelName,
  body,
  secrets,
})

/** Names the deployment by `model_info.id`, as LiteLLM does; fields that are not sent stay, null takes one out. */
export const modelUpdate: Endpoint = withBody(updateBody, {
  answer: storedModelSchema,
  paths: ['/model/update'],
  auth: 'admin',
  tag,
  operationId: 'updateModel',
  summary: 'Change a deployment that was made by API; only the fields sent change',
  failures: [400, 409],
  async handle(body, { services, caller }) {
    const id = modelId().safeParse(body.model_info?.id)
    if (!id.success)
      throw new GatewayError('invalid-request', 'name the deployment by its id in `model_info.id`', {
        param: 'model_info.id',
      })
    return change(services, caller, { id: id.data, body })
  },
})

/** The same, with the id in the path. */
export const modelPatch: Endpoint = withBody(updateBody, {
  answer: storedModelSchema,
  method: 'PATCH',
  paths: ['/model/{model_id}/update'],
  auth: 'admin',
  tag,
  operationId: 'patchModel',
  summary: 'Change a deployment that was made by API; only the fields sent change',
  failures: [400, 409],
  async handle(body, { services, caller, request }) {
    return change(services, caller, { id: request.params.model_id!, body })
  },
})

async function change(
  services: Services,
  caller: Caller,
  { id, body }: { id: string; body: z.infer<ReturnType<typeof updateBody>> },
): Promise<ValueOf<typeof storedModelSchema>> {
  await prepareChange(services)
  const before = storedModel(services, id)
  const named = body.model_info?.id
  if (named != null && named !== id)
    throw new GatewayError(
      'invalid-request',
      'the id of a deployment cannot change; leave it out, or add another model',
      { param: 'model_info.id' },
    )
  await services.checks.readSecrets(body)
  const checked = services.checks.checkModel(sentEntry(body), id, before)
  await checkTeam(services, checked)
  const content = { ...contentOf(id, checked), version: body.version ?? before.version }
  const changed = isBlockAlone(body) ? before : await services.configured.update(content, actorOf(caller))
  if (body.blocked === true) await block(services, caller, { id })
  if (body.blocked === false) await unblock(services, caller, id)
  return shownModel(services, changed, checked.warnings)
}

/** Nothing but `blocked`, and the id that names the deployment. */
function isBlockAlone({ blocked, version: _, model_info: info, ...entry }: z.infer<ReturnType<typeof updateBody>>) {
  const fields = Object.keys(info ?? {}).filter(name => name !== 'id')
  return blocked != null && fields.length === 0 && Object.values(entry).every(value => value == null)
}

/** 400 for a deployment of the file and for an unknown one, as LiteLLM. */
export const modelDelete: Endpoint = withBody(deleteBody, {
  answer: doneMessageSchema,
  paths: ['/model/delete'],
  auth: 'admin',
  tag,
  operationId: 'deleteModel',
  summary: 'Delete a deployment that was made by API; open calls end as they began',
  failures: [400, 409],
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const { id, version: expected } = body
    const found = storedModel(services, id)
    await services.configured.delete({ ...found, version: expected ?? found.version }, actorOf(caller))
    // Another model may get its id.
    await unblock(services, caller, id)
    return { message: `Model: ${id} deleted successfully` }
  },
})

const deploymentById = ({ current }: Services, id: string) => current.settings.deployments.find(one => one.id === id)

/** Throws `invalid-request` for a model that is not made by API, with the place where it is. */
function storedModel(services: Services, id: string): ConfiguredObject {
  const found = services.configured.objects().find(one => one.kind === 'model' && one.id === id)
  if (found) return found
  const deployment = deploymentById(services, id)
  const why = deployment
    ? `the model '${id}' comes from ${deployment.origin.where}; change it there`
    : `no model has the id '${id.slice(0, 200)}'; GET /model/info lists them`
  throw new GatewayError('invalid-request', why, { param: 'id' })
}

/** The row as LiteLLM shows it, with masked secrets, our name of its parameters and its version. */
function shownModel(
  services: Services,
  model: ConfiguredObject,
  warnings: readonly string[],
): ValueOf<typeof storedModelSchema> {
  const { model_info: info, proxy_params: params } = model.body as Record<string, Record<string, unknown>>
  const shown = maskedFields(params!, secretNamesOf(model.secrets))
  return {
    model_id: model.id,
    model_name: model.name,
    litellm_params: shown,
    proxy_params: shown,
    model_info: { ...info, db_model: true },
    blocked: blockOf(services, model.id) !== undefined,
    version: model.version,
    created_at: dateOf(model.createdAtMs),
    created_by: model.createdBy,
    updated_at: dateOf(model.updatedAtMs),
    updated_by: model.updatedBy,
    ...(warnings.length > 0 && { warnings }),
  }
}
