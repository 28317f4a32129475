/** Credentials made by API: keys and addresses that models name. Values that are secret are never shown. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { maskedFields, secretMask, secretNamesOf } from '../../core/objects/configured-objects.ts'
import type { ConfiguredObject, ShownFileCredential } from '../../core/objects/configured-objects.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { Redactor } from '../../lib/redact.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  shape,
  text,
} from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { dateOf, masked, prepareChange } from '../common/configured-change.ts'
import { lazy } from '../../lib/lazy.ts'
import { noSuchModel } from '../common/answers.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'

const doneSchema = named('Done', () => shape({ success: constant(true), message: text }, { warnings: listOf(text) }))
/** As at LiteLLM, where a client sends both. */
const valuesUnused = 'credential_values: was passed over; `model_id` says that those of the model are stored'

const credentialSchema = named('Credential', () =>
  shape(
    {
      credential_name: text,
      credential_values: masked,
      credential_info: anyObject,
      source: described('It is `api`, or the place where it stands in the configuration file.', text),
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
)

const credentialListSchema = named('CredentialList', () =>
  shape({ success: boolean, credentials: listOf(credentialSchema) }),
)

const modelCredentialSchema = named('ModelCredential', () =>
  shape({ credential_name: text, credential_values: masked, credential_info: anyObject }),
)

const name = lazy(() => z.string().min(1).max(200))
const fields = lazy(() => z.record(z.string(), z.unknown()))

const newBody = lazy(() =>
  z
    .strictObject({
      credential_name: name(),
      credential_info: fields().nullish(),
      credential_values: fields().nullish(),
      model_id: z.string().nullish(),
    })
    .refine(body => body.credential_values != null || body.model_id != null, {
      path: ['credential_values'],
      message: 'give `credential_values`, or `model_id` for those of a model',
    }),
)

const updateBody = lazy(() =>
  z.strictObject({
    credential_name: name().nullish(),
    credential_info: fields().nullish(),
    credential_values: fields().nullish(),
    version: z.number().int().min(1).nullish(),
  }),
)

const tag = 'Credentials'
const done = (message: string): ValueOf<typeof doneSchema> => ({ success: true, message })

/** 409 for a name that is taken, also by the configuration file; 422 for values that no model can have. */
const credentialNew: Endpoint = withBody(newBody, {
  answer: doneSchema,
  paths: ['/credentials'],
  auth: 'admin',
  tag,
  operationId: 'createCredential',
  summary: 'Store a credential, encrypted',
  failures: [400, 403, 409],
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const { credential_name: given, credential_values: values, credential_info: info, model_id: model } = body
    const ofFile = services.checks.fileCredentials().find(one => one.name === given)
    if (ofFile)
      throw new GatewayError('conflict', `a credential of this name stands in ${ofFile.where}; choose another`, {
        param: 'credential_name',
      })
    await services.checks.readSecrets(values)
    const checked =
      model == null
        ? services.checks.checkCredential(values ?? {}, undefined)
        : services.checks.credentialOf(modelOf(services, model))
    const content = {
      kind: 'credential' as const,
      id: randomUUIDv7(),
      name: given,
      body: { values: checked.body, info: info ?? {} },
      secrets: checked.secrets,
    }
    await services.configured.insert(content, actorOf(caller))
    const isBoth = model != null && values != null
    return { ...done('Credential created successfully'), ...(isBoth && { warnings: [valuesUnused] }) }
  },
})

function modelOf(services: Services, id: string): ConfiguredObject {
  const found = services.configured.objects().find(one => one.kind === 'model' && one.id === id)
  if (found) return found
  throw new GatewayError(
    'invalid-request',
    `no model made by API has the id '${id.slice(0, 200)}'; GET /model/info lists all`,
    {
      param: 'model_id',
    },
  )
}

const credentialList: Endpoint = jsonEndpoint(credentialListSchema, {
  method: 'GET',
  paths: ['/credentials'],
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'listCredentials',
    summary: 'All credentials, without their secrets',
  },
  handle: (_request, services) => ({
    success: true,
    credentials: [...services.checks.fileCredentials().map(shownOfFile), ...stored(services).map(shown)],
  }),
})

const credentialByName: Endpoint = jsonEndpoint(credentialSchema, {
  method: 'GET',
  paths: ['/credentials/by_name/{credential_name+}'],
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'getCredential',
    summary: 'One credential, without its secrets',
  },
  handle(request, services) {
    const named = request.params.credential_name!
    const ofFile = services.checks.fileCredentials().find(one => one.name === named)
    return ofFile ? shownOfFile(ofFile) : shown(find(services, named))
  },
})

const addresses = new Redactor([])

/** What a deployment is reached with, whichever way it was configured. */
const credentialByModel: Endpoint = jsonEndpoint(modelCredentialSchema, {
  method: 'GET',
  paths: ['/credentials/by_model/{model_id+}'],
  auth: 'viewer',
  doc: {
    tag,
    operationId: 'getCredentialOfModel',
    summary: 'What a model is reached with',
  },
  handle({ params }, { current }) {
    const id = params.model_id!
    const found = current.settings.deployments.find(one => one.id === id)
    if (!found) throw noSuchModel(id)
    const { target, modelName } = found
    return {
      credential_name: `${modelName}-credential-${id}`,
      credential_values: { api_base: addresses.url(target.baseUrl), ...(target.apiKey && { api_key: secretMask }) },
      credential_info: {},
    }
  },
})

/** Values that are not sent stay, null takes one out. Models that name it use the new values from then on. */
const credentialUpdate: Endpoint = withBody(updateBody, {
  answer: doneSchema,
  method: 'PATCH',
  paths: ['/credentials/{credential_name+}'],
  auth: 'admin',
  tag,
  operationId: 'updateCredential',
  summary: 'Change a credential',
  failures: [400, 403, 409],
  async handle(body, { services, caller, request }) {
    await prepareChange(services)
    const before = find(services, request.params.credential_name!)
    if (body.credential_name != null && body.credential_name !== before.name)
      throw new GatewayError(
        'invalid-request',
        'the name of a credential cannot change, since models refer to it; leave it out',
        {
          param: 'credential_name',
        },
      )
    await services.checks.readSecrets(body.credential_values)
    const checked = services.checks.checkCredential(body.credential_values ?? {}, before)
    const { id, kind, name: kept } = before
    const content = {
      kind,
      id,
      name: kept,
      body: { values: checked.body, info: body.credential_info ?? before.body.info },
      secrets: checked.secrets,
      version: body.version ?? before.version,
    }
    await services.configured.update(content, actorOf(caller))
    return done('Credential updated successfully')
  },
})

/** 409 while a model names it: that model could not be served any more. */
const credentialDelete: Endpoint = jsonEndpoint(doneSchema, {
  method: 'DELETE',
  paths: ['/credentials/{credential_name+}'],
  auth: 'admin',
  doc: {
    tag,
    operationId: 'deleteCredential',
    summary: 'Delete a credential',
    failures: [400, 403, 409],
  },
  async handle(request, services, caller) {
    await prepareChange(services)
    const found = find(services, request.params.credential_name!)
    const users = services.configured
      .objects()
      .filter(one => (one.body.proxy_params as Record<string, unknown> | undefined)?.credential_name === found.name)
    if (users.length > 0)
      throw new GatewayError(
        'conflict',
        `${users.length} model(s) use this credential, as ${users[0]!.id} (${users[0]!.name}); change them first`,
        { param: 'credential_name' },
      )
    await services.configured.delete(found, actorOf(caller!))
    return done('Credential deleted successfully')
  },
})

/** Everything under /credentials. */
export const credentialEndpoints: readonly Endpoint[] = [
  credentialNew,
  credentialList,
  credentialByName,
  credentialByModel,
  credentialUpdate,
  credentialDelete,
]

const stored = ({ configured }: Services) => configured.objects().filter(one => one.kind === 'credential')

/** Throws `invalid-request` for one of the file, with its place, and `not-found`. */
function find(services: Services, named: string): ConfiguredObject {
  const found = stored(services).find(one => one.name === named)
  if (found) return found
  const ofFile = services.checks.fileCredentials().find(one => one.name === named)
  if (ofFile)
    throw new GatewayError('invalid-request', `this credential stands in ${ofFile.where}; change it there`, {
      param: 'credential_name',
    })
  throw new GatewayError('not-found', `there is no credential '${named.slice(0, 200)}'; GET /credentials lists them`, {
    param: 'credential_name',
  })
}

function shown(one: ConfiguredObject): ValueOf<typeof credentialSchema> {
  return {
    credential_name: one.name,
    credential_values: maskedFields(one.body.values as Record<string, unknown>, secretNamesOf(one.secrets)),
    credential_info: one.body.info as Record<string, unknown>,
    source: 'api',
    version: one.version,
    created_at: dateOf(one.createdAtMs),
    created_by: one.createdBy,
    updated_at: dateOf(one.updatedAtMs),
    updated_by: one.updatedBy,
    ...(one.problem !== undefined && { problem: one.problem }),
  }
}

function shownOfFile({
  name: given,
  info,
  values,
  secretNames,
  where,
}: ShownFileCredential): ValueOf<typeof credentialSchema> {
  return {
    credential_name: given,
    credential_values: maskedFields(values, secretNames),
    credential_info: info,
    source: where,
    version: null,
  }
}
