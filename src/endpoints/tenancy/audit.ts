/** The audit log: who changed what, and when. */
import { z } from 'zod'
import { keyName, moment } from '../../access/fields/checks.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { auditActions } from '../../core/tenancy/tenancy.ts'
import type { AuditEntry } from '../../core/tenancy/tenancy.ts'
import { pageQueryFields, pageFields, pageFieldSchemas, pageOf } from '../common/answers.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { anyObject, dateTime, described, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

const auditEntrySchema = named('AuditEntry', () =>
  shape({
    id: text,
    updated_at: dateTime,
    changed_by: described('The user who changed it, or the key where it has none.', text),
    changed_by_api_key: described('The hash of the key that has changed it, `master` or `cli`.', text),
    action: text,
    table_name: text,
    object_id: text,
    before_value: nullable(anyObject),
    updated_values: nullable(anyObject),
  }),
)

const shown = (entry: AuditEntry): ValueOf<typeof auditEntrySchema> => ({
  id: entry.id,
  updated_at: new Date(entry.atMs).toISOString(),
  changed_by: entry.actor.id,
  changed_by_api_key: entry.actor.keyHash,
  action: entry.action,
  table_name: entry.kind,
  object_id: entry.objectId,
  before_value: entry.before,
  updated_values: entry.after,
})

const listQuery = lazy(() =>
  z.strictObject({
    ...pageQueryFields({ most: 100, usual: 10 }),
    changed_by: keyName().optional(),
    action: z.enum(auditActions).optional(),
    table_name: keyName().optional().describe('What was changed: it is `key`, `team`, `team_member`, `user`, ...'),
    object_id: keyName().optional(),
    start_date: moment().optional().describe('Entries from this moment on are listed.'),
    end_date: moment().optional().describe('Entries before this moment are listed.'),
  }),
)

const auditList = withQuery(listQuery, {
  paths: ['/audit'],
  auth: 'viewer',
  tag: 'Audit',
  answer: named('AuditLog', () => shape({ audit_logs: listOf(auditEntrySchema), ...pageFieldSchemas })),
  operationId: 'listAuditLog',
  summary: 'Changes of keys, teams, users and the like, newest first',
  async handle(query, { services }) {
    const { page, page_size: size } = query
    const { items, total } = await services.tenancy.audit({
      actorId: query.changed_by,
      action: query.action,
      kind: query.table_name,
      objectId: query.object_id,
      fromMs: query.start_date,
      toMs: query.end_date,
      ...pageOf(page, size, query.cursor),
    })
    const stamps = items.map(({ id, atMs }) => ({ id, createdAtMs: atMs }))
    return {
      audit_logs: items.map(shown),
      ...pageFields({ items: stamps, total }, page, size),
    }
  },
})

const auditOne = withQuery(() => z.strictObject({}), {
  paths: ['/audit/{id}'],
  auth: 'viewer',
  tag: 'Audit',
  answer: auditEntrySchema,
  operationId: 'getAuditEntry',
  summary: 'One change',
  failures: [404],
  async handle(_, { services, request }) {
    const { items } = await services.tenancy.audit({ id: request.params.id!, limit: 1 })
    if (items[0]) return shown(items[0])
    throw new GatewayError('not-found', 'there is no such entry in the audit log; GET /audit lists them', {
      param: 'id',
    })
  },
})

/** Everything under `/audit`. */
export const auditEndpoints: readonly Endpoint[] = [auditList, auditOne]
