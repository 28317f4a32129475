/** Calls that name a customer who is blocked, or a customer or a tag of others, are refused. */
import { isLimitedCustomer, limitsCalls, namingProblem } from '../access/limits/named-owners.ts'
import { tagsOfKey } from '../access/key.ts'
import type { Caller } from '../core/caller.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { TenantDirectory } from '../core/tenancy/tenancy-store.ts'
import type { Customer, Tag } from '../core/tenancy/tenancy.ts'
import { endUserHeaderOf } from './check-fields.ts'
import { headerTag, tagsHeader } from './call-tags.ts'

/**
 * Throws `forbidden` with the field, before anything is counted. A call without such names costs nothing, one of cached
 * customers and tags no wait.
 */
export function namedTenants(tenants: TenantDirectory): Policy {
  return {
    name: 'named-tenants',
    stage: 'body',
    admit(call: Call) {
      const ofCustomer = call.endUser === '' ? undefined : admitCustomer(call, tenants)
      const ofTags = call.tags.length === 0 ? undefined : admitTags(call, tenants)
      if (ofCustomer && ofTags) return Promise.all([ofCustomer, ofTags]).then(() => {})
      return ofCustomer ?? ofTags
    },
  }
}

function admitCustomer(call: Call, tenants: TenantDirectory): Promise<void> | undefined {
  const found = tenants.lookup('customer', call.endUser)
  if (found instanceof Promise) return found.then(customer => checkCustomer(call, customer))
  checkCustomer(call, found)
}

function checkCustomer(call: CallInAdmission, customer: Customer | undefined): void {
  if (!customer) return
  const rules = call.models.settings.budgets
  const problem = namingProblem(call.caller, customer, isLimitedCustomer(customer, rules), rules)
  if (problem) {
    const param = endUserFieldOf(call)
    // The row of the refused call is none of the customer's.
    call.endUser = ''
    throw refused(param, 'customer', problem)
  }
  if (customer.blocked)
    throw new GatewayError('forbidden', 'this end user is blocked; ask an administrator of this gateway', {
      param: 'user',
    })
}

function admitTags(call: Call, tenants: TenantDirectory): Promise<void> | undefined {
  let waits: Promise<void>[] | undefined
  for (const name of call.tags) {
    const found = tenants.lookup('tag', name)
    if (found instanceof Promise) (waits ??= []).push(found.then(tag => checkTag(call, tag)))
    else checkTag(call, found)
  }
  return waits && Promise.all(waits).then(() => {})
}

/** An administrator may give a key or a team any tag without an owner: its calls do not choose it. */
function checkTag(call: CallInAdmission, tag: Tag | undefined): void {
  if (!tag) return
  const problem = namingProblem(call.caller, tag, limitsCalls(tag), call.models.settings.budgets)
  if (!problem) return
  const isOwn = hasTag(call.caller, tag.id)
  if (isOwn && problem === 'unowned') return
  const param = isOwn ? undefined : tagFieldOf(call, tag.id)
  call.tags = call.tags.filter(name => name !== tag.id)
  throw refused(param, 'tag', problem)
}

const hasTag = ({ key, team }: Caller, name: string): boolean =>
  [...(team?.tags ?? []), ...tagsOfKey(key)].some(one => one.trim() === name)

function refused(param: string | undefined, kind: 'customer' | 'tag', problem: 'foreign' | 'unowned'): GatewayError {
  const where = param === undefined ? 'the key of this call carries' : `\`${param}\` names`
  const why =
    problem === 'foreign'
      ? 'that belongs to another team or organization than the key; name one of its own, or use a key of that team'
      : 'that has limits or a budget and belongs to no team or organization, so that only keys of administrators, ' +
        'and keys without user, team and organization, may name it; an administrator can give it a `team_id` or ' +
        `\`organization_id\` (POST /${kind}/update), or set \`general_settings.unowned_limits: allow\``
  return new GatewayError('forbidden', `${where} a ${kind} ${why}`, { param: param ?? 'tags' })
}

function endUserFieldOf({ headers, body, endUser, models }: Call): string {
  const header = headers && endUserHeaderOf(headers, models.settings.endUserHeader)
  if (header) return header
  return ['user', 'safety_identifier'].find(name => body?.has(name) && body.get(name) === endUser) ?? 'metadata.user_id'
}

function tagFieldOf({ headers, body, models }: Call, tag: string): string {
  const ofHeader = headers?.get(tagsHeader)?.split(',') ?? []
  if (ofHeader.some(one => one.trim() === tag)) return tagsHeader
  const named = models.settings.spendTagHeaders.find(name => headers && headerTag(headers, name) === tag)
  if (named !== undefined) return named
  const ofBody: unknown = body?.has('tags') ? body.get('tags') : undefined
  const isOfBody = Array.isArray(ofBody) && ofBody.some(one => typeof one === 'string' && one.trim() === tag)
  return isOfBody ? 'tags' : 'metadata.tags'
}
