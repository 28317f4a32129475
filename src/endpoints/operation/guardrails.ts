/**
 * Guardrails: which there are, those made by API, and trials on a sample. Paths and fields as LiteLLM's users know them
 * (https://docs.litellm.ai/docs/proxy/guardrails/quick_start).
 */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { maskedFields } from '../../core/objects/configured-objects.ts'
import type { ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { GuardrailSettings } from '../../core/guardrails.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
  integer,
  listOf,
  mapOf,
  named,
  nullable,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import { dateOf, masked, prepareChange } from '../common/configured-change.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { verdicts } from '../../core/guardrails.ts'

const guardrailSchema = named('Guardrail', () =>
  shape({
    guardrail_id: text,
    guardrail_name: text,
    litellm_params: masked,
    guardrail_info: anyObject,
    guardrail_definition_location: described(
      'Where it is defined: `config` is the configuration file.',
      oneOf('config', 'db'),
    ),
    models: described('Public names of models that demand it by themselves.', listOf(text)),
    version: nullable(integer),
    created_at: nullable(dateTime),
    updated_at: nullable(dateTime),
  }),
)

const guardrailsSchema = named('Guardrails', () =>
  shape({
    guardrails: listOf(guardrailSchema),
    not_in_use: described(
      'Stored ones that cannot be used, and why.',
      listOf(shape({ guardrail_id: text, guardrail_name: text, problem: text })),
    ),
  }),
)

const guardrailNamesSchema = named('GuardrailNames', () =>
  shape({
    guardrails: listOf(shape({ guardrail_name: text, guardrail_info: anyObject, litellm_params: anyObject })),
  }),
)

const guardrailUsersSchema = named('GuardrailUsers', () =>
  shape({
    guardrail_name: text,
    default_on: described('It holds for every call.', boolean),
    models: described('Public names of models that demand it by themselves.', listOf(text)),
    keys: listOf(shape({ key_id: text, key_alias: nullable(text), team_id: nullable(text) })),
    teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
    has_more: described('There are more keys or teams than are listed: 200 of each.', boolean),
  }),
)

const deletedGuardrailSchema = named('DeletedGuardrail', () =>
  shape({ guardrail_id: text, guardrail_name: text, deleted: constant(true) }),
)

const guardrailTrialSchema = named('GuardrailTrial', () =>
  shape({
    response_text: described('The sample as it would be sent; of one that is refused the sample itself.', text),
    verdict: oneOf(...verdicts),
    reason: nullable(text),
    found: described('Kind of what was found -> how often.', mapOf(integer)),
  }),
)

const fields = lazy(() => z.record(z.string().max(100), z.unknown()))
const name = lazy(() => z.string().min(1).max(64))

const newBody = lazy(() =>
  z.strictObject({
    guardrail: z.strictObject({ guardrail_name: name(), litellm_params: fields(), guardrail_info: fields().nullish() }),
  }),
)

const changedFields = lazy(() => ({
  guardrail_name: name().nullish(),
  litellm_params: fields().nullish(),
  guardrail_info: fields().nullish(),
}))
const changeBody = lazy(() =>
  z.strictObject({
    guardrail: z.strictObject(changedFields()).optional(),
    ...changedFields(),
    version: z.number().int().min(1).nullish(),
  }),
)

const sampleMax = 100_000

const applyBody = lazy(() =>
  z.strictObject({
    guardrail_name: name(),
    text: z.string().max(sampleMax),
    input_type: z
      .enum(['request', 'response'])
      .nullish()
      .describe('Whether the sample is read as a question or as an answer.'),
    prompt: z.string().max(sampleMax).nullish().describe('Of an answer: what was asked.'),
    language: z.string().max(20).nullish().describe('Accepted for compatibility; the guardrail knows its language.'),
    entities: z.array(z.string().max(64)).max(200).nullish().describe('Of what was found, only these are listed.'),
  }),
)

const tag = 'Guardrails'

const all = ({ current }: Services): readonly GuardrailSettings[] => current.settings.guardrails ?? []

const stored = ({ configured }: Services): ConfiguredObject[] =>
  configured.objects().filter(one => one.kind === 'guardrail')

/** By id or name. Throws `not-found`. */
function find(services: Services, named: string): GuardrailSettings {
  const found = all(services).find(one => one.id === named) ?? all(services).find(one => one.name === named)
  if (found) return found
  throw new GatewayError(
    'not-found',
    `there is no guardrail '${named.slice(0, 100)}'; GET /guardrails/list names them`,
    {
      param: 'guardrail_name',
    },
  )
}

/** Throws `invalid-request` for one of the file, and `not-found`. */
function findStored(services: Services, id: string): ConfiguredObject {
  const object = stored(services).find(one => one.id === id)
  if (object) return object
  if (all(services).some(one => one.origin === 'config' && one.id === id))
    throw new GatewayError('invalid-request', 'this guardrail stands in the configuration file; change it there', {
      param: 'guardrail_id',
    })
  throw new GatewayError('not-found', 'there is no guardrail of this id; GET /guardrails/list lists them', {
    param: 'guardrail_id',
  })
}

/** The fields as they were sent; secrets are masked. */
function shown(services: Services, settings: GuardrailSettings): ValueOf<typeof guardrailSchema> {
  const object = stored(services).find(one => one.id === settings.id)
  const secretNames = [
    ...(settings.secrets.apiKey ? ['api_key'] : []),
    ...(settings.secrets.signingSecret ? ['signing_secret'] : []),
  ]
  const mode = settings.recordsOnly ? 'logging_only' : settings.modes.length === 1 ? settings.modes[0] : settings.modes
  const params = { guardrail: settings.kind, mode, default_on: settings.defaultOn, ...settings.params }
  return {
    guardrail_id: settings.id,
    guardrail_name: settings.name,
    litellm_params: maskedFields(params, secretNames),
    guardrail_info: settings.info,
    guardrail_definition_location: settings.origin,
    models: modelsWith(services, settings.name),
    version: object?.version ?? null,
    created_at: object ? dateOf(object.createdAtMs) : null,
    updated_at: object ? dateOf(object.updatedAtMs) : null,
  }
}

/** The public names of models that demand it by themselves. */
function modelsWith({ current }: Services, guardrail: string): string[] {
  const demanding = current.settings.deployments.filter(one => one.guardrails?.includes(guardrail))
  return [...new Set(demanding.map(one => one.modelName))]
}

const list: Endpoint = jsonEndpoint(guardrailNamesSchema, {
  method: 'GET',
  paths: ['/guardrails/list'],
  auth: 'key',
  doc: { tag, operationId: 'listGuardrails', summary: 'The names of all guardrails' },
  handle: (_request, services) => ({
    guardrails: all(services).map(one => ({
      guardrail_name: one.name,
      guardrail_info: one.info,
      litellm_params: { guardrail: one.kind, mode: one.modes, default_on: one.defaultOn },
    })),
  }),
})

const listWhole: Endpoint = jsonEndpoint(guardrailsSchema, {
  method: 'GET',
  paths: ['/v2/guardrails/list'],
  auth: 'viewer',
  doc: { tag, operationId: 'listGuardrailSettings', summary: 'All guardrails with their fields' },
  async handle(_request, services) {
    await services.checks.load()
    return {
      guardrails: all(services).map(one => shown(services, one)),
      not_in_use: stored(services).flatMap(object => {
        const problem = services.checks.guardrailProblem(object)
        return problem === undefined ? [] : [{ guardrail_id: object.id, guardrail_name: object.name, problem }]
      }),
    }
  },
})

const info: Endpoint = jsonEndpoint(guardrailSchema, {
  method: 'GET',
  paths: ['/guardrails/{guardrail_id}/info', '/guardrails/{guardrail_id}'],
  auth: 'viewer',
  doc: { tag, operationId: 'getGuardrail', summary: 'One guardrail, by its id or name' },
  handle: ({ params }, services) => shown(services, find(services, params.guardrail_id!)),
})

const usersMax = 200

/** Which callers it holds for: all, or those whose keys, teams and models name it. */
const usedBy: Endpoint = jsonEndpoint(guardrailUsersSchema, {
  method: 'GET',
  paths: ['/guardrails/{guardrail_id}/used_by'],
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'listGuardrailUsers',
    summary: 'The keys, teams and models that have the guardrail by themselves',
  },
  async handle({ params }, services) {
    const { name, defaultOn } = find(services, params.guardrail_id!)
    const { keys, teams } = await services.tenancy.usesOfGuardrail(name, usersMax + 1)
    return {
      guardrail_name: name,
      default_on: defaultOn,
      models: modelsWith(services, name),
      keys: keys.slice(0, usersMax).map(one => ({ key_id: one.id, key_alias: one.alias, team_id: one.teamId })),
      teams: teams.slice(0, usersMax).map(one => ({ team_id: one.id, team_alias: one.alias })),
      has_more: keys.length > usersMax || teams.length > usersMax,
    }
  },
})

/** 409 for a name that is taken, 422 for fields that its kind cannot work with. */
const create: Endpoint = withBody(newBody, {
  answer: guardrailSchema,
  paths: ['/guardrails'],
  auth: 'admin',
  tag,
  operationId: 'createGuardrail',
  summary: 'Make a guardrail',
  failures: [403, 409],
  async handle({ guardrail: sent }, { services, caller }) {
    await prepareChange(services)
    checkFree(services, sent.guardrail_name)
    const entry = { name: sent.guardrail_name, params: sent.litellm_params, info: sent.guardrail_info ?? {} }
    const { secrets, ...content } = services.checks.checkGuardrail(entry, undefined)
    const id = randomUUIDv7()
    const made = { kind: 'guardrail' as const, id, name: sent.guardrail_name, body: content.body, secrets }
    await services.configured.insert(made, actorOf(caller))
    return shown(services, find(services, id))
  },
})

function checkFree(services: Services, wanted: string): void {
  if (all(services).some(one => one.origin === 'config' && one.name === wanted))
    throw new GatewayError('conflict', 'a guardrail of this name stands in the configuration file; choose another', {
      param: 'guardrail.guardrail_name',
    })
}

/** PUT replaces all fields, PATCH those that are sent; a mask leaves a secret as it is. The fields may stand alone. */
function changing(method: 'PUT' | 'PATCH'): Endpoint {
  const isWhole = method === 'PUT'
  return withBody(changeBody, {
    answer: guardrailSchema,
    method,
    paths: ['/guardrails/{guardrail_id}'],
    auth: 'admin',
    tag,
    operationId: isWhole ? 'replaceGuardrail' : 'updateGuardrail',
    summary: isWhole ? 'Replace the fields of a guardrail' : 'Change a guardrail; only the fields sent change',
    failures: [403, 409],
    async handle({ guardrail, version, ...alone }, { services, caller, request }) {
      await prepareChange(services)
      const sent = guardrail ?? alone
      const before = findStored(services, request.params.guardrail_id!)
      const newName = sent.guardrail_name ?? before.name
      if (newName !== before.name) checkFree(services, newName)
      const known = isWhole && sent.litellm_params ? {} : (before.body.params as Record<string, unknown>)
      const entry = {
        name: newName,
        params: { ...known, ...sent.litellm_params },
        info: sent.guardrail_info ?? (before.body.info as Record<string, unknown>),
        keepsSecrets: !isWhole,
      }
      const { body, secrets } = services.checks.checkGuardrail(entry, before)
      const { id, kind } = before
      const change = { kind, id, name: newName, body, secrets, version: version ?? before.version }
      await services.configured.update(change, actorOf(caller))
      return shown(services, find(services, id))
    },
  })
}

/** Calls that a key, team or model still demands it for are refused from then on. */
const remove: Endpoint = jsonEndpoint(deletedGuardrailSchema, {
  method: 'DELETE',
  paths: ['/guardrails/{guardrail_id}'],
  auth: 'admin',
  doc: {
    tag,
    operationId: 'deleteGuardrail',
    summary: 'Delete a guardrail that was made by API',
    failures: [403, 409],
  },
  async handle({ params }, services, caller) {
    await prepareChange(services)
    const object = findStored(services, params.guardrail_id!)
    await services.configured.delete(object, actorOf(caller!))
    return { guardrail_id: object.id, guardrail_name: object.name, deleted: true as const }
  },
})

/** A refusal is an answer, too: its `verdict` is `block`. 503 where the service of the guardrail does not answer. */
const apply: Endpoint = withBody(applyBody, {
  answer: guardrailTrialSchema,
  paths: ['/guardrails/apply_guardrail', '/guardrails/apply'],
  auth: 'key',
  takesRequest: true,
  tag,
  operationId: 'applyGuardrail',
  summary: 'Try a guardrail on a sample; no model is called but those that judge',
  failures: [404, 503],
  async handle(body, { services, caller, request }) {
    const guardrail = find(services, body.guardrail_name)
    const stage = body.input_type === 'response' ? 'output' : 'input'
    const sample = { guardrail, text: body.text, stage, prompt: body.prompt ?? undefined } as const
    const { verdict, text, reason, found } = await services.guardrails.tryOut(sample, caller, request)
    const reported = Object.entries(found).filter(([entity]) => body.entities?.includes(entity) ?? true)
    return { response_text: text, verdict, reason: reason ?? null, found: Object.fromEntries(reported) }
  },
})

/** Everything under /guardrails. */
export const guardrailEndpoints: readonly Endpoint[] = [
  list,
  listWhole,
  create,
  apply,
  info,
  usedBy,
  changing('PUT'),
  changing('PATCH'),
  remove,
]
