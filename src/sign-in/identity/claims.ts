/** What the claims of a person mean here, by the mapping of the configuration. Pure. */
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { ClaimMapping, Identity } from '../../core/sign-in/identity-providers.ts'
import { asciiLower } from '../../lib/text.ts'
import { isObject, objectOf } from '../../lib/json/json-values.ts'
import { userRoles } from '../../core/tenancy/fields.ts'
import type { UserRole } from '../../core/tenancy/fields.ts'

/** Claims as a provider sends them. */
export type Claims = Readonly<Record<string, unknown>>

const subjectLengthMax = 255
const emailLengthMax = 255
const nameLengthMax = 200
/** Of one claim. The answer of a provider is bounded before. */
const valuesMax = 10_000
/** OpenID Connect Core 1.0, 5.1: what it says is about the claim `email`, and about no other one. */
const emailClaim = 'email'
/** That of OpenID Connect, and Entra's own: the domain of the address belongs to the directory. */
const emailProofs = ['email_verified', 'xms_edov'] as const

/**
 * Reads a person from claims. `issuer` = who signed them, or whose userinfo endpoint sent them. Throws IdentityRefusal
 * where the subject is missing, a required claim has another value, or a mapped claim was left out for its length or
 * cannot be read: what a person is no longer in must not be guessed.
 */
export function readIdentity(claims: Claims, issuer: string, mapping: ClaimMapping, trustsEmail: boolean): Identity {
  checkRequired(claims, mapping.required)
  const written = textOf(claims, mapping.email)
  const email = written === undefined ? null : asciiLower(written)
  const isAddress = email !== null && email.length <= emailLengthMax && isPlain(email) && addressForm.test(email)
  return {
    issuer: subjectsOf(issuer, mapping),
    subject: subjectOf(claims, mapping.subject),
    email: isAddress ? email : null,
    emailVerified:
      isAddress && (trustsEmail || (mapping.email === emailClaim && emailProofs.some(proof => isTrue(claims[proof])))),
    name: nameOf(textOf(claims, mapping.name)),
    role: mapping.role === null ? undefined : roleOf(valuesOf(claims, mapping.role), mapping.roles),
    teams: mapping.team === null ? undefined : mapped(valuesOf(claims, mapping.team), mapping.teams),
    organizations:
      mapping.organization === null ? undefined : mapped(valuesOf(claims, mapping.organization), mapping.organizations),
  }
}

/** The claims that `mapping` reads and these claims lack: another source may have them. */
export function hasAllClaims(claims: Claims, mapping: ClaimMapping): boolean {
  const { subject, email, role, team, organization, required } = mapping
  const names = [subject, email, role, team, organization, ...Object.keys(required)]
  return names.every(name => name === null || valueAt(claims, name) !== undefined)
}

/** Whose subjects they are: of one issuer a claim that persons choose must not name those of another claim. */
export function subjectsOf(issuer: string, { subject }: Pick<ClaimMapping, 'subject'>): string {
  return subject === 'sub' ? issuer : `${issuer}#${subject}`
}

/**
 * The claims of an ID token, and those of the userinfo endpoint that it lacks. That an address is verified counts for
 * the address beside which it stands alone.
 */
export function joinedClaims(signed: Claims, more: Claims): Claims {
  const joined: Record<string, unknown> = { ...more, ...signed }
  const [source, other] = Object.hasOwn(signed, emailClaim) ? [signed, more] : [more, signed]
  const isSame = typeof source.email === 'string' && source.email === other.email
  for (const proof of emailProofs)
    joined[proof] = Object.hasOwn(source, proof) ? source[proof] : isSame ? other[proof] : undefined
  joined[leftOutClaim] = { ...objectOf(more[leftOutClaim]), ...objectOf(signed[leftOutClaim]) }
  return joined
}

/**
 * The texts of a claim: those of a list, or of a text with spaces between, as `scope` has. Numbers and booleans count
 * as they are written. Throws IdentityRefusal for a claim that was left out because it would be too long, and for one
 * that is something else.
 */
function valuesOf(claims: Claims, name: string): string[] {
  const value = valueAt(claims, name)
  if (value === undefined || value === null) {
    checkOverage(claims, name)
    checkPath(claims, name)
    return []
  }
  if (typeof value === 'string' && (name === 'scope' || name === 'scp'))
    return value.split(' ').filter(one => one !== '')
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > valuesMax)
    throw new IdentityRefusal(
      `the claim '${name}' has ${list.length} values, and ${valuesMax} are the most; let the provider send only ` +
        'those that matter here',
    )
  return list.map(one => {
    const text = scalarText(one)
    if (text !== undefined) return text
    throw new IdentityRefusal(
      `the claim '${name}' has a value that is no text (${typeof one === 'object' ? 'an object' : typeof one}); let ` +
        'the provider send a list of texts, or name the claim that has one',
    )
  })
}

/** Throws IdentityRefusal where a claim of this path cannot be there for what stands in its place. */
function checkPath(claims: Claims, name: string): void {
  const [outermost = name] = name.split('.')
  const value = claims[outermost]
  if (outermost === name || value === undefined || value === null || isObject(value)) return
  throw new IdentityRefusal(`the claim '${name}' cannot be read: '${outermost}' is no object`)
}

/** undefined = it cannot be compared with a text of the configuration. */
function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isSafeInteger(value))) return String(value)
  return undefined
}

/** A claim by its own name, which may have dots (`https://example.com/roles`), else by its path. */
function valueAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}

function textOf(claims: Claims, name: string): string | undefined {
  const value = valueAt(claims, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Postgres stores no NUL, and half of a surrogate pair becomes another text. Lists are printed in lines. */
const controls = /\p{Cc}/u
const addressForm = /^[^\s@]+@[^\s@]+$/
const isPlain = (text: string): boolean => !controls.test(text) && text.isWellFormed()

/** As it can be stored and shown; null = nothing is left of it. */
function nameOf(written = ''): string | null {
  const plain = written.replaceAll(/\p{Cc}+/gu, ' ').slice(0, nameLengthMax)
  // A character that was cut in two is left out.
  return (
    plain
      .toWellFormed()
      .replace(/\ufffd$/, '')
      .trim() || null
  )
}

function subjectOf(claims: Claims, name: string): string {
  const value = valueAt(claims, name)
  // Providers of OAuth 2.0 alone (GitHub) have ids that are numbers.
  const subject = typeof value === 'number' ? scalarText(value) : value
  if (typeof subject !== 'string' || subject === '')
    throw new IdentityRefusal(
      `the claim '${name}', which names the person, is missing; ask the provider for it by \`scope\`, or name ` +
        'another claim that never changes (`user_id_claim`)',
    )
  if (subject.length > subjectLengthMax || !isPlain(subject))
    throw new IdentityRefusal(
      `the claim '${name}' is longer than ${subjectLengthMax} characters, or has control characters`,
    )
  return subject
}

/** Throws IdentityRefusal unless the claims have, of each name, one of the values. */
export function checkRequired(claims: Claims, required: ClaimMapping['required']): void {
  for (const [name, allowed] of Object.entries(required)) {
    const values = scalarsOf(claims, name)
    if (values.some(one => allowed.includes(one))) continue
    throw new IdentityRefusal(
      `the claim '${name}' is ${values.length === 0 ? 'missing' : 'none of those that are allowed'}: ` +
        '`required_claims` asks for one of its values',
    )
  }
}

/** The claims have, of each name, one of the values. */
export function hasClaims(claims: Claims, wanted: ClaimMapping['required']): boolean {
  return Object.entries(wanted).every(([name, allowed]) => scalarsOf(claims, name).some(one => allowed.includes(one)))
}

/** The values of a claim as texts, of those that are some: here one that fits has to be there, and no other counts. */
function scalarsOf(claims: Claims, name: string): string[] {
  const value = valueAt(claims, name)
  if (!Array.isArray(value)) return scalarText(value) === undefined ? [] : valuesOf(claims, name)
  return value.map(scalarText).filter(one => one !== undefined)
}

/** Claims that stand elsewhere (OpenID Connect Core 1.0, 5.6.2). */
const leftOutClaim = '_claim_names'

/** Microsoft Entra leaves groups out where there are more than 200. */
function checkOverage(claims: Claims, name: string): void {
  const left = claims[leftOutClaim]
  const [outermost = name] = name.split('.')
  const isLeftOut =
    (isObject(left) && (Object.hasOwn(left, name) || Object.hasOwn(left, outermost))) ||
    (name === 'groups' && isTrue(claims.hasgroups))
  if (isLeftOut)
    throw new IdentityRefusal(
      `the provider left the claim '${name}' out because the person is in too many groups; let it send only the ` +
        'groups that are assigned to the application, or application roles',
    )
}

/** From the widest to the narrowest. */
function roleOf(values: readonly string[], roles: Readonly<Record<string, UserRole>>): UserRole | null {
  const isMapped = Object.keys(roles).length > 0
  const found = new Set(values.map(one => (isMapped ? (Object.hasOwn(roles, one) ? roles[one] : undefined) : one)))
  return userRoles.find(role => found.has(role)) ?? null
}

function mapped(values: readonly string[], ids: Readonly<Record<string, string>>): string[] {
  if (Object.keys(ids).length === 0) return [...new Set(values)]
  return [...new Set(values.flatMap(one => (Object.hasOwn(ids, one) ? [ids[one]!] : [])))]
}

const isTrue = (value: unknown): boolean => value === true || value === 'true' || value === 1 || value === '1'

/** The groups that claims are mapped to; undefined = the values of the claim are ids themselves. */
export function mappedIds({ teams, organizations }: ClaimMapping): {
  readonly mappedTeams: readonly string[] | undefined
  readonly mappedOrganizations: readonly string[] | undefined
} {
  const idsOf = (ids: Readonly<Record<string, string>>) => {
    const values = Object.values(ids)
    return values.length === 0 ? undefined : values
  }
  return { mappedTeams: idsOf(teams), mappedOrganizations: idsOf(organizations) }
}

/** Not verified: it decides only who is asked about the token. undefined = it is no JWT, or names none. */
export function claimedIssuer(token: string): unknown {
  const [, payload = ''] = token.split('.', 2)
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null ? (claims as Claims).iss : undefined
  } catch {
    return undefined
  }
}
