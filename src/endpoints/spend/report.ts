/** Spending by day and team, customer or key with its models, and requests by day: LiteLLM's reports. */
import { z } from 'zod'
import type { Endpoint } from '../../core/endpoint.ts'
import { addUsageSums, noUsage } from '../../core/ledger/usage-report.ts'
import type { UsageField, UsageGroup, UsageScope, UsageSums } from '../../core/ledger/usage-report.ts'
import { readQuery } from '../common/checked-input.ts'
import { described, either, integer, listOf, named, open, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { day, dollars, keyIdOf, keysById, teamAliases, usageFor, usd } from './common/access.ts'
import { otherId, reportGroups } from './common/report-groups.ts'
import { chartDayText, daySpanDoc, daySpanOf, dayText, spanFields } from '../common/date-span.ts'
import { lazy } from '../../lib/lazy.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const costs = { total_cost: usd, total_input_tokens: integer, total_output_tokens: integer }

const activity = {
  daily_data: listOf(
    shape({ date: described('The day is written as in Nov 21.', text), api_requests: integer, total_tokens: integer }),
  ),
  sum_api_requests: integer,
  sum_total_tokens: integer,
}

const spendReportSchema = named('SpendReport', () =>
  either(
    listOf(open(shape({ group_by_day: day }))),
    listOf(shape({ api_key: text, ...costs, model_details: listOf(shape({ model: text, ...costs })) })),
  ),
)

const globalActivitySchema = named('GlobalActivity', () => shape(activity))
const globalModelActivitySchema = named('GlobalModelActivity', () => listOf(shape({ model: text, ...activity })))

const word = lazy(() => z.string().min(1).max(255))

const reportQuery = lazy(() =>
  z.strictObject({
    ...spanFields(),
    group_by: z.enum(['team', 'customer', 'api_key']).default('team'),
    api_key: word().optional(),
    internal_user_id: word().optional(),
    team_id: word().optional(),
    customer_id: word().optional(),
  }),
)

const rowsMax = 50_000

const groupings: Readonly<
  Record<'team' | 'customer', { scope: UsageScope; field: UsageField; list: string; name: string }>
> = {
  team: { scope: 'key', field: 'team_id', list: 'teams', name: 'team_name' },
  customer: { scope: 'customer', field: 'entity', list: 'customers', name: 'customer' },
}

const spendReport: Endpoint = jsonEndpoint(spendReportSchema, {
  method: 'GET',
  paths: ['/global/spend/report'],
  auth: 'key',
  doc: {
    operationId: 'getSpendReport',
    summary: 'Spending by day and team or customer, or by key, with its models; a key sees its own',
    tag: 'Spend',
    query: {
      ...daySpanDoc,
      group_by: {
        schema: { type: 'string', enum: ['team', 'customer', 'api_key'] },
        description: 'What the lines are grouped by; absent = team.',
      },
      api_key: {
        schema: { type: 'string' },
        description: 'Only calls of this key are counted: it is its `token_id` or hash.',
      },
      internal_user_id: { schema: { type: 'string' }, description: 'Only calls of this user are counted.' },
      team_id: { schema: { type: 'string' }, description: 'Only calls of this team are counted.' },
      customer_id: { schema: { type: 'string' }, description: 'Only calls for this customer are counted.' },
    },
    failures: [403],
  },
  async handle(request, services, caller) {
    const query = readQuery(request, reportQuery())
    const byCustomer = query.group_by === 'customer' || query.customer_id !== undefined
    const groups = await reportGroups(services, caller!, {
      ...daySpanOf(query, services.clock.epochMs()),
      scope: byCustomer ? 'customer' : 'key',
      field: byCustomer ? 'entity' : query.group_by === 'api_key' ? 'key_id' : 'team_id',
      where: {
        ...(query.api_key !== undefined && { key_id: [await keyIdOf(services, query.api_key)] }),
        ...(query.internal_user_id !== undefined && { user_id: [query.internal_user_id] }),
        ...(query.team_id !== undefined && { team_id: [query.team_id] }),
        ...(query.customer_id !== undefined && { entity: [query.customer_id] }),
      },
    })
    const keys = await keysById(
      services,
      groups.map(one => one.fields.key_id),
    )
    const names = byCustomer
      ? new Map<string, string>()
      : await teamAliases(
          services,
          groups.map(one => one.fields.team_id),
        )
    const keyName = (id: string) => keys.get(id)?.hash ?? nameOf(id)
    return query.group_by === 'api_key'
      ? reportByKey(groups, keyName)
      : reportByDay(groups, groupings[query.group_by], { keyName, names })
  },
})

/** LiteLLM's reports have no word for what is not listed. */
const nameOf = (id: string): string => (id === otherId ? 'other' : id)

const sumOf = (rows: readonly UsageGroup[]): UsageSums => rows.reduce<UsageSums>(addUsageSums, noUsage)

function reportByDay(
  groups: readonly UsageGroup[],
  { field, list, name }: (typeof groupings)['team'],
  { keyName, names }: { keyName: (id: string) => string; names: ReadonlyMap<string, string> },
): ValueOf<typeof spendReportSchema> {
  const days = [...Map.groupBy(groups, one => one.day)].toReversed()
  return days.map(([day, rows]) => ({
    group_by_day: dayText(day),
    [list]: [...Map.groupBy(rows, one => one.fields[field])].map(([entity, parts]) => ({
      [name]: entity === '' ? null : (names.get(entity) ?? nameOf(entity)),
      ...(field === 'team_id' && { team_id: entity === '' || entity === otherId ? null : entity }),
      total_spend: dollars(sumOf(parts).costNanoUsd),
      metadata: parts.map(one => ({
        model: one.fields.model,
        spend: dollars(one.costNanoUsd),
        total_tokens: one.inputTokens + one.outputTokens,
        api_key: keyName(one.fields.key_id),
      })),
    })),
  }))
}

function reportByKey(groups: readonly UsageGroup[], keyName: (id: string) => string) {
  const total = (sums: UsageSums) => ({
    total_cost: dollars(sums.costNanoUsd),
    total_input_tokens: sums.inputTokens,
    total_output_tokens: sums.outputTokens,
  })
  return [...Map.groupBy(groups, one => one.fields.key_id)].map(([id, rows]) => ({
    api_key: keyName(id),
    ...total(sumOf(rows)),
    model_details: [...Map.groupBy(rows, one => one.fields.model)].map(([model, parts]) => ({
      model,
      ...total(sumOf(parts)),
    })),
  }))
}

const activityQuery = lazy(() => z.strictObject(spanFields()))

const activityOf = (groups: readonly UsageGroup[]) => ({
  daily_data: groups.map(one => ({
    date: chartDayText(one.day),
    api_requests: one.requests,
    total_tokens: one.inputTokens + one.outputTokens,
  })),
  sum_api_requests: groups.reduce((sum, one) => sum + one.requests, 0),
  sum_total_tokens: groups.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0),
})

const globalActivity: Endpoint = jsonEndpoint(globalActivitySchema, {
  method: 'GET',
  paths: ['/global/activity'],
  auth: 'key',
  doc: {
    operationId: 'getGlobalActivity',
    summary: 'Requests and tokens by day, oldest first; a key sees its own',
    tag: 'Spend',
    query: daySpanDoc,
  },
  async handle(request, services, caller) {
    const span = daySpanOf(readQuery(request, activityQuery()), services.clock.epochMs())
    const usageQuery = { ...span, scope: 'total', order: 'day', limit: rowsMax } as const
    const days = await usageFor(services, caller!, { ...usageQuery, groups: ['day'] })
    return activityOf(days.toReversed())
  },
})

const modelsShown = 10

const globalModelActivity: Endpoint = jsonEndpoint(globalModelActivitySchema, {
  method: 'GET',
  paths: ['/global/activity/model'],
  auth: 'key',
  doc: {
    operationId: 'getGlobalModelActivity',
    summary: `Requests and tokens by day for the ${modelsShown} models that were asked most; a key sees its own`,
    tag: 'Spend',
    query: daySpanDoc,
  },
  async handle(request, services, caller) {
    const span = daySpanOf(readQuery(request, activityQuery()), services.clock.epochMs())
    const usageQuery = { ...span, scope: 'total', order: 'day', limit: rowsMax } as const
    const groups = await usageFor(services, caller!, { ...usageQuery, groups: ['day', 'model'] })
    const models = [...Map.groupBy(groups.toReversed(), one => one.fields.model)].map(([model, rows]) => ({
      model,
      ...activityOf(rows),
    }))
    return models.toSorted((a, b) => b.sum_api_requests - a.sum_api_requests).slice(0, modelsShown)
  },
})

/** `/global/spend/report` and `/global/activity*`. */
export const reportEndpoints: readonly Endpoint[] = [spendReport, globalActivity, globalModelActivity]
