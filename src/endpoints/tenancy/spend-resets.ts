/** What a key or a team has spent, set anew by those who manage its budget. */
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { dollars, dollarsOf } from '../../access/fields/money.ts'
import { administersOrganization, administersTeam } from '../../access/rights.ts'
import { iso } from '../../access/fields/answers.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import type { SpendReset, TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { nanoUsdToText } from '../../pricing/cost.ts'
import { absent, forbidden } from '../common/answers.ts'
import { changeableKey, checkMaker, teamOf } from './common/key-rights.ts'
import { withBody } from '../common/json-endpoint.ts'
import { administeredTeam } from './common/access.ts'
import { lazy } from '../../lib/lazy.ts'
import { dateTime, described, named, nullable, number, shape, text } from '../openapi/schema.ts'

const body = lazy(() =>
  z.strictObject({
    reset_to: dollars()
      .refine(value => value !== null, 'must be an amount of dollars')
      .transform(value => value ?? 0n)
      .describe('Dollars that count as spent from now on: from 0 to what is shown as spent.'),
  }),
)

const spendResetFields = {
  spend: described('Dollars that count as spent from now on.', number),
  previous_spend: described('Dollars that were shown as spent before.', number),
  max_budget: nullable(number),
  budget_reset_at: nullable(dateTime),
}

type ResettableKind = Parameters<TenancyTransaction['resetSpend']>[0]

interface SpendResetRequest {
  readonly kind: ResettableKind
  readonly id: string
  readonly toNanoUsd: bigint
  /** Throws where the caller may not, by the state within the transaction. */
  check(tx: TenancyTransaction): Promise<SpendingFields>
}

/** Sees every call that was settled here before it was asked. */
async function reset(services: Services, caller: Caller, { kind, id, toNanoUsd, check }: SpendResetRequest) {
  await services.ledger.flush()
  let fields: SpendingFields | undefined
  const { beforeNanoUsd, afterNanoUsd }: SpendReset = await services.tenancy.change(actorOf(caller), async tx => {
    fields = await check(tx)
    return tx.resetSpend(kind, id, toNanoUsd)
  })
  return {
    spend: Number(nanoUsdToText(afterNanoUsd)),
    previous_spend: Number(nanoUsdToText(beforeNanoUsd)),
    max_budget: dollarsOf(fields!.maxBudgetNanoUsd),
    budget_reset_at: iso(fields!.budgetResetAtMs),
  }
}

/**
 * Administrators, and admins of the key's team. 404 for an unknown key, 403 for one that the caller may change but
 * whose budget is not its own to loosen, 400 for more than was spent.
 */
const keySpendReset = withBody(body, {
  tag: 'Keys',
  answer: named('KeySpendReset', () => shape({ key_hash: text, ...spendResetFields })),
  paths: ['/key/{key}/reset_spend'],
  auth: 'manager',
  operationId: 'resetKeySpend',
  summary: 'Set what a key has spent to a lower amount',
  failures: [400, 404],
  async handle({ reset_to: toNanoUsd }, { services, caller, request }) {
    const { id, hash } = await changeableKey(services, caller, request.params.key!)
    const check = async (tx: TenancyTransaction) => {
      const key = await tx.findKey({ id })
      if (!key) throw absent('key', 'key')
      if (isAdministrator(caller)) return key
      checkMaker(caller)
      const team = await teamOf(tx, key)
      if (!team || !administersTeam(caller, team))
        throw forbidden('only administrators and admins of its team reset what a key has spent', 'key')
      return key
    }
    return { key_hash: hash, ...(await reset(services, caller, { kind: 'key', id, toNanoUsd, check })) }
  },
})

/** Administrators, and admins of the team's organization. 404 for an unknown team, 400 for more than was spent. */
const teamSpendReset = withBody(body, {
  tag: 'Teams',
  answer: named('TeamSpendReset', () => shape({ team_id: text, ...spendResetFields })),
  paths: ['/team/{team_id}/reset_spend'],
  auth: 'manager',
  operationId: 'resetTeamSpend',
  summary: 'Set what a team has spent to a lower amount',
  failures: [400, 404],
  async handle({ reset_to: toNanoUsd }, { services, caller, request }) {
    const id = request.params.team_id!
    const check = async (tx: TenancyTransaction) => {
      const team = await administeredTeam(tx, caller, id)
      const { organizationId } = team
      if (isAdministrator(caller) || (organizationId !== null && administersOrganization(caller, organizationId)))
        return team
      throw forbidden('only administrators and admins of its organization reset what a team has spent', 'team_id')
    }
    return { team_id: id, ...(await reset(services, caller, { kind: 'team', id, toNanoUsd, check })) }
  },
})

/** Both of them. */
export const spendResetEndpoints: readonly Endpoint[] = [keySpendReset, teamSpendReset]
