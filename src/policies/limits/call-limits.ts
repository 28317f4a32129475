/** The limits of a call: its key's, and those of the customer, the tags and the session that it names. */
import { CallerLimits } from '../../access/limits/limit-scopes.ts'
import type { LimitOwner, ModelLimits } from '../../access/limits/limit-scopes.ts'
import { endUserLimits } from '../../access/limits/named-owners.ts'
import { hasSessionBudget, sessionLimits } from '../../access/limits/session-budget.ts'
import type { Call } from '../../core/call.ts'
import type { Caller } from '../../core/caller.ts'
import type { Settings } from '../../core/settings.ts'
import type { TenantDirectory } from '../../core/tenancy/tenancy-store.ts'
import type { Tag } from '../../core/tenancy/tenancy.ts'

/** Finds the compiled limits of a caller. */
export interface CallLimits {
  /** The name of this process in the lists of budgets in the ledger. */
  readonly spendWriter: string
  /** Those of a caller under one set of settings: compiled once, not for each call. */
  of(caller: Caller, settings: Settings): CallerLimits
  /** Once the body is read. A promise where a customer or a tag is asked for that is not cached. */
  ofCall(call: LimitedCall): ModelLimits | Promise<ModelLimits>
}

/** What of a call decides which limits it counts in. */
export type LimitedCall = Pick<Call, 'caller' | 'tags' | 'endUser' | 'model' | 'models'> &
  Partial<Pick<Call, 'sessionId' | 'headers'>>

/** `spendWriter`: see `budgetScopesOf`. */
export function createCallLimits(tenants: TenantDirectory, spendWriter: string): CallLimits {
  const known = new WeakMap<Caller, { readonly under: Settings; readonly limits: CallerLimits }>()
  const of = (caller: Caller, under: Settings) => {
    let found = known.get(caller)
    if (found?.under !== under)
      known.set(caller, (found = { under, limits: new CallerLimits(caller, under, spendWriter) }))
    return found.limits
  }
  return {
    spendWriter,
    of,
    ofCall(call) {
      const limits = of(call.caller, call.models.settings)
      if (call.endUser === '' && (call.tags === undefined || call.tags.length === 0) && !hasSessionBudget(call))
        return limits.ofModel(call.model, call.models)
      return withOthers(limits, call, tenants)
    },
  }
}

function withOthers(
  limits: CallerLimits,
  call: LimitedCall,
  tenants: TenantDirectory,
): ModelLimits | Promise<ModelLimits> {
  const others = othersOf(call, tenants)
  if (others instanceof Promise) return others.then(found => limits.ofModel(call.model, call.models, found))
  return limits.ofModel(call.model, call.models, others)
}

type Named = LimitOwner | undefined

/** Tags of the key are the caller's own. */
function othersOf(call: LimitedCall, tenants: TenantDirectory): LimitOwner[] | Promise<LimitOwner[]> {
  const { endUser, tags = [], caller, models } = call
  const found: (Named | Promise<Named>)[] = [sessionLimits(call)]
  if (endUser !== '') found.push(endUserLimits(caller, endUser, tenants, models.settings.budgets))
  for (const name of tags) {
    if (caller.tags?.some(({ id }) => id === name)) continue
    const tag = tenants.lookup('tag', name)
    found.push(tag instanceof Promise ? tag.then(tagOf) : tagOf(tag))
  }
  return found.every(isAtHand) ? present(found) : Promise.all(found).then(present)
}

const isAtHand = (owner: Named | Promise<Named>): owner is Named => !(owner instanceof Promise)
const present = (owners: readonly Named[]): LimitOwner[] => owners.filter(one => one !== undefined)

const tagOf = (tag: Tag | undefined): Named => tag && { id: `tag:${tag.id}`, fields: tag }
