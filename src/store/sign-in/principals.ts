/** The names under which callers without a key are cached beside those of keys, whose names are hashes. */
import { masterCaller } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { SessionStore } from '../../core/sign-in/sign-in.ts'
import { tenantSubject } from '../tenancy/changes.ts'

const sessionPrefix = 'session:'
const userPrefix = 'user:'
const serviceAccountPrefix = 'service-account:'
/** No id of a user or a team holds it. */
const separator = '\0'

/** A user without a key, in a team where one is named. */
export function userPrincipal(userId: string, teamId: string | undefined): string {
  const user = tenantSubject('user', userId)
  return teamId === undefined ? user : user + separator + teamId
}

/** A service account of a team, which calls with tokens and has no key. */
export function serviceAccountPrincipal(name: string, teamId: string): string {
  return serviceAccountPrefix + name + separator + teamId
}

/** The session whose secret has this hash. */
export function sessionPrincipal(hash: string): string {
  return sessionPrefix + hash
}

/** Hashes are hexadecimal; all other names hold a colon. */
export function isKeyHash(name: string): boolean {
  return !name.includes(':')
}

/** The stores that a caller is read from. */
export interface CallerSources {
  readonly sessions: Pick<SessionStore, 'find'>
  readonly tenants: {
    load(hash: string): Promise<Caller | undefined>
    loadUser(userId: string, teamId?: string): Promise<Caller | undefined>
    loadServiceAccount(name: string, teamId: string): Promise<Caller | undefined>
  }
}

/** Reads the caller of a name in the cache; undefined = there is none. */
export async function loadPrincipal(name: string, { sessions, tenants }: CallerSources): Promise<Caller | undefined> {
  if (name.startsWith(userPrefix)) {
    const [userId, teamId] = name.slice(userPrefix.length).split(separator)
    return tenants.loadUser(userId!, teamId)
  }
  if (name.startsWith(serviceAccountPrefix)) {
    const [account, teamId] = name.slice(serviceAccountPrefix.length).split(separator)
    return tenants.loadServiceAccount(account!, teamId!)
  }
  if (!name.startsWith(sessionPrefix)) return tenants.load(name)
  const session = await sessions.find(name.slice(sessionPrefix.length))
  if (!session) return undefined
  const { userId } = session
  const caller = userId === null ? masterCaller : await tenants.loadUser(userId)
  return caller && { ...caller, session }
}
