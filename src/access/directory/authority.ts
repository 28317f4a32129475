/** Whom a directory may change, and when its word says who a person is: a stolen token of a directory is no way up. */
import { GatewayError } from '../../core/errors.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { ScimError } from '../../lib/scim/error.ts'

/** Has rights over the whole gateway. */
export const isPrivileged = ({ role }: User): boolean => role === 'proxy_admin' || role === 'proxy_admin_viewer'

/** An administrator, or one who reads everything, whom no directory has sent: none changes anything of the user. */
export const isOutOfReach = (user: User): boolean => isPrivileged(user) && user.userName === null

/** Throws `forbidden` for a user whom directories change nothing of. */
export function checkReach(user: User): void {
  if (!isOutOfReach(user)) return
  throw new GatewayError(
    'forbidden',
    `the user '${user.id}' is an administrator whom no directory has sent; only administrators change the user`,
  )
}

/** What a person is known by. */
const identityFields = ['userName', 'email', 'externalId'] as const

/**
 * Throws `forbidden` for a change that would let another person sign in as the user: of what an administrator is known
 * by, and of the address of a user with a password, to which links for a new one are mailed. Throws `uniqueness` for
 * the address of an administrator whom no directory has sent.
 */
export async function checkChange(tx: TenancyTransaction, user: User, changes: TenantChanges<'user'>): Promise<void> {
  checkReach(user)
  const changed = identityFields.filter(name => name in changes && changes[name] !== user[name])
  if (isPrivileged(user) && changed.length > 0)
    throw new GatewayError(
      'forbidden',
      `the user '${user.id}' is an administrator: a directory does not change ${changed.join(', ')}; change the ` +
        'user by POST /user/update first',
    )
  if (!changed.includes('email')) return
  if (await tx.hasPassword(user.id))
    throw new GatewayError(
      'forbidden',
      `the user '${user.id}' has a password: a directory does not change the address to which links for a new one ` +
        'are mailed; change it by POST /user/update first',
    )
  await checkAddress(tx, changes.email)
}

/** An address that two users have names none of them: its owner could not sign in with it any more. */
export async function checkAddress(tx: TenancyTransaction, email: string | null | undefined): Promise<void> {
  if (email == null) return
  const owner = (await tx.usersByEmail(email)).find(isOutOfReach)
  if (owner)
    throw new ScimError('uniqueness', `the administrator '${owner.id}' has the address '${email}'; send another`)
}

/**
 * Why a directory's word alone does not say that a person is the user; undefined = it does. Administrators and users
 * with a password, or with a link to another person of an identity provider, have a proof of their own to give.
 */
export async function distrustOf(reader: TenancyReader, user: User): Promise<string | undefined> {
  if (isPrivileged(user)) return 'is an administrator'
  if (await reader.hasPassword(user.id)) return 'has a password'
  return (await reader.identityLinksOf(user.id)).length > 0 ? 'signs in with another identity' : undefined
}
