/** Sessions: one's own and those of others, listed and ended. */
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { mayReadAll } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import { managesAll, masterKeyId } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Session } from '../../core/sign-in/session.ts'
import type { SessionOwner } from '../../core/sign-in/sign-in.ts'
import { cursorField, forbidden, nextCursor, pageOf } from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { allowedOfGateway } from '../tenancy/common/allowed-actions.ts'
import { lazy } from '../../lib/lazy.ts'
import {
  boolean,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import { gatewayActions } from '../../core/tenancy/actions.ts'
import { dateOf } from '../common/configured-change.ts'

const method = described('It is `sso`, `password`, `master-key`, `device` or `key`.', text)
const membership = shape({ id: text, role: text })

const sessionSchema = named('Session', () =>
  shape({
    id: text,
    user_id: nullable(text),
    method,
    current: described('It is the session that asks.', boolean),
    created_at: dateTime,
    last_used_at: dateTime,
    idle_end: dateTime,
    expires_at: dateTime,
    user_agent: text,
    client_address: text,
  }),
)

const signInSessionSchema = named('SignInSession', () =>
  shape({
    user_id: nullable(text),
    email: nullable(text),
    alias: nullable(text),
    role: text,
    may: described('What the caller may do in the gateway as a whole.', listOf(oneOf(...gatewayActions))),
    teams: listOf(membership),
    organizations: listOf(membership),
    method,
    session: nullable(sessionSchema),
  }),
)

const sessionListSchema = named('SessionList', () =>
  shape({ sessions: listOf(sessionSchema), total: integer, next_cursor: nullable(text) }),
)

const revokedSessionsSchema = named('RevokedSessions', () => shape({ revoked: integer }))

const tag = 'Sign-in'
/** In the place of a user's id: the operator, who signed in without one. */
const operatorId = masterKeyId

const shown = (session: Session, caller: Caller) => ({
  id: session.id,
  user_id: session.userId,
  method: session.method,
  current: session.id === caller.session?.id,
  created_at: dateOf(session.createdAtMs),
  last_used_at: dateOf(session.lastUsedAtMs),
  idle_end: dateOf(session.idleEndMs),
  expires_at: dateOf(session.endMs),
  user_agent: session.userAgent,
  client_address: session.clientAddress,
})

/** Whose sessions a caller means; `mayOthers` = it has the right to those of other users. Throws 403. */
function ownerOf(caller: Caller, userId: string | undefined, mayOthers: boolean): SessionOwner {
  if (userId === undefined) return ownSessions(caller)
  if (mayOthers) return { userId: userId === operatorId ? null : userId }
  if (userId !== caller.session?.userId)
    throw forbidden('only administrators see and end the sessions of others', 'user_id')
  return ownSessions(caller)
}

/** Throws 403 for a caller that is not signed in. */
function ownSessions(caller: Caller): SessionOwner {
  if (!caller.session) throw forbidden('a key has no sessions; sign in, or name a `user_id` as an administrator')
  return caller.session
}

const whoAmI = withQuery(() => z.strictObject({}), {
  paths: ['/sign-in/session'],
  auth: 'key',
  tag,
  answer: signInSessionSchema,
  operationId: 'getSession',
  summary: 'Who calls: user, role, teams, and the session if there is one',
  async handle(_, { caller }) {
    const { user, key, role, session, memberships = [] } = caller
    const membershipsOf = (kind: 'team' | 'organization') =>
      memberships.filter(one => one.kind === kind).map(one => ({ id: one.groupId, role: one.role }))
    return {
      user_id: key.userId,
      email: user?.email ?? null,
      alias: user?.alias ?? null,
      role,
      may: await allowedOfGateway(caller),
      teams: membershipsOf('team'),
      organizations: membershipsOf('organization'),
      method: session?.method ?? 'key',
      session: session ? shown(session, caller) : null,
    }
  },
})

const listQuery = lazy(() =>
  z.strictObject({
    user_id: keyName().optional().describe("Absent = the caller's own; `master` = those of the operator."),
    all: z.stringbool().default(false).describe('Those of all users, for those who may read everything.'),
    limit: z.coerce.number().int().min(1).max(1000).default(100),
    cursor: cursorField(),
  }),
)

const list = withQuery(listQuery, {
  paths: ['/sign-in/sessions'],
  auth: 'key',
  tag,
  answer: sessionListSchema,
  operationId: 'listSessions',
  summary: 'Sessions that have not ended, newest first',
  failures: [403],
  async handle({ user_id: userId, all, limit, cursor }, { services, caller }) {
    const mayOther = mayReadAll(caller)
    if (all && !mayOther) throw forbidden('only administrators see the sessions of others', 'all')
    const owner = all ? undefined : ownerOf(caller, userId, mayOther)
    const { items, total } = await services.sessions.list(owner, pageOf(1, limit, cursor))
    return {
      sessions: items.map(session => shown(session, caller)),
      total,
      next_cursor: nextCursor(items, limit),
    }
  },
})

const revoke = withQuery(() => z.strictObject({}), {
  method: 'DELETE',
  paths: ['/sign-in/sessions/{id}'],
  auth: 'key',
  tag,
  answer: revokedSessionsSchema,
  operationId: 'revokeSession',
  summary: 'End one session, on every replica within a second',
  failures: [403, 404],
  async handle(_, { services, caller, request }) {
    const owner = managesAll(caller) ? undefined : ownSessions(caller)
    if (!(await services.sessions.revoke(request.params.id!, actorOf(caller), owner)))
      throw new GatewayError('not-found', 'there is no such session; GET /sign-in/sessions lists yours', {
        param: 'id',
      })
    return { revoked: 1 }
  },
})

const revokeAllBody = lazy(() =>
  z.strictObject({
    user_id: keyName().optional().describe("Absent = the caller's own; `master` = those of the operator."),
    keep_current: z.boolean().default(false).describe('All but the session that asks.'),
  }),
)

const revokeAll = withBody(revokeAllBody, {
  paths: ['/sign-in/sessions/revoke-all'],
  auth: 'key',
  tag,
  answer: revokedSessionsSchema,
  operationId: 'revokeSessions',
  summary: 'End all sessions of a user: sign out everywhere',
  failures: [403],
  async handle({ user_id: userId, keep_current: keep }, { services, caller }) {
    const owner = ownerOf(caller, userId, managesAll(caller))
    const exceptId = keep ? caller.session?.id : undefined
    return { revoked: await services.sessions.revokeAllOf(owner, actorOf(caller), exceptId) }
  },
})

/** Everything about sessions that have begun. */
export const sessionEndpoints: readonly Endpoint[] = [whoAmI, list, revoke, revokeAll]
