/** Which person at an identity provider is which user: by issuer and subject, which never change. */
import type { SQL } from 'bun'
import type { IdentityLink } from '../../core/sign-in/identity-providers.ts'
import { toNumber } from '../database/open.ts'

interface Row {
  issuer: string
  subject: string
  user_id: string
  created_at_ms: unknown
}

const linksMax = 100

/** The user that a person is linked to. */
export async function findLink(
  sql: SQL,
  { issuer, subject }: Pick<IdentityLink, 'issuer' | 'subject'>,
): Promise<IdentityLink | undefined> {
  const rows = (await sql`select * from identity_links where issuer = ${issuer} and subject = ${subject}`) as Row[]
  return rows[0] && linkOf(rows[0])
}

/** The links of a user, newest first. */
export async function linksOf(sql: SQL, userId: string): Promise<IdentityLink[]> {
  const rows = (await sql`
    select * from identity_links where user_id = ${userId}
    order by created_at_ms desc, issuer, subject limit ${linksMax}`) as Row[]
  return rows.map(linkOf)
}

/** Adds one; a person who is linked already is refused by the primary key. */
export async function insertLink(tx: SQL, { issuer, subject, userId, createdAtMs }: IdentityLink): Promise<void> {
  await tx`insert into identity_links (issuer, subject, user_id, created_at_ms)
    values (${issuer}, ${subject}, ${userId}, ${createdAtMs})`
}

/** The person may be linked to another user afterwards. */
export async function deleteLinksOf(tx: SQL, userId: string): Promise<void> {
  await tx`delete from identity_links where user_id = ${userId}`
}

function linkOf(row: Row): IdentityLink {
  return { issuer: row.issuer, subject: row.subject, userId: row.user_id, createdAtMs: toNumber(row.created_at_ms) }
}
