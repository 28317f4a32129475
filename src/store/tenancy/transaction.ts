/** One transaction on tenancy: each change gets its revision and its row in the audit log. */
import type { SQL } from 'bun'
import { rotateBy } from '../../access/key-rotation.ts'
import { GatewayError } from '../../core/errors.ts'
import type { IdentityLink, IdentityRemoval, NamedIdentity } from '../../core/sign-in/identity-providers.ts'
import type { KeyChanges, KeyRecord } from '../../core/tenancy/keys.ts'
import { isBuiltInActorId } from '../../core/tenancy/actors.ts'
import { membershipsMax } from '../../core/tenancy/tenancy.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { AuditEntry, Membership, TenantKind, Tenants } from '../../core/tenancy/tenancy.ts'
import type {
  KeyUpdateOptions,
  MembershipQuery,
  NewKey,
  NewTenant,
  SpendReset,
  TenancyReader,
  TenancyTransaction,
  TenantChanges,
  TenantCondition,
} from '../../core/tenancy/tenancy-store.ts'
import { toNumber } from '../database/open.ts'
import { checkQuota } from '../keys/keys.ts'
import { deleteConversationsOf } from '../objects/conversations.ts'
import { deletePasswordLinksOf, deletePasswordOfUser } from '../sign-in/password-rows.ts'
import { endSessionsOfUser } from '../sign-in/sessions.ts'
import { writeAudit } from './audit.ts'
import { keySubject, membershipSubject, nextRevision, noteChange, tenantSubject } from './changes.ts'
import type { Subject } from './changes.ts'
import { deleteLinksOf, insertLink } from './identity-links.ts'
import { endRemoval, endRemovalsOf, keepRemoval } from './identity-removals.ts'
import { keyColumns, membershipColumns, tenantColumns, tenantTables, toRecord, toRow } from './columns.ts'
import type { Columns, Row } from './columns.ts'
import { createReader } from './reader.ts'
import { carrySpendOf, resetSpendOf } from './spend.ts'
import { Where } from './where.ts'

/** Deleting a group with more keys would hold the lock, and with it every other change, for seconds. */
const keysDeletedMax = 1000

/** How requests name the id, where not after the kind. */
const idFields: Partial<Record<TenantKind, string>> = { customer: 'user_id', tag: 'name' }

/** To be used under the lock on the revision alone. */
export class SqlTransaction implements TenancyTransaction {
  readonly changed: Subject[] = []
  /** The newest of its changes; no change of another process lies between its revisions. */
  revision = 0
  readonly nowMs: number
  readonly #tx: SQL
  readonly #actor: ChangeActor
  readonly #reader: TenancyReader

  constructor(tx: SQL, actor: ChangeActor, nowMs: number) {
    this.#tx = tx
    this.#actor = actor
    this.nowMs = nowMs
    this.#reader = createReader(tx)
  }

  find<Kind extends TenantKind>(kind: Kind, id: string): Promise<Tenants[Kind] | undefined> {
    return this.#reader.find(kind, id)
  }

  findAll<Kind extends TenantKind>(kind: Kind, ids: readonly string[]): Promise<Tenants[Kind][]> {
    return this.#reader.findAll(kind, ids)
  }

  isUnused(kind: TenantKind): Promise<boolean> {
    return this.#reader.isUnused(kind)
  }

  usersByEmail(email: string): Promise<Tenants['user'][]> {
    return this.#reader.usersByEmail(email)
  }

  search<Kind extends 'user' | 'team'>(
    kind: Kind,
    condition: TenantCondition,
    limit: number,
  ): Promise<Tenants[Kind][]> {
    return this.#reader.search(kind, condition, limit)
  }

  usersBySsoId(ssoUserId: string): Promise<Tenants['user'][]> {
    return this.#reader.usersBySsoId(ssoUserId)
  }

  identityLink(of: Pick<IdentityLink, 'issuer' | 'subject'>): Promise<IdentityLink | undefined> {
    return this.#reader.identityLink(of)
  }

  identityLinksOf(userId: string): Promise<IdentityLink[]> {
    return this.#reader.identityLinksOf(userId)
  }

  hasPassword(userId: string): Promise<boolean> {
    return this.#reader.hasPassword(userId)
  }

  identityRemoval(of: NamedIdentity): Promise<IdentityRemoval | undefined> {
    return this.#reader.identityRemoval(of)
  }

  memberships(of: MembershipQuery): Promise<Membership[]> {
    return this.#reader.memberships(of)
  }

  membersRevisions(teamIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#reader.membersRevisions(teamIds)
  }

  findKey(by: { hash: string } | { id: string } | { alias: string }): Promise<KeyRecord | undefined> {
    return this.#reader.findKey(by)
  }

  findKeyOfText(hash: string): Promise<KeyRecord | undefined> {
    return this.#reader.findKeyOfText(hash)
  }

  async insert<Kind extends TenantKind>(kind: Kind, record: NewTenant<Kind>): Promise<Tenants[Kind]> {
    if (kind === 'user' && isBuiltInActorId(record.id))
      throw new GatewayError(
        'invalid-request',
        `'${record.id.slice(0, 100)}' names a part of the gateway in the audit log; choose another id`,
        { param: 'user_id' },
      )
    if (await this.find(kind, record.id))
      throw new GatewayError(
        'conflict',
        `a ${kind} with the id '${record.id.slice(0, 100)}' exists already; choose another`,
        {
          param: idFields[kind] ?? `${kind}_id`,
        },
      )
    const version = await this.#note(tenantSubject(kind, record.id))
    const made = { ...record, version, ...this.#stamps() } as unknown as Tenants[Kind]
    const row = toRow(columnsOf(kind), made)
    await this.#tx`insert into ${this.#tx(tenantTables[kind])} ${this.#tx(row)}`
    await this.#audit('created', { kind, objectId: record.id, before: null, after: row })
    return made
  }

  update<Kind extends TenantKind>(
    kind: Kind,
    id: string,
    changes: TenantChanges<Kind>,
    version?: number,
  ): Promise<Tenants[Kind]> {
    return this.#update(kind, id, changes, { version })
  }

  async #update<Kind extends TenantKind>(
    kind: Kind,
    id: string,
    changes: TenantChanges<Kind>,
    { version, action }: { readonly version?: number | undefined; readonly action?: AuditEntry['action'] },
  ): Promise<Tenants[Kind]> {
    const before = await this.#existing(kind, id)
    checkVersion(before.version, version)
    const columns = columnsOf(kind)
    const revision = await this.#note(tenantSubject(kind, id))
    const after = { ...before, ...changes, version: revision, updatedAtMs: this.nowMs, updatedBy: this.#actor.id }
    // When the user is let in again, its sessions of before are not.
    if (kind === 'user' && after.blocked && !before.blocked)
      await endSessionsOfUser(this.#tx, id, { actor: this.#actor, nowMs: this.nowMs })
    // The directory may give the name, and with it the account, to another person.
    if (isRemoved(kind, after) && !isRemoved(kind, before)) {
      await keepRemoval(this.#tx, before as Tenants['user'], this.nowMs)
      await deletePasswordOfUser(this.#tx, id)
      await deleteConversationsOf(this.#tx, { userId: id })
    }
    if (isRemoved(kind, before) && !isRemoved(kind, after) && !isOfAnother(kind, before, after))
      await endRemovalsOf(this.#tx, id)
    if (isReachedOtherwise(kind, before, after)) await deletePasswordLinksOf(this.#tx, id)
    if (isOfAnother(kind, before, after)) {
      await deleteLinksOf(this.#tx, id)
      await endSessionsOfUser(this.#tx, id, { actor: this.#actor, nowMs: this.nowMs })
    }
    const row = toRow(columns, after)
    await this.#tx`update ${this.#tx(tenantTables[kind])} set ${this.#tx(row)} where id = ${id}`
    await this.#audit(action ?? actionOf(before, after), {
      kind,
      objectId: id,
      before: toRow(columns, before),
      after: row,
    })
    return after
  }

  async delete<Kind extends TenantKind>(kind: Kind, id: string): Promise<Tenants[Kind]> {
    const before = await this.#existing(kind, id)
    if (kind === 'budget') await this.#checkUnused(id)
    if (kind === 'organization') await this.#deleteTeamsOf(id)
    if (kind === 'organization' || kind === 'team' || kind === 'user') {
      await this.#deleteKeysOf({ [`${kind}_id`]: id })
      const group = kind === 'team' ? 'team' : 'organization'
      const of: MembershipQuery = kind === 'user' ? { userId: id } : { kind: group, groupId: id }
      for (const membership of await this.memberships(of)) await this.deleteMembership(membership)
    }
    if (kind === 'user') {
      await endSessionsOfUser(this.#tx, id, { actor: this.#actor, nowMs: this.nowMs })
      await deletePasswordOfUser(this.#tx, id)
      await keepRemoval(this.#tx, before as Tenants['user'], this.nowMs)
      await deleteLinksOf(this.#tx, id)
      await deleteConversationsOf(this.#tx, { userId: id })
    }
    await this.#note(tenantSubject(kind, id))
    await this.#tx`delete from ${this.#tx(tenantTables[kind])} where id = ${id}`
    await this.#audit('deleted', { kind, objectId: id, before: toRow(columnsOf(kind), before), after: null })
    return before
  }

  async putMembership(membership: Omit<Membership, 'createdAtMs'>): Promise<Membership> {
    const { kind, groupId, userId } = membership
    const own = await this.memberships({ userId })
    const before = own.find(one => one.kind === kind && one.groupId === groupId)
    if (!before && own.length >= membershipsMax)
      throw new GatewayError('conflict', `a user may be in ${membershipsMax} teams and organizations, and is`, {
        param: 'user_id',
      })
    const after: Membership = { ...membership, createdAtMs: before?.createdAtMs ?? this.nowMs }
    await this.#noteMembership(after)
    const row = toRow(membershipColumns, after)
    await this.#tx`delete from memberships where kind = ${kind} and group_id = ${groupId} and user_id = ${userId}`
    await this.#tx`insert into memberships ${this.#tx(row)}`
    await this.#auditMembership(before, after)
    return after
  }

  async deleteMembership(of: Pick<Membership, 'kind' | 'groupId' | 'userId'>): Promise<boolean> {
    const { kind, groupId, userId } = of
    const rows = (await this.#tx`
      delete from memberships where kind = ${kind} and group_id = ${groupId} and user_id = ${userId}
      returning *`) as Row[]
    if (!rows[0]) return false
    if (kind === 'team') await this.#deleteKeysOf({ team_id: groupId, user_id: userId })
    await this.#noteMembership(of)
    await this.#auditMembership(toRecord(membershipColumns, rows[0]), undefined)
    return true
  }

  async linkIdentity(of: NamedIdentity, userId: string): Promise<IdentityLink> {
    const { issuer, subject } = of
    const made = { issuer, subject, userId, createdAtMs: this.nowMs }
    await insertLink(this.#tx, made)
    await endRemoval(this.#tx, of)
    await this.#audit('created', { kind: 'identity_link', objectId: userId, before: null, after: { issuer, subject } })
    return made
  }

  async insertKey(record: NewKey, keysOfUserMax: number | null = null): Promise<KeyRecord> {
    const version = await this.#nextRevision()
    await checkQuota(this.#tx, record.userId, { keysOfUserMax, nowMs: this.nowMs })
    const dated = { ...record, textSinceMs: this.nowMs }
    const made: KeyRecord = { ...dated, rotateByMs: rotateBy(dated), version, ...this.#stamps() }
    const row = toRow(keyColumns, made)
    await this.#tx`insert into virtual_keys ${this.#tx({ ...row, deleted_at_ms: null })}`
    this.changed.push(keySubject(made.hash))
    await this.#audit('created', { kind: 'key', objectId: made.id, before: null, after: row })
    return made
  }

  async updateKey(id: string, changes: KeyChanges, options: KeyUpdateOptions = {}): Promise<KeyRecord> {
    const { keysOfUserMax = null, version, hashBefore } = options
    const before = await this.#existingKey(id)
    checkVersion(before.version, version)
    if (hashBefore !== undefined && hashBefore !== before.hash)
      throw new GatewayError('conflict', 'the key was given another text meanwhile; read it again', { param: 'key' })
    const changed: KeyRecord = { ...before, ...changes }
    // A new text is young.
    const isNew = before.hash !== changed.hash
    const dated = { ...changed, textSinceMs: isNew ? this.nowMs : (before.textSinceMs ?? before.createdAtMs) }
    const after: KeyRecord = {
      ...dated,
      rotateByMs: rotateBy(dated),
      version: await this.#nextRevision(),
      updatedAtMs: this.nowMs,
      updatedBy: this.#actor.id,
    }
    const counted = before.userId === after.userId && !hasExpired(before, this.nowMs)
    // An expired key counts when its time is extended, not when it only gets another user.
    if (!counted && !hasExpired(after, this.nowMs))
      await checkQuota(this.#tx, after.userId, { keysOfUserMax, nowMs: this.nowMs })
    const row = toRow(keyColumns, after)
    await this.#tx`update virtual_keys set ${this.#tx(row)} where id = ${id}`
    this.changed.push(keySubject(after.hash))
    // Its text was replaced: other processes have to drop the one before.
    if (isNew) await this.#note(keySubject(before.hash))
    const action = options.action ?? actionOf(before, after)
    await this.#audit(action, { kind: 'key', objectId: id, before: toRow(keyColumns, before), after: row })
    return after
  }

  async resetSpend(kind: 'key' | 'team', id: string, toNanoUsd: bigint): Promise<SpendReset> {
    const { reset, offsetNanoUsd } = await resetSpendOf(this.#tx, { kind, id, toNanoUsd, atMs: this.nowMs })
    const changes = { spendResetAtMs: this.nowMs, spendOffsetNanoUsd: offsetNanoUsd }
    if (kind === 'key') await this.updateKey(id, changes, { action: 'spend-reset' })
    else await this.#update('team', id, changes, { action: 'spend-reset' })
    return reset
  }

  async carrySpend(kind: 'key' | 'team' | 'user', id: string, nanoUsd: bigint): Promise<void> {
    const spendOffsetNanoUsd = await carrySpendOf(this.#tx, { kind, id, nanoUsd, atMs: this.nowMs })
    const changes = { spendResetAtMs: this.nowMs, spendOffsetNanoUsd }
    if (kind === 'key') await this.updateKey(id, changes)
    else await this.update(kind, id, changes)
  }

  async deleteKey(id: string): Promise<KeyRecord> {
    const before = await this.#existingKey(id)
    const revision = await this.#nextRevision()
    await this.#tx`update virtual_keys set deleted_at_ms = ${this.nowMs}, revision = ${revision} where id = ${id}`
    for (const keyId of [id, before.objectsOwner, before.formerObjectsOwner])
      if (keyId !== null) await deleteConversationsOf(this.#tx, { keyId })
    this.changed.push(keySubject(before.hash))
    await this.#audit('deleted', { kind: 'key', objectId: id, before: toRow(keyColumns, before), after: null })
    return before
  }

  async #note(subject: Subject): Promise<number> {
    this.changed.push(subject)
    return (this.revision = await noteChange(this.#tx, subject))
  }

  async #nextRevision(): Promise<number> {
    return (this.revision = await nextRevision(this.#tx))
  }

  /** The team is as it was for its keys, but has another version for directories. */
  async #noteMembership(of: Pick<Membership, 'kind' | 'groupId' | 'userId'>): Promise<void> {
    const revision = await this.#note(membershipSubject(of))
    if (of.kind === 'team') await this.#tx`update teams set members_revision = ${revision} where id = ${of.groupId}`
  }

  #stamps() {
    const { nowMs } = this
    const { id } = this.#actor
    return { createdAtMs: nowMs, createdBy: id, updatedAtMs: nowMs, updatedBy: id }
  }

  #audit(
    action: AuditEntry['action'],
    change: Pick<AuditEntry, 'kind' | 'objectId' | 'before' | 'after'>,
  ): Promise<void> {
    return writeAudit(this.#tx, { atMs: this.nowMs, actor: this.#actor, action, ...change })
  }

  #auditMembership(before: Membership | undefined, after: Membership | undefined): Promise<void> {
    const { kind, groupId, userId } = (after ?? before)!
    return this.#audit(before ? (after ? 'updated' : 'deleted') : 'created', {
      kind: `${kind}_member`,
      objectId: `${groupId}/${userId}`,
      before: before ? toRow(membershipColumns, before) : null,
      after: after ? toRow(membershipColumns, after) : null,
    })
  }

  async #existing<Kind extends TenantKind>(kind: Kind, id: string): Promise<Tenants[Kind]> {
    const found = await this.find(kind, id)
    if (!found)
      throw new GatewayError('not-found', `there is no ${kind} '${id.slice(0, 100)}'`, { param: `${kind}_id` })
    return found
  }

  async #existingKey(id: string): Promise<KeyRecord> {
    const found = await this.findKey({ id })
    if (!found) throw new GatewayError('not-found', 'no such key', { param: 'key' })
    return found
  }

  async #deleteTeamsOf(organizationId: string): Promise<void> {
    const teams = (await this.#tx`select id from teams where organization_id = ${organizationId}`) as { id: string }[]
    for (const { id } of teams) await this.delete('team', id)
  }

  /** The keys of an organization, a team, a user, or of a user in a team. */
  async #deleteKeysOf(of: Readonly<Partial<Record<'organization_id' | 'team_id' | 'user_id', string>>>): Promise<void> {
    const where = new Where()
    where.raw('deleted_at_ms is null')
    for (const [column, id] of Object.entries(of)) where.equal(column, id)
    const order = `limit ${keysDeletedMax + 1}`
    const rows = await where.select<{ id: string }>(this.#tx, 'virtual_keys', order)
    if (rows.length > keysDeletedMax)
      throw new GatewayError(
        'conflict',
        `more than ${keysDeletedMax} keys would be deleted with it; delete keys first, ${keysDeletedMax} at a time`,
        { param: Object.keys(of)[0] },
      )
    for (const row of rows) await this.deleteKey(row.id)
  }

  /** Without it, what it limits would be unlimited. */
  async #checkUnused(budgetId: string): Promise<void> {
    const parts = ['organizations', 'teams', 'users', 'customers', 'tags', 'memberships'].map(
      table => `select count(*) as total from ${table} where budget_id = $1`,
    )
    let total = 0
    for (const text of [
      ...parts,
      'select count(*) as total from virtual_keys where budget_id = $1 and deleted_at_ms is null',
    ])
      total += toNumber(((await this.#tx.unsafe(text, [budgetId])) as { total: unknown }[])[0]!.total)
    if (total > 0)
      throw new GatewayError(
        'conflict',
        `${total} object(s) use the budget '${budgetId.slice(0, 100)}'; change them first`,
        {
          param: 'budget_id',
        },
      )
  }
}

function columnsOf<Kind extends TenantKind>(kind: Kind): Columns<Tenants[Kind]> {
  return tenantColumns[kind] as Columns<Tenants[Kind]>
}

/** The directory has deleted the user. */
const isRemoved = (kind: TenantKind, record: Tenants[TenantKind]): boolean =>
  kind === 'user' && 'removedAtMs' in record && record.removedAtMs !== null

/** The user is another person at the identity provider than before: the one before signs in as the user no more. */
const isOfAnother = (kind: TenantKind, before: Tenants[TenantKind], after: Tenants[TenantKind]): boolean =>
  kind === 'user' &&
  'ssoUserId' in before &&
  'ssoUserId' in after &&
  before.ssoUserId !== null &&
  after.ssoUserId !== before.ssoUserId

/** Links that were mailed to another address, or for other rights, set no password any more. */
const isReachedOtherwise = (kind: TenantKind, before: Tenants[TenantKind], after: Tenants[TenantKind]): boolean =>
  kind === 'user' &&
  'email' in before &&
  'email' in after &&
  (before.email !== after.email || before.role !== after.role)

function checkVersion(is: number, expected: number | undefined): void {
  if (expected === undefined || expected === is) return
  const why = 'somebody changed it since it was read, so nothing of this change was stored'
  throw new GatewayError('conflict', `${why}; read it again and repeat the change`, { param: 'version' })
}

const hasExpired = ({ expiresAtMs }: KeyRecord, nowMs: number): boolean => expiresAtMs !== null && expiresAtMs <= nowMs

function actionOf(before: { readonly blocked: boolean }, after: { readonly blocked: boolean }): AuditEntry['action'] {
  if (before.blocked === after.blocked) return 'updated'
  return after.blocked ? 'blocked' : 'unblocked'
}
