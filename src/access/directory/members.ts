/** The members that a PATCH of a group adds and removes, so that a large group is not read for one of them. */
import { ScimError } from '../../lib/scim/error.ts'
import { fits } from '../../lib/scim/match.ts'
import type { Operation } from '../../lib/scim/patch.ts'
import { parseTarget } from '../../lib/scim/path.ts'
import type { Filter, Target } from '../../lib/scim/path.ts'
import { attributeNamed, isValues } from '../../lib/scim/schema.ts'
import type { Values } from '../../lib/scim/schema.ts'
import { readValue } from '../../lib/scim/values.ts'
import { groupType } from './schemas.ts'

const members = attributeNamed(groupType.schema.attributes, 'members')!

/** What happens to the members of a group, one step after the other. Lists are of ids of users. */
export type MemberStep =
  | { readonly kind: 'add' | 'remove' | 'set'; readonly userIds: readonly string[] }
  /** Those that it is true of. */
  | { readonly kind: 'removeWhere'; fits(userId: string): boolean }

/** The operations about members, as steps, and all others. Throws `invalidPath` and `invalidValue`. */
export function splitOperations(operations: readonly Operation[]): { steps: MemberStep[]; others: Operation[] } {
  const steps: MemberStep[] = []
  const others: Operation[] = []
  for (const operation of operations) {
    const { op, path, value } = operation
    const target = path === undefined ? undefined : membersTarget(path)
    if (target) steps.push(...stepsOf(op, target, value))
    else if (path === undefined && op !== 'remove' && isValues(value)) {
      const rest: Values = {}
      for (const [name, one] of Object.entries(value)) {
        const named = membersTarget(name)
        if (named) steps.push(...stepsOf(op, named, one))
        else rest[name] = one
      }
      if (Object.keys(rest).length > 0) others.push({ op, value: rest })
    } else others.push(operation)
  }
  return { steps, others }
}

/** undefined = the path is about something else, or about nothing. */
function membersTarget(text: string): Target | undefined {
  if (!/^(urn:.*:)?members\b/i.test(text)) return undefined
  const target = parseTarget(text)
  return target.path.name.toLowerCase() === 'members' ? target : undefined
}

function stepsOf(op: Operation['op'], { path, filter }: Target, value: unknown): MemberStep[] {
  if (path.sub !== undefined && path.sub.toLowerCase() !== 'value')
    throw new ScimError('mutability', `members: '${path.sub.slice(0, 100)}' cannot be changed`)
  if (filter) {
    if (op !== 'remove')
      throw new ScimError('invalidPath', 'members: a filter only removes; add members by their ids in `value`')
    const one = idIn(filter)
    if (one !== undefined) return [{ kind: 'remove', userIds: [one] }]
    const attributes = members.subAttributes!
    return [{ kind: 'removeWhere', fits: userId => fits(filter, { value: userId, type: 'User' }, attributes) }]
  }
  const userIds = memberIds(value)
  if (op === 'add') return [{ kind: 'add', userIds }]
  if (op === 'replace') return [{ kind: 'set', userIds }]
  // Entra ID names those that it removes in the value, too.
  return [value === undefined || value === null ? { kind: 'set', userIds: [] } : { kind: 'remove', userIds }]
}

/** The id in `value eq "..."`. */
function idIn(filter: Filter): string | undefined {
  const isId = filter.kind === 'compare' && filter.operator === 'eq' && filter.path.name.toLowerCase() === 'value'
  return isId && typeof filter.value === 'string' ? filter.value : undefined
}

/** The ids of members as a resource or an operation has them. Throws `invalidValue`. */
export function memberIds(value: unknown): string[] {
  const list = (readValue(members, value) ?? []) as readonly Values[]
  const ids = list.map(({ value: id, type }) => {
    if (typeof id !== 'string' || id === '')
      throw new ScimError('invalidValue', 'members: each needs the id of a user as its `value`')
    if (typeof type === 'string' && type.toLowerCase() === 'group')
      throw new ScimError('invalidValue', `members: '${id.slice(0, 100)}' is a group; only users can be members`)
    return id
  })
  return [...new Set(ids)]
}

/** Which members the steps add and remove. `present` = the ids of those who are there. */
export function memberChanges(
  steps: readonly MemberStep[],
  present: ReadonlySet<string>,
): { added: string[]; removed: string[] } {
  let after = new Set(present)
  for (const step of steps)
    if (step.kind === 'set') after = new Set(step.userIds)
    else if (step.kind === 'add') for (const id of step.userIds) after.add(id)
    else if (step.kind === 'removeWhere') {
      for (const id of after) if (step.fits(id)) after.delete(id)
    } else for (const id of step.userIds) after.delete(id)
  return { added: [...after].filter(id => !present.has(id)), removed: [...present].filter(id => !after.has(id)) }
}
