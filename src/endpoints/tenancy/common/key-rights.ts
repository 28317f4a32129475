/** Who may make, see and change which key, decided within the transaction of the change. */
import { CryptoHasher } from 'bun'
import { callRoutes, callsOnly, loosenedField, memberKeyEnd, restrictionOf } from '../../../access/key-grants.ts'
import { tagsOfKey } from '../../../access/key.ts'
import { administersOrganization, administersTeam, mayChangeKey, membershipIn } from '../../../access/rights.ts'
import { isAdministrator } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import type { KeyChanges, KeyRecord } from '../../../core/tenancy/keys.ts'
import type { NameOwner, Team } from '../../../core/tenancy/tenancy.ts'
import type { NewKey, TenancyReader, TenancyTransaction } from '../../../core/tenancy/tenancy-store.ts'
import { absent, checkedSpending, forbidden } from '../../common/answers.ts'
import { checkGivenTags, checkMetadata, checkToolGrants } from './access.ts'

/** What is asked about rights: of the transaction of a change, or of what is stored where nothing is changed. */
export type RightsReader = Pick<TenancyTransaction, 'find' | 'memberships' | 'nowMs'>

/** A key may be named by its text, its hash (`token`) or its id. */
export async function lookForKey({ keys, hashKey }: Services, named: string): Promise<KeyRecord | undefined> {
  return (
    (await keys.find({ hash: hashKey(named) })) ??
    (await keys.find({ hash: named })) ??
    (await keys.find({ id: named })) ??
    // The id of a key that was brought from LiteLLM is the SHA-256 of its text.
    (await keys.find({ id: new CryptoHasher('sha256').update(named).digest('hex') }))
  )
}

/** The stored team of a key. */
export async function teamOf(
  reader: Pick<TenancyReader, 'find'>,
  { teamId }: Pick<KeyRecord, 'teamId'>,
): Promise<Team | undefined> {
  return teamId === null ? undefined : await reader.find('team', teamId)
}

/**
 * The key that the caller names, if it may change it. Throws the same 404 for one that does not exist and for one that
 * the caller may not change.
 */
export async function changeableKey(services: Services, caller: Caller, named: string): Promise<KeyRecord> {
  const record = await lookForKey(services, named)
  if (record && mayChangeKey(caller, record, await teamOf(services.tenancy, record))) return record
  throw absent('key', 'key')
}

/** The new key as the caller may have it: administrators as they ask, others within their own rights. Throws 403. */
export async function grantedKey(tx: RightsReader, caller: Caller, requestedKey: NewKey): Promise<NewKey> {
  checkedSpending(requestedKey)
  if (isAdministrator(caller)) return withinText(tx, caller, requestedKey)
  checkMaker(caller)
  checkMetadata(requestedKey.metadata)
  checkBudget(requestedKey.budgetId)
  checkStorage(requestedKey.storesBodies)
  const team = await teamOf(tx, requestedKey)
  if (requestedKey.teamId !== null && !team) throw absent('team', 'team_id')
  await checkGivenTags(tx, ownerOfNames(requestedKey, team), tagsOfKey(requestedKey))
  await checkTools(tx, requestedKey, team)
  if (team && administersTeam(caller, team)) return withOwner(tx, caller, requestedKey, team)
  if (requestedKey.userId !== null && requestedKey.userId !== caller.user!.id)
    throw forbidden('you may only make keys for yourself', 'user_id')
  if (requestedKey.organizationId !== null)
    throw forbidden('only its admins make keys of an organization', 'organization_id')
  if (team) checkPermission(caller, team, '/key/generate')
  const { nowMs } = tx
  return {
    ...requestedKey,
    userId: caller.user!.id,
    expiresAtMs: memberKeyEnd({ team }, requestedKey.expiresAtMs, nowMs),
  }
}

/** Whose customers and tags its calls may name. */
const ownerOfNames = ({ organizationId }: Pick<KeyRecord, 'organizationId'>, team: Team | undefined): NameOwner => ({
  teamId: team?.id ?? null,
  organizationId: organizationId ?? team?.organizationId ?? null,
})

/**
 * An administrator's key that may ask for some routes alone makes keys that call models, and none of administrators.
 */
async function withinText(tx: RightsReader, { key }: Caller, requestedKey: NewKey): Promise<NewKey> {
  if (!restrictionOf(key)) return requestedKey
  const granted = forCalls(requestedKey)
  await checkOthersKey(tx, granted)
  return granted
}

/** Where its routes are left open. */
const forCalls = (key: NewKey): NewKey => (key.allowedRoutes.length === 0 ? { ...key, allowedRoutes: callRoutes } : key)

/** Admins of a team make keys for its members, with which these call models, and for no user. */
async function withOwner(tx: RightsReader, caller: Caller, requestedKey: NewKey, team: Team): Promise<NewKey> {
  const { userId, organizationId } = requestedKey
  const isOther = userId !== null && userId !== caller.user?.id
  if (isOther && !(await tx.memberships({ userId })).some(one => one.kind === 'team' && one.groupId === team.id))
    throw forbidden('this user is no member of the team', 'user_id')
  if (
    organizationId !== null &&
    organizationId !== team.organizationId &&
    !administersOrganization(caller, organizationId)
  )
    throw forbidden('only its admins make keys of an organization', 'organization_id')
  if (!isOther) return requestedKey
  const granted = forCalls(requestedKey)
  await checkOthersKey(tx, granted)
  return granted
}

/**
 * Who knows the text of a key acts as its user. So the keys of others that admins of teams make, take or replace only
 * call models, and belong to no administrator, who would see everything by them. Throws 403.
 */
async function checkOthersKey(tx: RightsReader, key: Pick<NewKey, 'userId' | 'allowedRoutes'>): Promise<void> {
  const user = key.userId === null ? undefined : await tx.find('user', key.userId)
  if (user?.role.startsWith('proxy_admin'))
    throw forbidden('only administrators make and replace keys of administrators', 'user_id')
  if (!callsOnly(key))
    throw forbidden(
      "the key of another user may only call models: send `allowed_routes: ['llm_api_routes']`; keys that do more " +
        'their user or an administrator makes and replaces',
      'allowed_routes',
    )
}

/** Throws 403 to viewers, and to a key with limits of its own: it could escape them by another key. */
export function checkMaker({ key, role }: Caller): void {
  if (role !== 'internal_user') throw forbidden('this needs the key of a user who is no viewer')
  const restriction = restrictionOf(key)
  if (restriction)
    throw forbidden(
      `this key has a restriction of its own (${restriction}), so that it makes and changes no keys; use one without`,
    )
}

/** Named budgets are the administrators', who alone know which there are. */
function checkBudget(budgetId: string | null): void {
  if (budgetId !== null) throw forbidden('only administrators assign named budgets', 'budget_id')
}

/** Throws 403 for tool servers that no wider object names. */
async function checkTools(tx: RightsReader, key: NewKey | KeyRecord, team: Team | undefined): Promise<void> {
  const { objectPermission, userId } = key
  if (objectPermission === null) return
  const { organizationId } = ownerOfNames(key, team)
  const organization = organizationId === null ? undefined : await tx.find('organization', organizationId)
  const user = userId === null ? undefined : await tx.find('user', userId)
  checkToolGrants(objectPermission, [team, organization, user])
}

/** What is stored takes the operator's disk, and may be read by the admins of the team. */
function checkStorage(storesBodies: boolean | null): void {
  if (storesBodies)
    throw forbidden('only administrators have the bodies of calls stored', 'store_prompts_in_spend_logs')
}

function checkPermission(caller: Caller, team: Team, path: string): void {
  const isMember = membershipIn(caller, 'team', team.id) !== undefined
  if (!isMember) throw absent('team', 'team_id')
  if (!team.memberPermissions.includes(path))
    throw forbidden(
      `members of this team may not do this: its \`team_member_permissions\` do not have ${path}`,
      'team_id',
    )
}

/**
 * Checks a change of a key. Users may do what they like with keys that they made; of keys that others made for them
 * they loosen nothing. Throws 403, and 422 for fields that do not fit together.
 */
export async function checkKeyChange(
  tx: RightsReader,
  caller: Caller,
  before: KeyRecord,
  changes: KeyChanges,
): Promise<void> {
  checkedSpending({ ...before, ...changes }, before)
  const after = { ...before, ...changes }
  const isTaken = after.userId !== before.userId || changes.hash !== undefined || changes.allowedRoutes !== undefined
  if (isAdministrator(caller)) return checkWithinText(tx, caller, { before, after, isTaken })
  checkMaker(caller)
  if (changes.metadata) checkMetadata(changes.metadata)
  if (changes.budgetId !== undefined) checkBudget(changes.budgetId)
  if (changes.storesBodies !== undefined) checkStorage(changes.storesBodies)
  const [from, to] = [await teamOf(tx, before), await teamOf(tx, after)]
  if (!mayChangeKey(caller, before, from)) throw absent('key', 'key')
  const formerTags = tagsOfKey(before)
  const newTags = tagsOfKey(after).filter(one => !formerTags.includes(one))
  await checkGivenTags(tx, ownerOfNames(after, to), newTags)
  if (changes.objectPermission !== undefined) await checkTools(tx, after, to)
  const isOthers = after.userId !== null && after.userId !== caller.user!.id
  if (isOthers && isTaken) await checkOthersKey(tx, after)
  const isTeamAdmin = from !== undefined && administersTeam(caller, from)
  const moves = (['userId', 'teamId', 'organizationId'] as const).some(name => before[name] !== after[name])
  if (moves) {
    // A key without its user would be out of reach of the user's limits.
    const granted = await grantedKey(tx, caller, after)
    if (granted.userId !== after.userId) throw forbidden('the key has to stay yours', 'user_id')
  }
  if (moves && !isTeamAdmin && from) throw forbidden('only its admins move a key out of a team', 'team_id')
  const endMs = memberKeyEnd({ team: isTeamAdmin ? undefined : to }, after.expiresAtMs, tx.nowMs)
  if (changes.expiresAtMs !== undefined && endMs !== after.expiresAtMs)
    throw forbidden("members' keys of this team live for `team_member_key_duration` at most", 'duration')
  if (isTeamAdmin && (!moves || (to !== undefined && administersTeam(caller, to)))) return
  const loosened = before.createdBy === caller.user!.id ? undefined : loosenedField(before, after)
  if (loosened) throw forbidden(`this key was made for you: only an administrator may loosen its ${loosened}`)
}

interface KeyChange {
  readonly before: KeyRecord
  readonly after: KeyRecord
  /** It gets another text, other routes or another user. */
  readonly isTaken: boolean
}

/** As `withinText`, for changes; nor does such a key loosen itself. Throws 403. */
async function checkWithinText(
  tx: RightsReader,
  { key }: Caller,
  { before, after, isTaken }: KeyChange,
): Promise<void> {
  if (!restrictionOf(key)) return
  if (isTaken) await checkOthersKey(tx, after)
  const loosened = before.id === key.id ? loosenedField(before, after) : undefined
  if (loosened) throw forbidden(`a key with \`allowed_routes\` does not loosen its own ${loosened}`)
}
