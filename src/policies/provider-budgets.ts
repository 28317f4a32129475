/** What all calls at one provider may cost together: `provider_budget_config`. */
import { BudgetPlan, budgetDefinitions } from '../access/limits/budget-plan.ts'
import type { BudgetScopes } from '../core/tenancy/budget-charge.ts'
import type { BudgetSettings } from '../core/tenancy/budgets.ts'
import type { Call, Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Limiter, LimitReservation, LimitScope } from '../core/tenancy/limits.ts'
import type { Policy } from '../core/policy.ts'
import { unlimited } from '../core/tenancy/tenancy.ts'
import type { Clock } from '../lib/clock.ts'
import type { CallLimits } from './limits/call-limits.ts'
import { limitRefusal } from './limits/refusal.ts'
import { leftIn, measureWhereTight } from './limits/closer-bound.ts'
import { fallbackLists, keepDeployments } from '../access/models/serving-deployments.ts'

interface ProviderBudgetParts {
  readonly limiter: Limiter
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  readonly limits: Pick<CallLimits, 'spendWriter'>
}

/** What a call reserved at one provider. */
interface Reserved {
  readonly taken: LimitReservation
  readonly nanoUsd: number
  readonly scopes: readonly LimitScope[]
  /** For the ledger. */
  readonly list: readonly string[]
}

type Plans = ReadonlyMap<string, BudgetPlan>

/**
 * Once the deployments of a call are known: those of a provider whose budget has too little left for it are passed
 * over. Throws `budget-exceeded` where none of its own model is left. The provider that answers is charged the whole
 * cost of the call, also what attempts at others cost. `onBody` reserves, `atEnd` charges: before the ledger has the
 * row, after the budgets of the caller are charged.
 */
export function providerBudgets(parts: ProviderBudgetParts): { readonly onBody: Policy; readonly atEnd: Policy } {
  const compiled = new WeakMap<BudgetSettings, Plans>()
  const reserved = new WeakMap<Call, ReadonlyMap<string, Reserved>>()
  const plansOf = (settings: BudgetSettings) => {
    let plans = compiled.get(settings)
    if (!plans) compiled.set(settings, (plans = compile(settings, parts.limits.spendWriter)))
    return plans
  }
  return {
    onBody: {
      name: 'provider-budgets',
      stage: 'body',
      dryRun: false,
      admit(call) {
        const plans = plansOf(call.models.settings.budgets)
        if (plans.size === 0 || call.candidates.length === 0) return
        return reserve(parts, call, plans).then(taken => {
          if (call.client.left) for (const one of taken.values()) one.taken.release(0)
          else {
            reserved.set(call, taken)
            if (taken.size > 0) call.taken.atProviders = [...taken.values()]
          }
        })
      },
    },
    atEnd: {
      name: 'charge-provider-budgets',
      stage: 'body',
      dryRun: false,
      settled(settlement) {
        const taken = reserved.get(settlement.call)
        if (taken) charge(settlement, taken)
      },
    },
  }
}

function compile({ providers, timeZone }: BudgetSettings, writer: string): Plans {
  const plans = Object.entries(providers).map(([name, rule]) => {
    const definitions = budgetDefinitions(`provider:${name}`, { ...unlimited, ...rule }, [])
    return [name, new BudgetPlan(definitions, { timeZone, writer })] as const
  })
  return new Map(plans)
}

const providerOf = ({ target }: Deployment): string => target.provider.name

async function reserve(
  { limiter, clock }: ProviderBudgetParts,
  call: Call,
  plans: Plans,
): Promise<ReadonlyMap<string, Reserved>> {
  const taken = new Map<string, Reserved>()
  const limited = new Map<string, BudgetScopes>()
  for (const name of new Set(deploymentsOf(call).map(providerOf))) {
    const budgets = plans.get(name)?.at(clock.epochMs())
    if (budgets) limited.set(name, budgets)
  }
  for (const { scopes } of limited.values()) await limiter.prepare(scopes)
  for (const { scopes } of limited.values()) await measureWhereTight(call, leftIn(limiter, scopes))
  const { costNanoUsdMax } = call.bounds()
  const nanoUsd = Number(costNanoUsdMax ?? call.models.settings.budgets.reserveNanoUsd)
  if (nanoUsd === 0) return taken
  const hasRoom = (one: Deployment) => {
    const budgets = limited.get(providerOf(one))
    return !budgets || budgets.scopes.every(scope => limiter.budgetLeft(scope) >= nanoUsd)
  }
  // Where none has room the first is asked all the same: it waits for reservations, or says why it refuses.
  if (call.candidates.some(hasRoom)) passOver(call, hasRoom)
  try {
    for (const name of new Set(deploymentsOf(call).map(providerOf))) {
      const budgets = limited.get(name)
      if (!budgets) continue
      const verdict = await limiter.take(budgets.scopes, 0, nanoUsd)
      if (verdict.allowed) taken.set(name, { taken: verdict, nanoUsd, ...budgets })
      else if (call.candidates.every(one => providerOf(one) === name)) throw limitRefusal(call.responseHeaders, verdict)
      else passOver(call, one => providerOf(one) !== name)
    }
  } catch (error) {
    for (const one of taken.values()) one.taken.release(0)
    throw error
  }
  return taken
}

function deploymentsOf(call: Call): readonly Deployment[] {
  return [...call.candidates, ...fallbackLists.flatMap(list => call[list].flatMap(one => one.deployments))]
}

/** The call goes to no others than these. */
const passOver = (call: Call, isKept: (one: Deployment) => boolean): void =>
  keepDeployments(call, group => group.filter(isKept))

function charge(settlement: Settlement, taken: ReadonlyMap<string, Reserved>): void {
  const { call, costNanoUsd, isOwed, charge: charged } = settlement
  const deployment = call.attempt?.deployment
  const name = deployment && providerOf(deployment)
  for (const [provider, one] of taken) {
    if (provider !== name) {
      one.taken.release(0)
      continue
    }
    const own = costNanoUsd === null ? (isOwed ? one.nanoUsd : 0) : Number(costNanoUsd)
    const nanoUsd = charged?.nanoUsd ?? own
    const [, ...scopes] = one.list
    settlement.charge = { nanoUsd, list: [...(charged?.list ?? one.list.slice(0, 1)), ...scopes] }
    one.taken.release(0, nanoUsd)
  }
}
