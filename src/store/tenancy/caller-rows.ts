/** Callers as JSON, for the file of known keys. */
import { compileCaller } from '../../access/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import { keyColumns, membershipColumns, tenantColumns, toRecord, toRow } from './columns.ts'
import type { Row } from './columns.ts'

/** The rows that a caller is compiled from; named budgets are filled in. */
export interface CallerRows {
  readonly key: Row
  readonly user?: Row | undefined
  readonly memberships: readonly Row[]
  readonly team?: Row | undefined
  readonly organization?: Row | undefined
  readonly tags: readonly Row[]
}

/** The rows of a caller that was read from the database. */
export function callerToRows({ key, user, memberships = [], team, organization, tags = [] }: Caller): CallerRows {
  return {
    // Callers that were read have the whole record of their key.
    key: toRow(keyColumns, key as KeyRecord),
    user: user && toRow(tenantColumns.user, user),
    memberships: memberships.map(one => toRow(membershipColumns, one)),
    team: team && toRow(tenantColumns.team, team),
    organization: organization && toRow(tenantColumns.organization, organization),
    tags: tags.map(one => toRow(tenantColumns.tag, one)),
  }
}

/** The caller of these rows. */
export function callerFromRows({ key, user, memberships, team, organization, tags }: CallerRows): Caller {
  return compileCaller({
    key: toRecord(keyColumns, key),
    user: user && toRecord(tenantColumns.user, user),
    memberships: memberships.map(one => toRecord(membershipColumns, one)),
    team: team && toRecord(tenantColumns.team, team),
    organization: organization && toRecord(tenantColumns.organization, organization),
    tags: tags.map(one => toRecord(tenantColumns.tag, one)),
  })
}
