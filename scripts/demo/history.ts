/** Sixty days of calls: days and nights, weekends, growth, errors, cuts, answers of the cache, finds of guardrails. */
import { randomUUIDv7 } from 'bun'
import { BudgetPlan, budgetDefinitions } from '../../src/access/limits/budget-plan.ts'
import { costNanoUsd } from '../../src/pricing/cost.ts'
import { priceListVersion } from '../../src/config/prices/catalogue.ts'
import { faults } from '../../src/core/errors.ts'
import type { FaultKind } from '../../src/core/errors.ts'
import { emptyRow } from '../../src/core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import type { Prices } from '../../src/core/usage/prices.ts'
import { unlimited } from '../../src/core/tenancy/tenancy.ts'
import type { Usage } from '../../src/core/usage/usage.ts'
import { seededRandom } from '../../simulator/generation/random.ts'
import type { MadeKey } from './fill.ts'
import { demoModels } from './models.ts'
import type { DemoDeployment, DemoModel } from './models.ts'
import { demoCustomers, demoOrganization, demoTeams, demoUsers } from './people.ts'

/** Days before now that have calls. */
export const historyDays = 60
const dayMs = 86_400_000
const hourMs = 3_600_000
/** Months that end in eight days: a budget has been spent for three weeks of its four. */
const budgetEndsInDays = 8

/** Calls of an hour of a working day against the mean of the day, in UTC: offices of Europe. */
const officeHours = [
  0.1, 0.05, 0.05, 0.05, 0.05, 0.15, 0.5, 1.3, 2.4, 2.9, 2.8, 2.3, 1.6, 2.2, 2.6, 2.5, 1.9, 1.2, 0.7, 0.45, 0.35, 0.3,
  0.2, 0.15,
]
const weekendShare = 0.12
/** Calls for each of a key's plan, which is that of a small team. */
const callsScale = 3
/** The calls of the first day against those of the last. */
const firstDayShare = 0.45

interface HistoryOptions {
  readonly keys: readonly MadeKey[]
  readonly prices: ReadonlyMap<string, Prices>
  readonly seed: number
  readonly nowMs: number
}

/** What has an own budget, and its scope in the ledger. */
export interface BudgetOwner {
  readonly kind: 'key' | 'user' | 'team' | 'organization' | 'customer'
  readonly id: string
  /** Which share of the budget is spent at the end of the history. */
  readonly spentShare: number
  readonly softShare?: number
}

/** Everything that has a budget in the demo. */
export function budgetOwners(keys: readonly MadeKey[]): BudgetOwner[] {
  return [
    { kind: 'organization', id: demoOrganization.id, spentShare: 0.52 },
    ...demoTeams.map(({ id, budget }): BudgetOwner => ({ kind: 'team', id, ...budget })),
    ...demoUsers.flatMap(({ id, spentShare }): BudgetOwner[] =>
      spentShare === undefined ? [] : [{ kind: 'user', id, spentShare }],
    ),
    ...demoCustomers.flatMap(({ id, spentShare }): BudgetOwner[] =>
      spentShare === undefined ? [] : [{ kind: 'customer', id, spentShare }],
    ),
    ...keys.flatMap(({ id, plan: { spentShare } }): BudgetOwner[] =>
      spentShare === undefined ? [] : [{ kind: 'key', id, spentShare }],
    ),
  ]
}

/** One end of the periods of all budgets, milliseconds since 1970. */
export const budgetResetMs = (nowMs: number): number => (Math.floor(nowMs / dayMs) + budgetEndsInDays) * dayMs
/** Their length, as the API takes it. */
export const budgetDuration = '30d'

/** The rows, oldest first. The same options give the same calls; ids are random within their millisecond. */
export function demoHistory({ keys, prices, seed, nowMs }: HistoryOptions): LedgerRow[] {
  const random = seededRandom(seed)
  const owners = budgetOwners(keys)
  const makers = keys.map(key => new CallMaker(key, { owners, prices, random, nowMs }))
  const rows: LedgerRow[] = []
  const firstDay = Math.floor(nowMs / dayMs) - historyDays
  for (let day = 0; day <= historyDays; day++)
    for (let hour = 0; hour < 24; hour++) {
      const hourAtMs = (firstDay + day) * dayMs + hour * hourMs
      const weekDay = new Date(hourAtMs).getUTCDay()
      const isFree = weekDay === 0 || weekDay === 6
      const growth = firstDayShare + (1 - firstDayShare) * (day / historyDays)
      for (const maker of makers) {
        const { callsPerDay, isAlways } = maker.key.plan
        const ofHour = isAlways ? 0.5 + officeHours[hour]! / 2 : officeHours[hour]! * (isFree ? weekendShare : 1)
        for (
          let left = ((callsPerDay * callsScale) / 24) * ofHour * growth * (0.6 + 0.8 * random());
          left > random();
          left--
        ) {
          const atMs = Math.floor(hourAtMs + random() * hourMs)
          if (atMs < nowMs - 60_000) rows.push(maker.row(atMs))
        }
      }
    }
  return rows.toSorted((one, other) => one.started_at_ms - other.started_at_ms)
}

/** How a call ended, where it did not go well. */
interface Ending {
  readonly outcome: LedgerRow['outcome']
  readonly status: number
  readonly kind: FaultKind | null
}

const success: Ending = { outcome: 'success', status: 200, kind: null }
const failure = (kind: FaultKind): Ending => ({ outcome: 'error', status: faults[kind].status, kind })

/** The calls of one key. */
class CallMaker {
  readonly key: MadeKey
  readonly #random: () => number
  readonly #prices: ReadonlyMap<string, Prices>
  readonly #nowMs: number
  readonly #plan: BudgetPlan
  readonly #customerPlans: ReadonlyMap<string, BudgetPlan>
  /** The cost of its last answer, which one from the cache saves. */
  #lastCost: bigint | null = null

  constructor(key: MadeKey, { owners, prices, random, nowMs }: Omit<HistoryOptions, 'keys' | 'seed'> & Shared) {
    this.key = key
    this.#random = random
    this.#prices = prices
    this.#nowMs = nowMs
    const { user, team } = key.plan
    const mine = [`key:${key.id}`, `user:${user}`, `team:${team}`, `organization:${demoOrganization.id}`]
    const plan = (scopes: readonly string[]) => {
      const budget = { ...unlimited, maxBudgetNanoUsd: 1n, budgetDuration, budgetResetAtMs: budgetResetMs(nowMs) }
      const definitions = scopes.flatMap(id => budgetDefinitions(id, budget, []))
      return new BudgetPlan(definitions, { timeZone: 'UTC', writer: 'demo' })
    }
    const scopes = owners.map(one => `${one.kind}:${one.id}`)
    this.#plan = plan(scopes.filter(id => mine.includes(id)))
    this.#customerPlans = new Map(
      demoCustomers.map(({ id }) => [id, plan(scopes.filter(scope => scope === `customer:${id}`))]),
    )
  }

  row(atMs: number): LedgerRow {
    const { plan, id } = this.key
    const name = this.#pick(plan.models)
    const model = demoModels.find(one => one.name === name)!
    const deployment = this.#deploymentOf(model)
    const answered = this.#isKept(model) ? this.#fromCache(model) : this.#answer(model, deployment, atMs)
    const customer = plan.alias === 'helpdesk-bot' ? this.#customer() : null
    const isMessages = plan.route === '/v1/messages' || plan.route === '/v1/responses'
    return {
      ...emptyRow,
      request_id: randomUUIDv7('hex', atMs),
      started_at_ms: atMs,
      route: routes[model.mode] ?? plan.route,
      operation: operations[model.mode],
      model: model.name,
      key_id: id,
      key_alias: plan.alias,
      user_id: plan.user ?? null,
      team_id: plan.team,
      organization_id: demoOrganization.id,
      end_user: customer,
      stream: model.mode === 'chat' && (isMessages || this.#random() < 0.5),
      client_address: `10.20.${plan.team.length}.${10 + plan.alias.length}`,
      user_agent: plan.client,
      client_name: plan.client.split(/[/ ]/)[0] === 'OpenAI' ? plan.client.split(' ')[0]! : plan.client.split('/')[0]!,
      request_tags: plan.tags ?? null,
      ...answered,
      ...(answered.budget_scopes && { budget_scopes: this.#withCustomer(answered.budget_scopes, customer, atMs) }),
    }
  }

  /** The budgets of a call, with that of the customer whom it names. */
  #withCustomer(scopes: readonly string[], customer: string | null, atMs: number): readonly string[] {
    const plan = customer === null ? undefined : this.#customerPlans.get(customer)
    return plan ? [...scopes, ...plan.at(atMs).list.slice(1)] : scopes
  }

  #customer(): string | null {
    return this.#random() < 0.6 ? demoCustomers[this.#below(demoCustomers.length)]!.id : null
  }

  #below = (count: number): number => Math.floor(this.#random() * count)

  #pick(weights: Readonly<Record<string, number>>): string {
    const names = Object.entries(weights)
    let left = this.#random() * names.reduce((sum, [, weight]) => sum + weight, 0)
    return (names.find(([, weight]) => (left -= weight) < 0) ?? names[0]!)[0]
  }

  #deploymentOf({ deployments }: DemoModel): DemoDeployment {
    const id = this.#pick(Object.fromEntries(deployments.map(one => [one.id, one.weight])))
    return deployments.find(one => one.id === id)!
  }

  /** The bot of the help desk is asked the same again and again. */
  #isKept({ mode }: DemoModel): boolean {
    return mode === 'chat' && this.key.plan.alias === 'helpdesk-bot' && this.#lastCost !== null && this.#random() < 0.14
  }

  #fromCache(model: DemoModel): Partial<LedgerRow> {
    const took = 2 + this.#random() * 5
    return {
      outcome: 'success',
      status: 200,
      usage_source: 'upstream',
      input_tokens: this.#around(model.usual.input),
      output_tokens: this.#around(model.usual.output),
      cost_nano_usd: '0',
      duration_ms: rounded(took),
      first_byte_ms: rounded(took * 0.8),
      attempts: 0,
      guardrails: this.#guardrails(),
      cache_hit_kind: this.#random() < 0.85 ? 'exact' : 'shared',
      saved_nano_usd: this.#lastCost!.toString(),
    }
  }

  #answer(model: DemoModel, deployment: DemoDeployment, atMs: number): Partial<LedgerRow> {
    const ending = this.#ending(deployment, atMs)
    const { firstByteMs, tokenMs } = deployment.pace
    const hasAnswer = ending.outcome !== 'error'
    const usage = hasAnswer ? this.#usage(model, ending) : undefined
    const cost = usage ? costNanoUsd(usage, this.#prices.get(deployment.id) ?? null, { atMs }) : 0n
    if (ending.outcome === 'success') this.#lastCost = cost
    const firstMs = firstByteMs * (0.6 + this.#random() * this.#random() * 2)
    const isHere = ['content-policy', 'rate-limited'].includes(ending.kind ?? '')
    const [provider, upstreamModel] = deployment.model.split(/\/(.*)/)
    return {
      outcome: ending.outcome,
      status: ending.status,
      error_kind: ending.kind,
      ...(!isHere && { deployment_id: deployment.id, provider: provider!, upstream_model: upstreamModel! }),
      usage_source: usage ? (ending.outcome === 'success' ? 'upstream' : 'estimated') : 'none',
      ...(usage && {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cached_input_tokens: usage.cachedInputTokens ?? null,
        reasoning_tokens: usage.reasoningTokens ?? null,
        output_image_tokens: usage.outputImageTokens ?? null,
        search_units: usage.searchUnits ?? null,
        cost_source: 'prices',
        price_list: priceListVersion(),
      }),
      cost_nano_usd: cost?.toString() ?? null,
      duration_ms: rounded(isHere ? 3 + this.#random() * 6 : firstMs + tokenMs * (usage?.outputTokens ?? 0)),
      first_byte_ms: hasAnswer ? rounded(firstMs) : null,
      attempts: isHere ? 0 : hasAnswer ? (this.#random() < 0.03 ? 2 : 1) : 3,
      guardrails: ending.kind === 'content-policy' ? 'attacks:block(OVERRIDE=1)' : this.#guardrails(),
      budget_nano_usd: (cost ?? 0n).toString(),
      budget_scopes: this.#plan.at(atMs).list,
    }
  }

  #ending(deployment: DemoDeployment, atMs: number): Ending {
    const dice = this.#random()
    const beforeMs = this.#nowMs - atMs
    // The rack lost its power for an afternoon, and has not come back since yesterday.
    if (deployment.id === 'rack-7' && (beforeMs < dayMs || isAfternoon(beforeMs)))
      return dice < 0.7 ? failure('upstream-overloaded') : failure('upstream-unreachable')
    if (deployment.id === 'anthropic-2' && dice < 0.03)
      return { outcome: 'upstream_cut', status: 200, kind: 'upstream-closed' }
    if (dice < 0.006) return failure('upstream-rate-limited')
    if (dice < 0.009) return failure('upstream-timeout')
    if (dice < 0.012) return failure('context-too-long')
    if (dice < 0.016 && this.key.plan.requestsPerMinute !== undefined) return failure('rate-limited')
    if (dice < 0.02 && this.key.plan.team === 'support') return failure('content-policy')
    if (dice < 0.031) return { outcome: 'client_closed', status: 499, kind: 'client-closed' }
    return success
  }

  #usage({ mode, usual }: DemoModel, ending: Ending): Usage {
    if (mode === 'rerank') return { inputTokens: 0, outputTokens: 0, searchUnits: 1 }
    const inputTokens = this.#around(usual.input)
    if (mode === 'embedding') return { inputTokens, outputTokens: 0 }
    if (mode === 'image_generation') return { inputTokens, outputTokens: usual.output, outputImageTokens: usual.output }
    const outputTokens = Math.ceil(this.#around(usual.output) * (ending.outcome === 'success' ? 1 : this.#random()))
    const cached = this.#random() < 0.45 ? Math.floor(inputTokens * (0.4 + this.#random() * 0.45)) : 0
    return { inputTokens, outputTokens, ...(cached > 0 && { cachedInputTokens: cached }) }
  }

  /** Half to three times as much, mostly less than usual. */
  #around = (usual: number): number => Math.round(usual * (0.35 + 1.6 * this.#random() ** 2))

  #guardrails(): string | null {
    if (this.key.plan.team !== 'support') return 'attacks:pass'
    const found =
      this.#random() < 0.11 ? 'mask(EMAIL_ADDRESS=1)' : this.#random() < 0.05 ? 'mask(PHONE_NUMBER=1)' : 'pass'
    return `personal-data:${found},attacks:pass`
  }
}

interface Shared {
  readonly owners: readonly BudgetOwner[]
  readonly random: () => number
}

const isAfternoon = (beforeMs: number): boolean => beforeMs > 6 * dayMs && beforeMs < 6 * dayMs + 5 * hourMs

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

/** Modes with a path of their own; chats are asked as the client of the key asks. */
const routes: Partial<Record<DemoModel['mode'], string>> = {
  embedding: '/v1/embeddings',
  rerank: '/v1/rerank',
  image_generation: '/v1/images/generations',
}
const operations: Record<DemoModel['mode'], string> = {
  chat: 'chat',
  embedding: 'embeddings',
  rerank: 'rerank',
  image_generation: 'images',
}

/** What was spent in the present period of a budget, nano-dollars. */
export function spentOf({ kind, id }: BudgetOwner, rows: readonly LedgerRow[], nowMs: number): bigint {
  const definitions = budgetDefinitions(
    `${kind}:${id}`,
    { ...unlimited, maxBudgetNanoUsd: 1n, budgetDuration, budgetResetAtMs: budgetResetMs(nowMs) },
    [],
  )
  const [, period] = new BudgetPlan(definitions, { timeZone: 'UTC', writer: 'demo' }).at(nowMs).list
  return rows.reduce(
    (sum, row) => (row.budget_scopes?.includes(period!) ? sum + BigInt(row.budget_nano_usd ?? 0) : sum),
    0n,
  )
}
