/** The rows of passwords and of links for new ones, as changes of users read and delete them. */
import type { SQL } from 'bun'

/** Postgres refuses a NUL in a parameter, and no row holds one. */
export const isStorable = (id: string): boolean => !id.includes('\0')

/** undefined = the user has none. `sql` = the database, or a transaction. */
export async function passwordHashOf(sql: SQL, userId: string): Promise<string | undefined> {
  if (!isStorable(userId)) return undefined
  const rows = (await sql`select hash from user_passwords where user_id = ${userId}`) as { hash: string }[]
  return rows[0]?.hash
}

/** Removes what a user could sign in with, in the transaction that deletes the user. */
export async function deletePasswordOfUser(tx: SQL, userId: string): Promise<void> {
  await tx`delete from user_passwords where user_id = ${userId}`
  await deletePasswordLinksOf(tx, userId)
}

/** Ends the links by which the user could set a password. */
export async function deletePasswordLinksOf(tx: SQL, userId: string): Promise<void> {
  await tx`delete from password_links where user_id = ${userId}`
}
