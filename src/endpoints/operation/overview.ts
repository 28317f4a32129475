/** GET /overview: what the first page shows, in one answer; each caller sees its own. */
import { z } from 'zod'
import { mayReadAll } from '../../access/rights.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { SurveyedBudget } from '../../core/tenancy/budgets.ts'
import type { Services } from '../../core/endpoint.ts'
import { addUsageSums, noUsage } from '../../core/ledger/usage-report.ts'
import type { UsageGroup, UsageSums } from '../../core/ledger/usage-report.ts'
import { shownBudgets } from '../tenancy/common/budget-usage.ts'
import { dollars, metrics, shownMetrics, unpriced, usageFor, usd, visibleUsage } from '../spend/common/access.ts'
import { latency, latencyFigures } from './common/latency-figures.ts'
import { dayText } from '../common/date-span.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { dayMs, hourMs } from '../../lib/clock.ts'
import {
  boolean,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  number,
  reference,
  shape,
  text,
} from '../openapi/schema.ts'

const overviewSchema = named('Overview', () =>
  shape({
    start_date: text,
    end_date: text,
    now: metrics,
    before: described('The sums are those of the 30 days before.', metrics),
    last_hour: described(
      'From `start_date` on; not whole: there are more calls than are read for this, these are the newest.',
      shape({
        start_date: dateTime,
        is_whole: boolean,
        spend: usd,
        api_requests: integer,
        unpriced_requests: unpriced,
      }),
    ),
    latency: nullable(
      described('It is about the calls of all callers, for those who read everything.', shape(latency)),
    ),
    latency_before: nullable(shape(latency)),
    spend_by_model: described(
      "The models that cost most; '' = all others. Dollars of each day, from `start_date` on.",
      listOf(shape({ model: text, spend: listOf(number) })),
    ),
    budgets: described('80 % and more are spent of them.', listOf(reference('BudgetState'))),
    unwell_deployments: listOf(
      shape({
        model_id: text,
        model_name: text,
        model: text,
        is_cooling_down: described('The replica that answers passes it over now.', boolean),
        requests: described('How many calls it has had since yesterday (UTC).', integer),
        failed_requests: integer,
      }),
    ),
    setup: nullable(shape({ has_model: boolean, has_key: boolean, has_call: boolean })),
  }),
)

const days = 30
const groupsMax = 50_000
/** Further models are summed up. */
const modelsMax = 5
const budgetsMax = 5
const nearShare = 0.8
/** A deployment is unwell where at least this share of its calls failed, today and yesterday (UTC). */
const unwellShare = 0.2
/** Fewer calls say nothing. */
const unwellCallsMin = 5
const unwellMax = 10
/** The provider of models that are built in, to try the gateway without any other. */
const builtIn = 'local'

/** For every key; what it says of others is for those who read everything. */
export const overview = withQuery(() => z.strictObject({}), {
  tag: 'Spend',
  answer: overviewSchema,
  paths: ['/overview'],
  auth: 'key',
  operationId: 'getOverview',
  summary:
    'The last 30 days (UTC) against the 30 before, spend by model, budgets near their limits, unwell deployments',
  async handle(_, { services, caller }) {
    const today = Math.floor(services.clock.epochMs() / dayMs)
    const span = { scope: 'total' as const, firstDay: today - 2 * days + 1, lastDay: today, limit: groupsMax }
    const groups = await usageFor(services, caller, { ...span, groups: ['day', 'model'], order: 'day' })
    const firstDay = today - days + 1
    const now = groups.filter(one => one.day >= firstDay)
    const sums = (of: readonly UsageGroup[]) => of.reduce<UsageSums>(addUsageSums, noUsage)
    const latencyOf = (first: number) => latencyOfDays(services, caller, first)
    const hourAgoMs = services.clock.epochMs() - hourMs
    const [recent, budgets, unwell, latency, latencyBefore] = await Promise.all([
      services.ledger.recentSpend({ visible: visibleUsage(caller), fromMs: hourAgoMs }),
      nearBudgets(services, caller),
      unwellDeployments(services, caller),
      latencyOf(firstDay),
      latencyOf(firstDay - days),
    ])
    const total = sums(now)
    return {
      start_date: dayText(firstDay),
      end_date: dayText(today),
      now: shownMetrics(total),
      before: shownMetrics(sums(groups.filter(one => one.day < firstDay))),
      last_hour: {
        start_date: new Date(recent.fromMs).toISOString(),
        is_whole: recent.fromMs === hourAgoMs,
        spend: dollars(recent.costNanoUsd),
        api_requests: recent.calls,
        unpriced_requests: recent.unpriced,
      },
      latency,
      latency_before: latencyBefore,
      spend_by_model: spendByModel(now, firstDay),
      budgets: await shownBudgets(services, budgets),
      unwell_deployments: unwell,
      setup: isAdministrator(caller) ? await setupOf(services, total.successfulRequests > 0) : null,
    }
  },
})

/** How long calls took in thirty days; the counts know no keys, and are for those who read everything. */
async function latencyOfDays(
  { ledger }: Services,
  caller: Caller,
  first: number,
): Promise<ReturnType<typeof latencyFigures> | null> {
  if (!mayReadAll(caller)) return null
  return latencyFigures(await ledger.latency({ unit: 'day', first, last: first + days - 1, groups: [] }))
}

/** The models that cost most, by day, oldest first; '' = all others together. */
function spendByModel(groups: readonly UsageGroup[], firstDay: number) {
  const totals = new Map<string, bigint>()
  for (const { fields, costNanoUsd } of groups) totals.set(fields.model, (totals.get(fields.model) ?? 0n) + costNanoUsd)
  const topModels = [...totals]
    .filter(([, cost]) => cost > 0n)
    .sort(([one, cost], [other, more]) => (cost === more ? (one < other ? -1 : 1) : cost > more ? -1 : 1))
    .slice(0, modelsMax)
    .map(([model]) => model)
  const listed = new Set(topModels)
  const series = new Map([...topModels, ''].map(model => [model, new Array<bigint>(days).fill(0n)]))
  for (const { day, fields, costNanoUsd } of groups)
    series.get(listed.has(fields.model) ? fields.model : '')![day - firstDay]! += costNanoUsd
  return [...series].map(([model, costs]) => ({ model, spend: costs.map(dollars) }))
}

/** All of them for those who read everything; else those of the own user, key and teams. */
async function nearBudgets(services: Services, caller: Caller): Promise<SurveyedBudget[]> {
  const settings = services.current.settings.budgets
  const { budgetSurvey } = services
  const isNear = ({ share }: SurveyedBudget) => share >= nearShare
  if (mayReadAll(caller)) return (await budgetSurvey.all(settings)).budgets.filter(isNear).slice(0, budgetsMax)
  const { key, user, team, memberships = [] } = caller
  const teams = new Set(memberships.filter(one => one.kind === 'team').map(one => one.groupId))
  if (team) teams.add(team.id)
  const surveys = [
    budgetSurvey.one('key', key.id, settings),
    ...(user ? [budgetSurvey.one('user', user.id, settings)] : []),
    ...[...teams]
      .slice(0, budgetsMax)
      .flatMap(id => [
        budgetSurvey.one('team', id, settings),
        ...(user ? [budgetSurvey.one('member', `${id}/${user.id}`, settings)] : []),
      ]),
  ]
  const found = (await Promise.all(surveys)).flat().filter(isNear)
  return found.sort((one, other) => other.share - one.share).slice(0, budgetsMax)
}

/**
 * Those that are passed over now, and those whose calls fail, but for those that are switched off; for those who read
 * everything.
 */
async function unwellDeployments(services: Services, caller: Caller) {
  if (!mayReadAll(caller)) return []
  const today = Math.floor(services.clock.epochMs() / dayMs)
  const groups = await services.ledger.usage({
    scope: 'total',
    firstDay: today - 1,
    lastDay: today,
    groups: ['deployment_id'],
    order: 'cost',
    limit: groupsMax,
  })
  const used = new Map(groups.map(one => [one.fields.deployment_id, one]))
  const cooling = new Set(services.coolingDown().map(one => one.id))
  return services.current.settings.deployments
    .filter(one => !one.blocked)
    .map(({ id, modelName, target }) => {
      const { requests = 0, successfulRequests = 0 } = used.get(id) ?? {}
      return {
        model_id: id,
        model_name: modelName,
        model: `${target.provider.name}/${target.model}`,
        is_cooling_down: cooling.has(id),
        requests,
        failed_requests: requests - successfulRequests,
      }
    })
    .filter(one => one.is_cooling_down || failsOften(one.failed_requests, one.requests))
    .sort((one, other) => other.failed_requests - one.failed_requests)
    .slice(0, unwellMax)
}

const failsOften = (failed: number, requests: number): boolean =>
  requests >= unwellCallsMin && failed / requests >= unwellShare

/** How far a new installation is: a model of a provider, a key, a first call. */
async function setupOf({ current, keys, ledger }: Services, hasCallNow: boolean) {
  const { total } = await keys.list({ limit: 1, offset: 0 })
  const first = hasCallNow ? undefined : await ledger.query({ limit: 1, outcome: 'success' })
  return {
    has_model: current.settings.deployments.some(one => one.target.provider.name !== builtIn),
    has_key: total > 0,
    has_call: hasCallNow || first!.rows.length > 0,
  }
}
