/** Finds or makes the user of a person at an identity provider, and gives it what the provider's claims say. */
import { randomUUIDv7 } from 'bun'
import { distrustOf } from '../../access/directory/authority.ts'
import { isDirectorysAddress } from '../../access/directory/fields.ts'
import { newUser } from '../../access/fields/user-fields.ts'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { AccountRules, Identity, NamedIdentity } from '../../core/sign-in/identity-providers.ts'
import type { Settings } from '../../core/settings.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Actor, Membership, User } from '../../core/tenancy/tenancy.ts'
import type { TenancyStore, TenancyTransaction, TenantChanges } from '../../core/tenancy/tenancy-store.ts'

/** What an account is found and made by. */
export interface AccountParts {
  readonly tenancy: TenancyStore
  readonly newUsers: Settings['newUsers']
  readonly rules: AccountRules & {
    /** Ids of all teams and organizations that claims are mapped to; undefined = values of the claim are ids. */
    readonly mappedTeams: readonly string[] | undefined
    readonly mappedOrganizations: readonly string[] | undefined
  }
  /** For the audit log. */
  readonly actor: Actor
  /** The user as whom the person is signed in already, which proves who it is here; null = as none. */
  readonly provenUserId: string | null
}

/**
 * The user of a person, with the role, teams and organizations that the claims say, in one transaction. Throws
 * IdentityRefusal for a person who may not sign in, and `overloaded` when the database is unreachable.
 */
export async function signInUser(identity: Identity, parts: AccountParts): Promise<User> {
  checkDomain(identity, parts.rules)
  return parts.tenancy.change(parts.actor, async tx => {
    const user = (await linkedUser(tx, identity, parts)) ?? (await createdUser(tx, identity, parts))
    const changed = await applyFields(tx, user, identity, parts)
    await applyGroups(tx, user, { kind: 'team', ids: identity.teams, mapped: parts.rules.mappedTeams })
    await applyGroups(tx, user, {
      kind: 'organization',
      ids: identity.organizations,
      mapped: parts.rules.mappedOrganizations,
    })
    return changed
  })
}

/** Throws IdentityRefusal where only some domains may sign in, and the person's verified address is in none of them. */
function checkDomain({ email, emailVerified }: Identity, { emailDomains }: AccountRules): void {
  if (emailDomains.length === 0) return
  if (email === null)
    throw new IdentityRefusal('the provider names no e-mail address, and only some domains may sign in')
  if (!emailVerified) throw new IdentityRefusal(`${unverified(email)}, and only some domains may sign in; ${remedy}`)
  if (!emailDomains.includes(email.slice(email.lastIndexOf('@') + 1)))
    throw new IdentityRefusal(`the domain of '${email}' may not sign in (\`allowed_email_domains\`)`)
}

const unverified = (email: string): string => `the provider does not say that '${email}' is verified`
const remedy = 'let it send `email_verified`, or set `trust_email` where only its administrators can set addresses'

type LinkingParts = Pick<AccountParts, 'rules' | 'provenUserId'>

/**
 * The user that the person is linked to, or is linked to from now on: by the id that an administrator or a directory
 * gave the user, or by a verified address. undefined = there is none. Throws IdentityRefusal for a user who is
 * deactivated, and where an id or address does not say who it is.
 */
async function linkedUser(tx: TenancyTransaction, identity: Identity, parts: LinkingParts): Promise<User | undefined> {
  const link = await tx.identityLink(identity)
  const known = link && (await tx.find('user', link.userId))
  if (known) return active(known)
  const user = (await userById(tx, identity, parts)) ?? (await userByEmail(tx, identity, parts))
  if (!user) return undefined
  await tx.linkIdentity(namedIdentity(identity, parts), active(user).id)
  return user
}

const namedIdentity = (
  { issuer, subject }: Identity,
  { rules: { matchesUserIds } }: Pick<AccountParts, 'rules'>,
): NamedIdentity => ({ issuer, subject, matchesUserIds })

async function userById(tx: TenancyTransaction, { subject }: Identity, parts: LinkingParts): Promise<User | undefined> {
  // Of another provider the same id is another person.
  if (!parts.rules.matchesUserIds) return undefined
  const found = await tx.usersBySsoId(subject)
  const byAdministrator = found.filter(one => one.ssoUserId === subject)
  const users = byAdministrator.length > 0 ? byAdministrator : found
  if (users.length > 1)
    throw new IdentityRefusal(`several users have the \`sso_user_id\` '${subject}'; leave it with one of them`)
  const [user] = users
  // One who has signed in is known by that link.
  if (!user || ((await tx.identityLinksOf(user.id)).length > 0 && parts.provenUserId !== user.id)) return undefined
  if (byAdministrator.length === 0) await checkDirectorysWord(tx, user, parts)
  return user
}

async function userByEmail(
  tx: TenancyTransaction,
  { issuer, email, emailVerified }: Identity,
  parts: LinkingParts,
): Promise<User | undefined> {
  const users = email === null ? [] : await tx.usersByEmail(email)
  const [user] = users
  if (!user) return undefined
  if (!emailVerified) throw new IdentityRefusal(`a user with this address exists, but ${unverified(email!)}; ${remedy}`)
  if (users.length > 1)
    throw new IdentityRefusal(`several users have the address '${email}'; leave it with one of them`)
  if ((await tx.identityLinksOf(user.id)).some(one => one.issuer === issuer))
    throw new IdentityRefusal(
      `the user '${user.id}' has the address '${email}' and belongs to another person of this provider; change the ` +
        "user's address, or delete the user",
    )
  if (isDirectorysAddress(user)) await checkDirectorysWord(tx, user, parts)
  return user
}

/** Throws IdentityRefusal where a directory alone says that the person is this user, and the user has more to lose. */
async function checkDirectorysWord(tx: TenancyTransaction, user: User, { provenUserId }: LinkingParts): Promise<void> {
  if (provenUserId === user.id) return
  const distrust = await distrustOf(tx, user)
  if (distrust === undefined) return
  throw new IdentityRefusal(
    `a directory alone says that you are '${user.id}', who ${distrust}; sign in as that user first and then, in the ` +
      "same browser, with this provider, or let an administrator set the user's `sso_user_id`",
  )
}

function active(user: User): User {
  if (user.blocked) throw new IdentityRefusal(`the user '${user.id}' is deactivated`)
  return user
}

async function createdUser(
  tx: TenancyTransaction,
  identity: Identity,
  { newUsers, rules }: Pick<AccountParts, 'newUsers' | 'rules'>,
): Promise<User> {
  const { subject, name, email, emailVerified } = identity
  const named = namedIdentity(identity, { rules })
  if (!rules.createsUsers)
    throw new IdentityRefusal(
      `there is no user for '${email ?? subject}', and this provider makes none: make one with this address ` +
        '(POST /user/new), or set `allowed_email_domains` or `create_users`',
    )
  const removal = await tx.identityRemoval(named)
  if (removal)
    throw new IdentityRefusal(
      `the user '${removal.userId}' of this person was removed; an administrator lets the person in again by making ` +
        `a user with the \`sso_user_id\` '${subject}' (POST /user/new)`,
    )
  const fields = { ...newUsers, alias: name, email: emailVerified ? email : null, ...idOf(named) }
  const user = await tx.insert('user', { ...newUser(randomUUIDv7(), {}, fields), role: identity.role ?? newUsers.role })
  await tx.linkIdentity(named, user.id)
  return user
}

/** Where ids of users are those of other persons, the link alone says who it is. */
const idOf = ({ subject, matchesUserIds }: NamedIdentity): Partial<Pick<User, 'ssoUserId'>> =>
  matchesUserIds ? { ssoUserId: subject } : {}

/** A role that the provider no longer gives is gone; an address follows the verified one where that is free. */
async function applyFields(
  tx: TenancyTransaction,
  user: User,
  identity: Identity,
  { newUsers, rules }: Pick<AccountParts, 'newUsers' | 'rules'>,
): Promise<User> {
  const { role, email, emailVerified, name } = identity
  const takesEmail =
    emailVerified && email !== null && email !== user.email && (await tx.usersByEmail(email)).length === 0
  const wanted: TenantChanges<'user'> = {
    ...(role !== undefined && (role ?? newUsers.role) !== user.role && { role: role ?? newUsers.role }),
    ...(takesEmail && { email }),
    ...(user.alias === null && name !== null && { alias: name }),
    ...(user.ssoUserId === null && idOf(namedIdentity(identity, { rules }))),
  }
  return Object.keys(wanted).length === 0 ? user : tx.update('user', user.id, wanted)
}

interface Groups {
  readonly kind: Membership['kind']
  readonly ids: readonly string[] | undefined
  readonly mapped: readonly string[] | undefined
}

/**
 * Puts the user into the groups that the claims name, and out of those that they could have named. Groups that do not
 * exist are left out: a provider's groups are not all teams.
 */
async function applyGroups(tx: TenancyTransaction, user: User, { kind, ids, mapped }: Groups): Promise<void> {
  if (ids === undefined) return
  const own = (await tx.memberships({ userId: user.id })).filter(one => one.kind === kind)
  const has = new Set(own.map(one => one.groupId))
  const wanted = new Set(ids)
  const added = await existingGroups(
    tx,
    kind,
    [...wanted].filter(id => !has.has(id)),
  )
  for (const groupId of added)
    await tx.putMembership({
      ...unlimited,
      kind,
      groupId,
      userId: user.id,
      role: kind === 'team' ? 'user' : 'internal_user',
    })
  for (const { groupId } of own)
    if (!wanted.has(groupId) && (!mapped || mapped.includes(groupId)))
      await tx.deleteMembership({ kind, groupId, userId: user.id })
}

/** Those of the ids that teams or organizations have, in their order. */
export async function existingGroups(
  reader: Pick<TenancyStore, 'findAll'>,
  kind: Membership['kind'],
  ids: readonly string[],
): Promise<string[]> {
  const found = new Set<string>()
  for (let from = 0; from < ids.length; from += idsAtOnce)
    for (const { id } of await reader.findAll(kind, ids.slice(from, from + idsAtOnce))) found.add(id)
  return ids.filter(id => found.has(id))
}
const idsAtOnce = 1000

/**
 * The id of the user of a token: the one that the person is linked to, else found or made as at a sign-in. What the
 * user has is left as it is. Rejects as `signInUser` does.
 */
export async function tokenUser(
  identity: Identity,
  parts: AccountParts & { readonly subjectIsUserId: boolean },
): Promise<string> {
  const { tenancy, rules, actor } = parts
  checkDomain(identity, rules)
  const link = await tenancy.identityLink(identity)
  if (link) return link.userId
  if (parts.subjectIsUserId && (await tenancy.find('user', identity.subject))) return identity.subject
  return tenancy.change(actor, async tx => {
    const known = await linkedUser(tx, identity, parts)
    if (known) return known.id
    const made = await createdUser(tx, identity, parts)
    await applyGroups(tx, made, { kind: 'team', ids: identity.teams, mapped: rules.mappedTeams })
    return made.id
  })
}
