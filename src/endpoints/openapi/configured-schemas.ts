/** Models, credentials and access groups made by API. */
import { settingGroups } from '../../core/effective-values.ts'
import { verdicts } from '../../core/guardrails.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
  integer,
  listOf,
  mapOf,
  nullable,
  oneOf,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const changes: Properties = {
  version: described('Send it with a change, which is refused with 409 if the object has another by then.', integer),
  created_at: dateTime,
  created_by: text,
  updated_at: dateTime,
  updated_by: text,
}
const masked = described('Secrets are shown as `********`; sent back so, they stay as they are.', anyObject)
const warnings = described('What was accepted, and is probably a mistake; absent = nothing.', listOf(text))

/** What answers say of a deployment that may be switched off, to readers of everything. */
export const blockFacts: Properties = {
  blocked: described('An administrator has switched it off: it gets no calls.', boolean),
  blocked_by: nullable(text),
  blocked_at: nullable(dateTime),
  blocked_reason: nullable(text),
}

const noneOf = described('Always empty: only models are grouped here.', listOf(text))
const groupInfo = shape({ access_group: text, model_names: listOf(text), deployment_count: integer })

const guardrail = shape({
  guardrail_id: text,
  guardrail_name: text,
  litellm_params: masked,
  guardrail_info: anyObject,
  guardrail_definition_location: described('`config` = the configuration file.', oneOf('config', 'db')),
  models: described('Public names of models that demand it by themselves.', listOf(text)),
  version: nullable(integer),
  created_at: nullable(dateTime),
  updated_at: nullable(dateTime),
})

/** By their names under `#/components/schemas/`. */
export const configuredSchemas: Readonly<Record<string, Schema>> = {
  Done: shape({ success: constant(true), message: text }),
  Credential: shape(
    {
      credential_name: text,
      credential_values: masked,
      credential_info: anyObject,
      source: described('`api`, or the place in the configuration file.', text),
      version: nullable(integer),
    },
    {
      created_at: dateTime,
      created_by: text,
      updated_at: dateTime,
      updated_by: text,
      problem: described('Why its secrets cannot be read.', text),
    },
  ),
  CredentialList: shape({ success: boolean, credentials: listOf(reference('Credential')) }),
  ModelCredential: shape({ credential_name: text, credential_values: masked, credential_info: anyObject }),
  AccessGroup: shape({
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
  AccessGroups: listOf(reference('AccessGroup')),
  AccessGroupInfo: groupInfo,
  AccessGroupInfoList: shape({ access_groups: listOf(reference('AccessGroupInfo')) }),
  ChangedAccessGroup: shape({ access_group: text, model_names: listOf(text), models_updated: integer }),
  DeletedAccessGroup: shape({ access_group: text, models_updated: integer, message: text }),
  Guardrail: guardrail,
  Guardrails: shape({
    guardrails: listOf(reference('Guardrail')),
    not_in_use: described(
      'Stored ones that cannot be used, and why.',
      listOf(shape({ guardrail_id: text, guardrail_name: text, problem: text })),
    ),
  }),
  EffectiveConfiguration: shape({
    values: listOf(reference('EffectiveValue')),
    warnings: described('What the configuration has that is probably a mistake.', listOf(text)),
    about: shape({
      version: text,
      config_file: nullable(text),
      price_list: text,
      models: described('Deployments.', integer),
      ready: boolean,
      database: described(
        '`read-only`: it answers, and takes no changes.',
        oneOf('connected', 'read-only', 'disconnected'),
      ),
      redis: oneOf('connected', 'disconnected', 'not configured'),
      replicas: described('That share limits over Redis; null = not known, or no Redis.', nullable(integer)),
    }),
  }),
  EffectiveValue: shape({
    key: described('Its path in the file, or the name of the variable.', text),
    group: oneOf(...settingGroups),
    value: described('JSON. Secrets are `********`. null = not set, and without a default.', {}),
    source: oneOf('file', 'environment', 'flag', 'api', 'stored', 'default'),
    where: described('`config.yaml:12`, the name of a variable, or a flag.', nullable(text)),
    reference: described('The reference that stands in the file in its place.', nullable(text)),
    secret: boolean,
    description: text,
  }),
  GuardrailNames: shape({
    guardrails: listOf(shape({ guardrail_name: text, guardrail_info: anyObject, litellm_params: anyObject })),
  }),
  GuardrailUsers: shape({
    guardrail_name: text,
    default_on: described('It holds for every call.', boolean),
    models: described('Public names of models that demand it by themselves.', listOf(text)),
    keys: listOf(shape({ key_id: text, key_alias: nullable(text), team_id: nullable(text) })),
    teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
    has_more: described('There are more keys or teams than are listed: 200 of each.', boolean),
  }),
  DeletedGuardrail: shape({ guardrail_id: text, guardrail_name: text, deleted: constant(true) }),
  GuardrailTrial: shape({
    response_text: described('The sample as it would be sent; of one that is refused the sample itself.', text),
    verdict: oneOf(...verdicts),
    reason: nullable(text),
    found: described('Kind of what was found -> how often.', mapOf(integer)),
  }),
  DoneMessage: shape({ message: text }),
  ModelBlock: shape({ model_id: text, model_name: text, ...blockFacts }),
  StoredModel: shape(
    {
      model_id: described('The `x-proxy-model-id` of calls.', text),
      model_name: text,
      litellm_params: masked,
      proxy_params: described('The same as `litellm_params`.', anyObject),
      model_info: anyObject,
      blocked: described('It gets no calls.', boolean),
      ...changes,
    },
    { warnings },
  ),
}
