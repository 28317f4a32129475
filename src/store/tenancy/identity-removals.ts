/** Persons at identity providers whose user was deleted, so that their next sign-in or token makes no other one. */
import type { SQL } from 'bun'
import type { IdentityLink, IdentityRemoval, NamedIdentity } from '../../core/sign-in/identity-providers.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import { toNumber } from '../database/open.ts'
import { linksOf } from './identity-links.ts'

interface Row {
  user_id: string
  removed_at_ms: unknown
}

/** Of a person who was known by an id alone, and has never signed in. */
const anyIssuer = ''
/** Where such ids are those of other persons, the issuer alone counts. */
const byIdIssuer = ({ issuer, matchesUserIds }: NamedIdentity): string => (matchesUserIds ? anyIssuer : issuer)

/** Notes whom the user stood for, before its links are deleted. */
export async function keepRemoval(tx: SQL, user: User, nowMs: number): Promise<void> {
  const links: Pick<IdentityLink, 'issuer' | 'subject'>[] = await linksOf(tx, user.id)
  if (links.length === 0)
    for (const subject of new Set([user.ssoUserId, user.externalId]))
      if (subject !== null) links.push({ issuer: anyIssuer, subject })
  for (const { issuer, subject } of links)
    await tx`insert into identity_removals (issuer, subject, user_id, removed_at_ms)
      values (${issuer}, ${subject}, ${user.id}, ${nowMs})
      on conflict (issuer, subject) do update set user_id = ${user.id}, removed_at_ms = ${nowMs}`
}

/** undefined = the person's user was not deleted, or there is another one since. */
export async function findRemoval(sql: SQL, of: NamedIdentity): Promise<IdentityRemoval | undefined> {
  const { issuer, subject } = of
  const [row] = (await sql`
    select user_id, removed_at_ms from identity_removals
    where subject = ${subject} and issuer in (${issuer}, ${byIdIssuer(of)})
    order by removed_at_ms desc limit 1`) as Row[]
  return row && { userId: row.user_id, removedAtMs: toNumber(row.removed_at_ms) }
}

/** Ends the removal of an identity, whose person has a user again. */
export async function endRemoval(tx: SQL, of: NamedIdentity): Promise<void> {
  const { issuer, subject } = of
  await tx`delete from identity_removals where subject = ${subject} and issuer in (${issuer}, ${byIdIssuer(of)})`
}

/** The directory has taken the user back, who stands for the same person. */
export async function endRemovalsOf(tx: SQL, userId: string): Promise<void> {
  await tx`delete from identity_removals where user_id = ${userId}`
}
