/** What was said in calls, where it is stored: read and deleted by those whose calls they are, and administrators. */
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import type { BodiesOf, FoundBodies, StoredBody } from '../../core/ledger/stored-bodies.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { VisibleUsage } from '../../core/ledger/usage-report.ts'
import { jsonOrText } from '../../lib/json/json-values.ts'
import { lazy } from '../../lib/lazy.ts'
import { visibleUsage } from './common/access.ts'
import { forbidden } from '../common/answers.ts'
import { rangeOf, spanFields } from '../common/date-span.ts'
import { withQuery } from '../common/json-endpoint.ts'
import {
  anyObject,
  anything,
  boolean,
  described,
  either,
  integer,
  named,
  nullable,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import type { Schema } from '../openapi/schema.ts'
import { shownRowSchema } from './spend-logs.ts'

const nothingStored: Schema<null> = { type: 'null' }

const side = {
  text,
  content_type: text,
  bytes: nullable(integer),
  cut: boolean,
  omitted: nullable(oneOf('binary', 'masked')),
}

const callBodiesSchema = named('CallBodies', () =>
  shape({
    request_id: text,
    key_id: text,
    user_id: nullable(text),
    team_id: nullable(text),
    organization_id: nullable(text),
    request: either(shape({ ...side, headers: anyObject, changed_by_policies: boolean }), nothingStored),
    response: either(shape({ ...side, status: integer, streamed: boolean }), nothingStored),
    problem: nullable(text),
  }),
)

const deletedBodiesSchema = named('DeletedBodies', () => shape({ deleted: integer }))

const spendLogDetailSchema = named('SpendLogDetail', () => ({
  ...shownRowSchema,
  properties: {
    ...shownRowSchema.properties,
    messages: described("The request's; null = it has none, or is not stored.", anything),
    response: described('JSON, also of a stream, or the text of another answer; null = it is not stored.', anything),
    proxy_server_request: nullable(shape({ body: anything, headers: anyObject })),
  },
  required: [...shownRowSchema.required, 'messages', 'response', 'proxy_server_request'],
}))

const one = '/spend/logs/{request_id}/bodies'
const nothing = lazy(() => z.strictObject({}))

/** Why the caller reads no bodies of calls. */
function refusal({ current }: Services, caller: Caller): string | undefined {
  // Calls with a derived key are read by those who derived it; the other calls of its parent are not its own.
  if (caller.derived && caller.derived.length > 0)
    return 'a derived key reads no bodies of calls; use the key it was made from'
  if (current.settings.bodies.readers === 'proxy_admins' && caller.role !== 'proxy_admin')
    return 'only administrators read and delete the bodies of calls (`stored_bodies_readers`)'
  return undefined
}

/** Whose calls' bodies the caller reads; undefined = all. Throws 403 for those who read none. */
function readable(services: Services, caller: Caller): VisibleUsage | undefined {
  const refused = refusal(services, caller)
  if (refused !== undefined) throw forbidden(refused)
  return visibleUsage(caller)
}

/** The same, without viewers and keys that are kept from managing. */
function deletable(services: Services, caller: Caller): VisibleUsage | undefined {
  if (caller.role.endsWith('viewer')) throw forbidden('viewers delete nothing')
  if (caller.restriction !== undefined)
    throw forbidden(`a key with a restriction of its own (${caller.restriction}) deletes nothing that was stored`)
  return readable(services, caller)
}

/** Not with a text that another gave the key of its user. */
const isOwn = ({ keyId, userId }: FoundBodies, { key, user }: Caller): boolean =>
  key.objectsOwner === null && (keyId === key.id || (user !== undefined && userId === user.id))

const missing = (): GatewayError =>
  new GatewayError('not-found', 'nothing that was said in this call is stored, or it is not yours', {
    param: 'request_id',
    code: 'bodies_not_found',
  })

const shownSide = ({ text, contentType, bytes, isCut, omitted }: StoredBody) => ({
  text,
  content_type: contentType,
  bytes,
  cut: isCut,
  omitted: omitted ?? null,
})

function shown({ requestId, keyId, userId, teamId, organizationId, said, problem }: FoundBodies) {
  return {
    request_id: requestId,
    key_id: keyId,
    user_id: userId,
    team_id: teamId,
    organization_id: organizationId,
    request: said && {
      ...shownSide(said.request),
      headers: said.request.headers,
      changed_by_policies: said.request.isChanged,
    },
    response: said?.answer
      ? { ...shownSide(said.answer), status: said.answer.status, streamed: said.answer.isStream }
      : null,
    problem: problem ?? null,
  }
}

const read = withQuery(nothing, {
  paths: [one],
  auth: 'key',
  tag: 'Spend',
  answer: callBodiesSchema,
  operationId: 'getCallBodies',
  summary:
    'The request and the answer of a call, where they are stored; administrators who read those of others are audited',
  failures: [403, 404],
  async handle(_, { services, caller, request }) {
    const found = await findBodies(services, caller, request.params.request_id!)
    if (!found) throw missing()
    return shown(found)
  },
})

/** Those that the caller may read; audited where they are another's. Throws 403 for those who read none. */
async function findBodies(services: Services, caller: Caller, requestId: string): Promise<FoundBodies | undefined> {
  const found = await services.bodies.find(requestId, readable(services, caller))
  if (found && !isOwn(found, caller)) await services.bodies.note('read', { requestId }, actorOf(caller))
  return found
}

/** A body as LiteLLM's pages read it: JSON, or the text where it is none; null = it is not stored. */
function parsed(side: StoredBody | null | undefined): unknown {
  return !side || side.omitted !== undefined ? null : jsonOrText(side.text)
}

/** LiteLLM's detail of a row: the row, and what was said where it is stored and the caller may read it. */
const detail = withQuery(
  lazy(() => z.strictObject(spanFields())),
  {
    paths: ['/spend/logs/ui/{request_id}'],
    auth: 'key',
    tag: 'Spend',
    answer: spendLogDetailSchema,
    operationId: 'getSpendLog',
    summary: "One row of the ledger with its request and answer, where they are stored, under LiteLLM's names",
    failures: [404],
    async handle(query, { services, caller, request }) {
      const requestId = request.params.request_id!
      const { fromMs, toMs } = rangeOf(query)
      const { rows } = await services.ledger.shown({
        visible: visibleUsage(caller),
        requestId,
        limit: 1,
        ...(fromMs !== undefined && { fromMs }),
        ...(toMs !== undefined && { toMs }),
      })
      if (rows.length === 0)
        throw new GatewayError('not-found', 'there is no such call in the ledger, or it is not yours', {
          param: 'request_id',
        })
      const row = JSON.parse(Buffer.from(rows).toString()) as object
      const found = refusal(services, caller) === undefined && (await findBodies(services, caller, requestId))
      const said = found ? found.said : undefined
      const body = parsed(said?.request)
      const { messages = null } = typeof body === 'object' && body !== null ? (body as { messages?: unknown }) : {}
      return {
        ...row,
        messages,
        response: parsed(said?.answer),
        proxy_server_request: said ? { body, headers: said.request.headers } : null,
      }
    },
  },
)

const remove = withQuery(nothing, {
  method: 'DELETE',
  paths: [one],
  auth: 'key',
  tag: 'Spend',
  answer: deletedBodiesSchema,
  operationId: 'deleteCallBodies',
  summary: 'Delete the stored request and answer of a call; its row in the ledger stays',
  failures: [403, 404],
  async handle(_, { services, caller, request }) {
    const of = { requestId: request.params.request_id! }
    const visible = deletable(services, caller)
    if (!(await services.bodies.find(of.requestId, visible))) throw missing()
    await services.bodies.note('deleted', of, actorOf(caller))
    return { deleted: await services.bodies.delete(of, visible) }
  },
})

const removeAll = withQuery(
  lazy(() =>
    z.strictObject({
      key_id: keyName().optional().describe('What was said with this key (`token_id`) is deleted.'),
      user_id: keyName().optional().describe('What was said with keys of this user is deleted.'),
      team_id: keyName().optional().describe('What was said with keys of this team is deleted.'),
    }),
  ),
  {
    method: 'DELETE',
    paths: ['/spend/logs/bodies'],
    auth: 'key',
    tag: 'Spend',
    answer: deletedBodiesSchema,
    operationId: 'deleteAllCallBodies',
    summary: 'Delete the stored requests and answers of a key, a user or a team, as far as the caller may see them',
    failures: [403],
    async handle({ key_id: keyId, user_id: userId, team_id: teamId }, { services, caller }) {
      const scopes = [
        keyId !== undefined && { keyId },
        userId !== undefined && { userId },
        teamId !== undefined && { teamId },
      ]
      const given = scopes.filter((of): of is Exclude<BodiesOf, { requestId: string }> => of !== false)
      const [of] = given
      if (!of || given.length > 1)
        throw unprocessable([{ loc: ['query'], msg: 'send one of key_id, user_id and team_id', type: 'missing' }])
      const visible = deletable(services, caller)
      await services.bodies.note('deleted', of, actorOf(caller))
      return { deleted: await services.bodies.delete(of, visible) }
    },
  },
)

/** Everything about stored bodies. */
export const callBodyEndpoints: readonly Endpoint[] = [read, detail, remove, removeAll]
