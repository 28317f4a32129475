/** What was said in calls, where it is stored: read and deleted by those whose calls they are, and administrators. */
import { z } from 'zod'
import { actorOf } from '../../accounts/actor.ts'
import { keyName } from '../../accounts/fields/spending-fields.ts'
import type { BodiesOf, FoundBodies, StoredBody } from '../../core/ledger/call-bodies.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { VisibleUsage } from '../../core/ledger/usage-report.ts'
import { lazy } from '../../lib/lazy.ts'
import { visibleUsage } from './common/access.ts'
import { forbidden } from '../common/answers.ts'
import { withQuery } from '../common/json-endpoint.ts'

const one = '/spend/logs/{request_id}/bodies'
const nothing = lazy(() => z.strictObject({}))

/** Whose calls' bodies the caller reads; undefined = all. Throws 403 for those who read none. */
function readable({ current }: Services, caller: Caller): VisibleUsage | undefined {
  // Calls with a derived key are read by those who derived it; the other calls of its parent are not its own.
  if (caller.derived && caller.derived.length > 0)
    throw forbidden('a derived key reads no bodies of calls; use the key it was made from')
  if (current.settings.bodies.readers === 'proxy_admins' && caller.role !== 'proxy_admin')
    throw forbidden('only administrators read and delete the bodies of calls (`stored_bodies_readers`)')
  return visibleUsage(caller)
}

/** The same, without viewers. */
function deletable(services: Services, caller: Caller): VisibleUsage | undefined {
  if (caller.role.endsWith('viewer')) throw forbidden('viewers delete nothing')
  return readable(services, caller)
}

const isOwn = ({ keyId, userId }: FoundBodies, { key, user }: Caller): boolean =>
  keyId === key.id || (user !== undefined && userId === user.id)

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
  answer: 'CallBodies',
  operationId: 'getCallBodies',
  summary:
    'The request and the answer of a call, where they are stored; administrators who read those of others are audited',
  failures: [403, 404],
  async handle(_, { services, caller, request }) {
    const requestId = request.params.request_id!
    const found = await services.bodies.find(requestId, readable(services, caller))
    if (!found) throw missing()
    if (!isOwn(found, caller)) await services.bodies.note('read', { requestId }, actorOf(caller))
    return shown(found)
  },
})

const remove = withQuery(nothing, {
  method: 'DELETE',
  paths: [one],
  auth: 'key',
  tag: 'Spend',
  answer: 'DeletedBodies',
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
      key_id: keyName().optional().describe('Of calls with this key (`token_id`).'),
      user_id: keyName().optional().describe('Of calls with keys of this user.'),
      team_id: keyName().optional().describe('Of calls with keys of this team.'),
    }),
  ),
  {
    method: 'DELETE',
    paths: ['/spend/logs/bodies'],
    auth: 'key',
    tag: 'Spend',
    answer: 'DeletedBodies',
    operationId: 'deleteAllCallBodies',
    summary: 'Delete the stored requests and answers of a key, a user or a team, as far as the caller may see them',
    failures: [403],
    async handle({ key_id: keyId, user_id: userId, team_id: teamId }, { services, caller }) {
      const asked = [
        keyId !== undefined && { keyId },
        userId !== undefined && { userId },
        teamId !== undefined && { teamId },
      ]
      const given = asked.filter((of): of is Exclude<BodiesOf, { requestId: string }> => of !== false)
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
export const callBodyEndpoints: readonly Endpoint[] = [read, remove, removeAll]
