/** Finds or makes the user of a person at an identity provider, and gives it what the provider's claims say. */
import { randomUUIDv7 } from 'bun'
import { newUser } from '../../accounts/fields/user-fields.ts'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { AccountRules, Identity } from '../../core/sign-in/identity-providers.ts'
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
}

/**
 * The user of a person, with the role, teams and organizations that the claims say, in one transaction. Throws
 * IdentityRefusal for a person who may not sign in, and `overloaded` when the database is unreachable.
 */
export async function signInUser(identity: Identity, parts: AccountParts): Promise<User> {
  checkDomain(identity, parts.rules)
  return parts.tenancy.change(parts.actor, async tx => {
    const user = (await linkedUser(tx, identity)) ?? (await createdUser(tx, identity, parts))
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

/**
 * The user that the person is linked to, or is linked to from now on: by the id that an administrator gave the user, or
 * by a verified address. undefined = there is none. Throws IdentityRefusal for a user who is deactivated, and where an
 * address does not say who it is.
 */
async function linkedUser(tx: TenancyTransaction, identity: Identity): Promise<User | undefined> {
  const { issuer, subject } = identity
  const link = await tx.identityLink(identity)
  const known = link && (await tx.find('user', link.userId))
  if (known) return active(known)
  const user = (await userById(tx, subject)) ?? (await userByEmail(tx, identity))
  if (!user) return undefined
  await tx.linkIdentity({ issuer, subject, userId: active(user).id })
  return user
}

async function userById(tx: TenancyTransaction, subject: string): Promise<User | undefined> {
  const users = await tx.usersBySsoId(subject)
  if (users.length > 1)
    throw new IdentityRefusal(`several users have the \`sso_user_id\` '${subject}'; leave it with one of them`)
  const [user] = users
  // One who has signed in is known by that link: the same id at another provider is another person.
  return user && (await tx.identityLinksOf(user.id)).length === 0 ? user : undefined
}

async function userByEmail(
  tx: TenancyTransaction,
  { issuer, email, emailVerified }: Identity,
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
  return user
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
  const { issuer, subject, name, email, emailVerified } = identity
  if (!rules.createsUsers)
    throw new IdentityRefusal(
      `there is no user for '${email ?? subject}', and this provider makes none: make one with this address ` +
        '(POST /user/new), or set `allowed_email_domains` or `create_users`',
    )
  const removal = await tx.identityRemoval(identity)
  if (removal)
    throw new IdentityRefusal(
      `the user '${removal.userId}' of this person was removed; an administrator lets the person in again by making ` +
        `a user with the \`sso_user_id\` '${subject}' (POST /user/new)`,
    )
  const fields = { ...newUsers, alias: name, email: emailVerified ? email : null, ssoUserId: subject }
  const user = await tx.insert('user', { ...newUser(randomUUIDv7(), {}, fields), role: identity.role ?? newUsers.role })
  await tx.linkIdentity({ issuer, subject, userId: user.id })
  return user
}

/** A role that the provider no longer gives is gone; an address follows the verified one where that is free. */
async function applyFields(
  tx: TenancyTransaction,
  user: User,
  identity: Identity,
  { newUsers }: Pick<AccountParts, 'newUsers'>,
): Promise<User> {
  const { role, email, emailVerified, name, subject } = identity
  const takesEmail =
    emailVerified && email !== null && email !== user.email && (await tx.usersByEmail(email)).length === 0
  const wanted: TenantChanges<'user'> = {
    ...(role !== undefined && (role ?? newUsers.role) !== user.role && { role: role ?? newUsers.role }),
    ...(takesEmail && { email }),
    ...(user.alias === null && name !== null && { alias: name }),
    ...(user.ssoUserId === null && { ssoUserId: subject }),
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
  const added = await tx.findAll(
    kind,
    [...wanted].filter(id => !has.has(id)),
  )
  for (const { id: groupId } of added)
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
    const known = await linkedUser(tx, identity)
    if (known) return known.id
    const made = await createdUser(tx, identity, parts)
    await applyGroups(tx, made, { kind: 'team', ids: identity.teams, mapped: rules.mappedTeams })
    return made.id
  })
}
