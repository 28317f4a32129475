/** The limits and budgets that a call counts in: those of its key and of everything that the key belongs to. */
import type { Caller } from '../../core/caller.ts'
import { isMaster } from '../../core/caller.ts'
import type { BudgetDefinition } from '../../core/tenancy/budgets.ts'
import type { LimitScope } from '../../core/tenancy/limits.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import type { Settings } from '../../core/settings.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { BudgetPlan, budgetDefinitions } from './budget-plan.ts'
import { namesOfModel } from '../models/names-of-model.ts'

/** Models of one caller, with the customers and tags of its calls, whose limits are kept compiled. */
const modelsMax = 1000

/** What sets limits, and the scope in which they count. */
export interface LimitOwner {
  /** `key:ID`, `team:ID`, `customer:ID`, ... */
  readonly id: string
  readonly fields: SpendingFields
}

const noOwners: readonly LimitOwner[] = []

type LimitSettings = Pick<Settings, 'userLimits' | 'rateLimitCounts' | 'budgets'>

/** Of the calls of one model. */
export interface ModelLimits {
  /** Of this model in the caller's scopes, and of what the call names. */
  readonly limits: readonly LimitScope[]
  /** undefined = no budget holds. */
  readonly plan: BudgetPlan | undefined
  /** Of these those of this model alone. */
  readonly ofModel: readonly LimitScope[]
  readonly modelPlan: BudgetPlan | undefined
}

/** The limits of one caller under one set of settings. Lists are empty where nothing is limited. */
export class CallerLimits {
  /** Requests and parallel calls, which are counted before the body is read. */
  readonly head: readonly LimitScope[]
  /** Tokens alone: where the body's length is not announced, they are taken once it is read. */
  readonly tokens: readonly LimitScope[]
  /** Both at once. */
  readonly all: readonly LimitScope[]
  /** Requests alone, of what is counted one by one: further attempts, and requests that are no calls. */
  readonly requests: readonly LimitScope[]
  readonly #caller: Caller
  readonly #owners: readonly LimitOwner[]
  readonly #settings: LimitSettings
  readonly #writer: string
  readonly #models = new Map<string, Compiled>()
  /** What was found last with `others`: mostly it is requested again. */
  #last: Compiled | undefined

  constructor(caller: Caller, settings: LimitSettings, writer: string) {
    const owners = ownersOf(caller, settings.userLimits)
    const countsAll = settings.rateLimitCounts === 'requests'
    const limited = owners.flatMap(({ id, fields }) => scopeOf(id, fields))
    // All requests were counted already, each in a scope of its own.
    this.all = countsAll ? limited.map(scope => ({ ...scope, requestsPerMinute: null })) : limited
    this.head = this.all.flatMap(scope =>
      scope.requestsPerMinute === null && scope.parallelRequests === null ? [] : [{ ...scope, tokensPerMinute: null }],
    )
    this.tokens = limited.flatMap(scope =>
      scope.tokensPerMinute === null ? [] : [{ ...scope, requestsPerMinute: null, parallelRequests: null }],
    )
    this.requests = limited.flatMap(scope =>
      scope.requestsPerMinute === null
        ? []
        : [
            {
              ...scope,
              id: countsAll ? `${scope.id}:requests` : scope.id,
              tokensPerMinute: null,
              parallelRequests: null,
            },
          ],
    )
    this.#caller = caller
    this.#owners = owners
    this.#settings = settings
    this.#writer = writer
  }

  /**
   * What holds beside these for calls of a model, compiled once. `index` has to be that of the settings. `others` =
   * what the call names and its key does not: a customer, tags.
   */
  ofModel(model: string, index: ModelDirectory, others = noOwners): ModelLimits {
    const last = this.#last
    if (last?.model === model && areSame(last.others, others)) return last.limits
    const name = others.length === 0 ? model : [model, ...others.map(({ id }) => id)].join('\0')
    const known = this.#models.get(name)
    const found = known && areSame(known.others, others) ? known : this.#remember(name, { model, index }, others)
    this.#last = found
    return found.limits
  }

  #remember(name: string, model: Named, others: readonly LimitOwner[]): Compiled {
    const compiled = { model: model.model, others, limits: this.#compile(model, others) }
    if (this.#models.size >= modelsMax) this.#models.clear()
    this.#models.set(name, compiled)
    return compiled
  }

  /**
   * The same one by one, with what sets each, for people: also what sets nothing. `named` undefined = the limits of
   * every model that has its own.
   */
  owned(named: Named | undefined, others = noOwners): readonly OwnedLimits[] {
    const ofCall = named && [...namesOfModel(this.#caller, named.model, named.index)]
    const { all } = this.#settings.budgets
    const owners = [...this.#owners, ...others]
    if (all && this.#owners.length > 0) owners.push({ id: 'gateway', fields: { ...unlimited, ...all } })
    return owners.flatMap(({ id, fields }) => {
      const names = ofCall ?? modelsIn(fields)
      const budgets = budgetDefinitions(id, fields, names)
      const ofId = (scope: string) => budgets.find(one => one.id === scope)
      const limits = this.#settings.rateLimitCounts === 'requests' ? apart(scopeOf(id, fields)) : scopeOf(id, fields)
      const ofModels = names.flatMap(model => {
        const scope = `${id}:model:${model}`
        const counted = scopeOf(scope, limitsOfModel(fields, model))
        const budget = ofId(scope)
        return counted.length > 0 || budget ? [{ id, fields, model, limits: counted, budget }] : []
      })
      return [{ id, fields, model: null, limits, budget: ofId(id) }, ...ofModels]
    })
  }

  #compile({ model, index }: Named, others: readonly LimitOwner[]): ModelLimits {
    const { all, timeZone } = this.#settings.budgets
    const names = [...namesOfModel(this.#caller, model, index)]
    const owners = [...this.#owners, ...others]
    const ofModel = owners.flatMap(({ id, fields }) =>
      names.flatMap(name => scopeOf(`${id}:model:${name}`, limitsOfModel(fields, name))),
    )
    const ofOthers = others.flatMap(({ id, fields }) => scopeOf(id, fields))
    if (all && this.#owners.length > 0) owners.push({ id: 'gateway', fields: { ...unlimited, ...all } })
    const planOf = (budgets: readonly BudgetDefinition[]) =>
      budgets.length > 0 ? new BudgetPlan(budgets, { timeZone, writer: this.#writer }) : undefined
    const budgets = owners.map(({ id, fields }) => ({ id, found: budgetDefinitions(id, fields, names) }))
    return {
      limits: [...ofModel, ...ofOthers],
      ofModel,
      plan: planOf(budgets.flatMap(({ found }) => found)),
      modelPlan: planOf(budgets.flatMap(({ id, found }) => found.filter(one => one.id !== id))),
    }
  }
}

/** A model as a call names it, and what finds its other names. */
export interface Named {
  readonly model: string
  readonly index: ModelDirectory
}

interface Compiled {
  readonly model: string
  readonly others: readonly LimitOwner[]
  readonly limits: ModelLimits
}

/** Also that nothing was changed in them meanwhile. */
function areSame(some: readonly LimitOwner[], others: readonly LimitOwner[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++)
    if (some[at]!.fields !== others[at]!.fields || some[at]!.id !== others[at]!.id) return false
  return true
}

/** What one owner sets, for all models or for one. */
export interface OwnedLimits extends LimitOwner {
  /** null = for all models. */
  readonly model: string | null
  /** Empty = none. Two where requests are counted in a scope of their own. */
  readonly limits: readonly LimitScope[]
  readonly budget: BudgetDefinition | undefined
}

const modelsIn = (fields: SpendingFields): string[] => [
  ...new Set([fields.modelRequestsPerMinute, fields.modelTokensPerMinute, fields.modelMaxBudget].flatMap(Object.keys)),
]

const limitsOfModel = (fields: SpendingFields, name: string) => ({
  requestsPerMinute: limitOf(fields.modelRequestsPerMinute, name),
  tokensPerMinute: limitOf(fields.modelTokensPerMinute, name),
  parallelRequests: null,
})

/** Requests in a scope of their own: all are counted, not calls alone. */
const apart = (scopes: readonly LimitScope[]): LimitScope[] =>
  scopes.flatMap(scope => [
    { ...scope, requestsPerMinute: null },
    { ...scope, id: `${scope.id}:requests`, tokensPerMinute: null, parallelRequests: null },
  ])

const limitOf = (limits: SpendingFields['modelTokensPerMinute'], model: string): number | null =>
  Object.hasOwn(limits, model) ? limits[model]! : null

function scopeOf(
  id: string,
  fields: Pick<SpendingFields, 'requestsPerMinute' | 'tokensPerMinute' | 'parallelRequests'>,
): LimitScope[] {
  const { tokensPerMinute, parallelRequests } = fields
  // The first call of a window may be larger than its tokens, so that no limit refuses every call; 0 is meant to.
  const requestsPerMinute = tokensPerMinute === 0 ? 0 : fields.requestsPerMinute
  if (requestsPerMinute === null && tokensPerMinute === null && parallelRequests === null) return []
  return [{ id, requestsPerMinute, tokensPerMinute, parallelRequests }]
}

/** The key and everything that it belongs to. The master key has no limits. */
function ownersOf(caller: Caller, userLimits: Settings['userLimits']): LimitOwner[] {
  if (isMaster(caller)) return []
  const { key, team, member, organization, memberships = [], tags = [], derived = [] } = caller
  const owners: LimitOwner[] = [{ id: `key:${key.id}`, fields: key }, userOf(caller, userLimits)]
  for (const one of derived) owners.push({ id: `derived:${one.id}`, fields: one })
  if (team) owners.push({ id: `team:${team.id}`, fields: team })
  if (member) owners.push({ id: `member:${member.groupId}/${member.userId}`, fields: member })
  if (organization) {
    owners.push({ id: `organization:${organization.id}`, fields: organization })
    const inside = memberships.find(one => one.kind === 'organization' && one.groupId === organization.id)
    if (inside) owners.push({ id: `organization_member:${inside.groupId}/${inside.userId}`, fields: inside })
  }
  for (const tag of tags) owners.push({ id: `tag:${tag.id}`, fields: tag })
  return owners
}

/**
 * The defaults apply to every user without limits of its own. A key without a user counts as a user of its own:
 * otherwise it would have no user limit.
 */
function userOf({ key, user }: Caller, userLimits: Settings['userLimits']): LimitOwner {
  const id = `user:${user?.id ?? key.userId ?? `key:${key.id}`}`
  const fields = user ?? unlimited
  const isLimited = fields.requestsPerMinute ?? fields.tokensPerMinute ?? fields.parallelRequests
  return { id, fields: isLimited === null ? { ...fields, ...userLimits } : fields }
}
