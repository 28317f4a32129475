/** Reads objects of tenancy, inside and outside of a transaction. */
import type { SQL } from 'bun'
import { membershipsMax } from '../../core/tenancy/tenancy.ts'
import type { Membership, TenantKind, Tenants } from '../../core/tenancy/tenancy.ts'
import type {
  MembershipQuery,
  Page,
  PageQuery,
  TenancyReader,
  TenantCondition,
  TenantFilter,
} from '../../core/tenancy/tenancy-store.ts'
import { toNumber } from '../database/open.ts'
import { findKey, findKeyOfText } from '../keys/keys.ts'
import { passwordHashOf } from '../sign-in/password-rows.ts'
import { searchText } from './tenant-search.ts'
import { membershipColumns, tenantColumns, tenantTables, toRecord } from './columns.ts'
import type { Row } from './columns.ts'
import { findLink, linksOf } from './identity-links.ts'
import { findRemoval } from './identity-removals.ts'
import { Where } from './where.ts'

/** `sql` = the database, or a transaction. */
export function createReader(sql: SQL): TenancyReader {
  return {
    async find(kind, id) {
      return (await findAll(sql, kind, [id]))[0]
    },
    findAll: (kind, ids) => findAll(sql, kind, ids),
    async isUnused(kind) {
      const rows = (await sql.unsafe(`select 1 from ${tenantTables[kind]} limit 1`)) as unknown[]
      return rows.length === 0
    },
    usersByEmail: email => usersBy(sql, ['email'], email),
    usersBySsoId: id => usersBy(sql, ['sso_user_id', 'external_id'], id),
    identityLink: of => findLink(sql, of),
    identityLinksOf: userId => linksOf(sql, userId),
    hasPassword: async userId => (await passwordHashOf(sql, userId)) !== undefined,
    identityRemoval: of => findRemoval(sql, of),
    search: (kind, condition, limit) => search(sql, kind, condition, limit),
    memberships: of => memberships(sql, of),
    membersRevisions: teamIds => membersRevisions(sql, teamIds),
    findKey: by => findKey(sql, by),
    findKeyOfText: hash => findKeyOfText(sql, hash),
  }
}

async function findAll<Kind extends TenantKind>(
  sql: SQL,
  kind: Kind,
  ids: readonly string[],
): Promise<Tenants[Kind][]> {
  // No row holds a NUL, and Postgres refuses it in a parameter.
  const storableIds = ids.filter(id => !id.includes('\0'))
  if (storableIds.length === 0) return []
  const where = new Where()
  where.among('id', storableIds)
  const rows = await where.select<Row>(sql, tenantTables[kind])
  return rows.map(row => recordOf(kind, row))
}

/** The columns of a kind, whose type TypeScript cannot follow through the union of kinds. */
function recordOf<Kind extends TenantKind>(kind: Kind, row: Row): Tenants[Kind] {
  return toRecord<Tenants[Kind]>(tenantColumns[kind] as Parameters<typeof toRecord<Tenants[Kind]>>[0], row)
}

async function usersBy(sql: SQL, columns: readonly string[], text: string): Promise<Tenants['user'][]> {
  if (text.includes('\0')) return []
  const where = new Where()
  where.any(columns.map(column => where.amongText(column, [text])))
  const rows = await where.select<Row>(sql, 'users', 'order by created_at_ms limit 2')
  return rows.map(row => recordOf('user', row))
}

async function search<Kind extends 'user' | 'team'>(
  sql: SQL,
  kind: Kind,
  condition: TenantCondition,
  limit: number,
): Promise<Tenants[Kind][]> {
  const where = new Where()
  where.raw(searchText(where, kind, condition))
  const rows = await where.select<Row>(sql, tenantTables[kind], `order by created_at_ms, id limit ${limit}`)
  return rows.map(row => recordOf(kind, row))
}

async function memberships(sql: SQL, of: MembershipQuery): Promise<Membership[]> {
  const where = new Where()
  if ('userId' in of) where.equal('user_id', of.userId)
  else if ('userIds' in of) where.among('user_id', of.userIds)
  else {
    where.equal('kind', of.kind)
    where.among('group_id', 'groupIds' in of ? of.groupIds : [of.groupId])
  }
  const order = 'order by created_at_ms, user_id'
  const rows = await where.select<Row>(sql, 'memberships', 'userId' in of ? `${order} limit ${membershipsMax}` : order)
  return rows.map(row => toRecord(membershipColumns, row))
}

async function membersRevisions(sql: SQL, teamIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const where = new Where()
  where.among('id', teamIds)
  where.raw('members_revision is not null')
  const rows = await where.select<{ id: string; members_revision: unknown }>(sql, 'teams')
  return new Map(rows.map(row => [row.id, toNumber(row.members_revision)]))
}

/** One page of a kind. */
export async function listTenants<Kind extends TenantKind>(
  sql: SQL,
  kind: Kind,
  filter: TenantFilter,
  page: PageQuery,
): Promise<Page<Tenants[Kind]>> {
  const { rows, total } = await conditionsOf(kind, filter).page<Row>(sql, tenantTables[kind], page)
  return { total, items: rows.map(row => recordOf(kind, row)) }
}

function conditionsOf(kind: TenantKind, filter: TenantFilter): Where {
  const where = new Where()
  where.among('id', filter.ids)
  where.contains('alias', filter.alias)
  if (filter.named !== undefined)
    where.any([where.amongText('id', [filter.named]), where.containsText('alias', filter.named)])
  if (filter.person !== undefined)
    where.any([
      where.amongText('id', [filter.person]),
      where.containsText('alias', filter.person),
      where.containsText('email', filter.person),
    ])
  where.contains('email', filter.email)
  where.equal('role', filter.role)
  where.among('sso_user_id', filter.ssoUserIds)
  where.equal('organization_id', filter.organizationId)
  if (filter.memberId !== undefined) {
    const of = `kind = ${where.bind(kind)} and user_id = ${where.bind(filter.memberId)}`
    where.raw(`id in (select group_id from memberships where ${of})`)
  }
  if (filter.teamId !== undefined)
    where.raw(`id in (select user_id from memberships where kind = 'team' and group_id = ${where.bind(filter.teamId)})`)
  if (filter.unremoved) where.raw('removed_at_ms is null')
  if (filter.condition) where.raw(searchText(where, kind, filter.condition))
  const { visible } = filter
  if (visible)
    where.any([
      where.amongText('id', visible.ids),
      ...(kind === 'team' ? [where.amongText('organization_id', visible.organizationIds)] : []),
    ])
  return where
}
