/** The audit log: one row for each change of a managed object, in the transaction of the change. */
import { randomUUIDv7 } from 'bun'
import type { SQL } from 'bun'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { AuditEntry } from '../../core/tenancy/tenancy.ts'
import type { AuditQuery, Page } from '../../core/tenancy/tenancy-store.ts'
import { toNumber } from '../database/open.ts'
import { assertChecked } from './acting.ts'
import { Where } from './where.ts'

type Values = AuditEntry['before']

/** A row of the audit log that is to be written. */
export interface NewAuditEntry extends Omit<AuditEntry, 'id'> {
  readonly actor: ChangeActor
}

/**
 * Writes the row of one change. `tx` = the transaction of the change. An update names only the fields that differ; one
 * without any difference has no row. Values must hold no secret. Throws where the caller of a request acts and was not
 * read anew in the transaction.
 */
export async function writeAudit(tx: SQL, entry: NewAuditEntry): Promise<void> {
  assertChecked(tx, entry.actor)
  const { atMs, actor, action, kind, objectId } = entry
  const [before, after] =
    entry.before && entry.after ? differing(entry.before, entry.after) : [entry.before, entry.after]
  if (before && after && Object.keys(after).length === 0) return
  await tx`insert into audit_log (id, at_ms, actor_id, actor_key, action, kind, object_id, before_value, after_value)
    values (${randomUUIDv7()}, ${atMs}, ${actor.id}, ${actor.keyHash}, ${action}, ${kind}, ${objectId},
      ${before && JSON.stringify(before)}, ${after && JSON.stringify(after)})`
}

/** Say nothing of a change: the row has its own time, and the version is that of the store. */
const stamps: ReadonlySet<string> = new Set(['revision', 'updated_at_ms', 'updated_by'])

function differing(
  before: NonNullable<Values>,
  after: NonNullable<Values>,
): [NonNullable<Values>, NonNullable<Values>] {
  const names = Object.keys(after).filter(
    name => !stamps.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const pick = (values: NonNullable<Values>) => Object.fromEntries(names.map(name => [name, values[name] ?? null]))
  return [pick(before), pick(after)]
}

interface Row {
  id: string
  at_ms: unknown
  actor_id: string
  actor_key: string
  action: AuditEntry['action']
  kind: string
  object_id: string
  before_value: string | null
  after_value: string | null
}

/** One page of the log, newest first. */
export async function listAudit(sql: SQL, query: AuditQuery): Promise<Page<AuditEntry>> {
  const where = new Where()
  where.equal('id', query.id)
  where.equal('actor_id', query.actorId)
  where.equal('action', query.action)
  where.equal('kind', query.kind)
  where.equal('object_id', query.objectId)
  where.compare('at_ms', '>=', query.fromMs)
  where.compare('at_ms', '<', query.toMs)
  const { rows, total } = await where.page<Row>(sql, 'audit_log', query, 'at_ms')
  return { total, items: rows.map(entryOf) }
}

function entryOf(row: Row): AuditEntry {
  const values = (text: string | null) => (text === null ? null : (JSON.parse(text) as Record<string, unknown>))
  return {
    id: row.id,
    atMs: toNumber(row.at_ms),
    actor: { id: row.actor_id, keyHash: row.actor_key },
    action: row.action,
    kind: row.kind,
    objectId: row.object_id,
    before: values(row.before_value),
    after: values(row.after_value),
  }
}
