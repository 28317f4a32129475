/** Parts of the gateway that make changes, as the audit log names them. No user has such a name. */
import { masterKeyId } from '../caller.ts'
import type { Actor } from './tenancy.ts'

/** All directories (SCIM), whose keys belong to no user. */
export const directoryActorId = 'scim-directory'
/** A program that ends its own sign-in with a refresh token. */
export const programActorId = 'program'
/** The command line. */
export const commandLineActor: Actor = { id: 'cli', keyHash: 'cli' }

const signInPrefix = 'sso:'
const tokenPrefix = 'token:'
const ids: ReadonlySet<string> = new Set([masterKeyId, directoryActorId, programActorId, commandLineActor.id])

/** A sign-in with the identity provider of this name. */
export const signInActor = (provider: string): Actor => ({ id: signInPrefix + provider, keyHash: 'sso' })

/** A token of this issuer. */
export const tokenActor = (issuer: string): Actor => ({ id: tokenPrefix + issuer, keyHash: 'token' })

/** The id names a part of the gateway: a user that had it would be taken for that part, and what it did for its own. */
export function isBuiltInActorId(id: string): boolean {
  return ids.has(id) || id.startsWith(signInPrefix) || id.startsWith(tokenPrefix)
}
