/** What tenancy costs: calls of a bare key against those of a key with a user, a team, an organization and budgets. */
import { requestBody } from './fixtures.ts'
import { measureCalls } from './loads.ts'
import { median } from './machine.ts'
import type { Subject } from './subjects.ts'

/** A budget that no load reaches, in dollars. */
const enough = 1_000_000

/** Processor time of a call in microseconds, and requests a second, without and with all of it. */
interface BudgetFigures {
  readonly bareUs: number
  readonly ownedUs: number
  readonly barePerS: number
  readonly ownedPerS: number
}

/**
 * The key has budgets of its own, of its team and of its end user; the bare one has its limits alone. Both call the
 * same gateway, in turns of `seconds`. Over Postgres and Redis where DATABASE_URL and REDIS_URL say so.
 */
export async function measureBudgets(gateway: Subject, rounds: number, seconds: number): Promise<BudgetFigures> {
  const owned = { ...gateway, key: await makeOwnedKey(gateway) }
  const body = JSON.stringify({ ...(JSON.parse(requestBody) as object), user: 'bench-customer' })
  const bareCall = () => measureCalls(gateway, seconds)
  const ownedCall = () => measureCalls(owned, seconds, undefined, body)
  await measureCalls(gateway, 2)
  await measureCalls(owned, 2, undefined, body)
  const [bare, full] = [[await bareCall()], [await ownedCall()]]
  for (let round = 1; round < rounds; round++) {
    bare.push(await bareCall())
    full.push(await ownedCall())
  }
  const middle = (list: typeof bare, name: 'cpuUs' | 'requestsPerS') => median(list.map(one => one[name]))
  return {
    bareUs: middle(bare, 'cpuUs'),
    ownedUs: middle(full, 'cpuUs'),
    barePerS: middle(bare, 'requestsPerS'),
    ownedPerS: middle(full, 'requestsPerS'),
  }
}

async function makeOwnedKey({ administer }: Subject): Promise<string> {
  const post = administer!
  const { organization_id } = await post('/organization/new', { organization_alias: 'bench' })
  const { team_id } = await post('/team/new', { team_alias: 'bench', organization_id, max_budget: enough })
  await post('/user/new', { user_id: 'bench-person', auto_create_key: false })
  await post('/customer/new', { user_id: 'bench-customer', team_id, max_budget: enough })
  const limits = { rpm_limit: 1_000_000_000, tpm_limit: 1_000_000_000, max_budget: enough }
  const made = await post('/key/generate', { key_alias: 'owned', user_id: 'bench-person', team_id, ...limits })
  return String(made.key)
}
