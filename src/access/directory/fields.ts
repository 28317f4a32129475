/** Users and teams as resources of SCIM, and what a resource says of a user or a team. */
import type { DirectoryFields, Team, User } from '../../core/tenancy/tenancy.ts'
import { asciiLower } from '../../lib/text.ts'
import { ScimError } from '../../lib/scim/error.ts'
import { isValues } from '../../lib/scim/schema.ts'
import type { Values } from '../../lib/scim/schema.ts'
import { emailAddress, keyName } from '../fields/checks.ts'

const attributesLengthMax = 32 * 1024

/** The name under which a directory knows the user. */
const nameOfUser = ({ userName, email, id }: User): string => userName ?? email ?? id

/** The name under which a directory knows the team. */
export const nameOfTeam = ({ alias, id }: Team): string => alias ?? id

/** What a PATCH changes: what was sent before, with the values of today. */
export function resourceOfUser(user: User): Values {
  const { directoryAttributes, externalId, alias, blocked } = user
  const { emails: _, ...kept } = directoryAttributes
  const emails = emailsOf(user)
  return {
    ...kept,
    ...(externalId !== null && { externalId }),
    userName: nameOfUser(user),
    ...(alias !== null && { displayName: alias }),
    active: !blocked,
    ...(emails !== undefined && { emails }),
  }
}

/**
 * Those that were sent, unless an administrator has given the user another address since, or taken it away: no later
 * change by the directory brings it back. undefined = the name's.
 */
function emailsOf(user: User): unknown {
  const { email, directoryAttributes: kept } = user
  if (kept.emails !== undefined && mainEmail(kept.emails) === email) return kept.emails
  if (email === null) return kept.emails === undefined ? undefined : []
  if (email === nameOfUser(user).toLowerCase()) return undefined
  return [{ value: email, type: 'work', primary: true }]
}

/** The address is what a directory has said, and an administrator has given the user no other one since. */
export function isDirectorysAddress({ userName, email, directoryAttributes: kept }: User): boolean {
  if (userName === null || email === null) return false
  return kept.emails === undefined ? asciiLower(userName) === email : mainEmail(kept.emails) === email
}

/** As it is shown: an address that is the name is among the addresses, too. */
export function shownResourceOfUser(user: User): Values {
  const resource = resourceOfUser(user)
  if (resource.emails !== undefined || user.email === null) return resource
  return { ...resource, emails: [{ value: user.email, type: 'work', primary: true }] }
}

/** A team without its members. */
export function resourceOfTeam(team: Team): Values {
  const { externalId } = team
  return { ...team.directoryAttributes, ...(externalId !== null && { externalId }), displayName: nameOfTeam(team) }
}

type UserPart = Pick<User, 'userName' | 'alias' | 'email' | 'externalId' | 'directoryAttributes'>

/** The fields of a user that a resource decides on. Throws `invalidValue`. */
export function fieldsOfUser(resource: Values): UserPart {
  const { userName, displayName, externalId, active: _, password: __, ...kept } = resource
  const name = checked('userName', userName)!
  const shown = displayName ?? wholeName(kept.name)
  return {
    userName: name,
    alias: shown === undefined || shown === '' ? null : checked('displayName', shown),
    email:
      kept.emails === undefined ? (emailAddress().safeParse(asciiLower(name)).data ?? null) : mainEmail(kept.emails),
    ...directoryPart(externalId, kept),
  }
}

type TeamPart = Pick<Team, 'alias' | 'externalId' | 'directoryAttributes'>

/** The fields of a team that a resource decides on, without its members. Throws `invalidValue`. */
export function fieldsOfTeam({ displayName, externalId, members: _, ...kept }: Values): TeamPart {
  return { alias: checked('displayName', displayName), ...directoryPart(externalId, kept) }
}

function directoryPart(externalId: unknown, kept: Values): Pick<User, 'externalId' | 'directoryAttributes'> {
  if (JSON.stringify(kept).length > attributesLengthMax)
    throw new ScimError('invalidValue', `the attributes have more than ${attributesLengthMax} characters; send fewer`)
  return {
    externalId: externalId === undefined || externalId === '' ? null : checked('externalId', externalId),
    directoryAttributes: kept,
  }
}

function checked(name: string, value: unknown): string {
  const read = keyName().safeParse(value)
  if (read.success) return read.data
  throw new ScimError('invalidValue', `${name} ${read.error.issues[0]!.message}`)
}

function wholeName(name: unknown): unknown {
  if (!isValues(name)) return undefined
  const parts = [name.givenName, name.familyName].filter(one => typeof one === 'string' && one !== '')
  return name.formatted ?? (parts.length > 0 ? parts.join(' ') : undefined)
}

/** The primary address, else the one for work, else the first. Throws `invalidValue` for one that is none. */
function mainEmail(emails: unknown): string | null {
  const list = (emails as readonly Values[]).filter(one => typeof one.value === 'string' && one.value !== '')
  const found =
    list.find(one => one.primary === true) ??
    list.find(one => typeof one.type === 'string' && one.type.toLowerCase() === 'work') ??
    list[0]
  if (!found) return null
  const read = emailAddress().safeParse(asciiLower(found.value as string))
  if (read.success) return read.data
  throw new ScimError('invalidValue', `emails: '${String(found.value).slice(0, 100)}' is no e-mail address`)
}

type Activity = Partial<Pick<User, 'blocked' | 'blockedByDirectory'>>

/**
 * What `active` changes; undefined = it was not sent. What an administrator has blocked stays blocked: a directory
 * sends `active: true` with every change of a name.
 */
export function activityOf(
  { blocked, blockedByDirectory }: Pick<User, 'blocked' | 'blockedByDirectory'>,
  active: unknown,
): Activity {
  if (active === false && !blocked) return { blocked: true, blockedByDirectory: true }
  if (active === true && blocked && blockedByDirectory) return { blocked: false, blockedByDirectory: false }
  return {}
}

/** What deleting a user or a team at the directory changes: it is blocked, and hidden from the directory. */
export function removalOf(of: Pick<User, 'blocked' | 'blockedByDirectory'>, nowMs: number): Removal {
  return { ...activityOf(of, false), removedAtMs: nowMs }
}
type Removal = Activity & Pick<DirectoryFields, 'removedAtMs'>

/** What sending it again changes. */
export function returnOf(of: Pick<User, 'blocked' | 'blockedByDirectory'>): Removal {
  return { ...activityOf(of, true), removedAtMs: null }
}
