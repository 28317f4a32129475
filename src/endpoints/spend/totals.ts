/** What was spent, by key, user, team, model, provider or tag: the lists that LiteLLM's pages and scripts read. */
import { z } from 'zod'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import { subtractUsageSums } from '../../core/ledger/usage-report.ts'
import type { UsageField, UsageGroup, UsageScope, UsageSums } from '../../core/ledger/usage-report.ts'
import { readQuery } from '../common/checked-input.ts'
import { integer, listOf, named, nullable, number, open, shape, text } from '../openapi/schema.ts'
import {
  day,
  dollars,
  keyIdOf,
  keysById,
  teamAliases,
  topSpendersFor,
  unpriced,
  usageFor,
  usd,
} from './common/access.ts'
import { allDays, daySpanDoc, daySpanOf, dayText, spanFields } from '../common/date-span.ts'
import type { DaySpan } from '../common/date-span.ts'
import { lazy } from '../../lib/lazy.ts'
import type { Schema, ValueOf } from '../openapi/schema.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'

const spent = { spend: usd, total_tokens: integer, api_requests: integer, unpriced_requests: unpriced }
const keyOwner = { key_name: nullable(text), key_alias: nullable(text) }

const keySpendListSchema = named('KeySpendList', () =>
  listOf(
    shape({
      token: nullable(text),
      token_id: text,
      ...keyOwner,
      user_id: nullable(text),
      team_id: nullable(text),
      ...spent,
    }),
  ),
)

const userSpendListSchema = named('UserSpendList', () => listOf(shape({ user_id: text, ...spent })))

const tagSpendListSchema = named('TagSpendList', () =>
  listOf(shape({ individual_request_tag: text, log_count: integer, total_spend: usd, unpriced_requests: unpriced })),
)

const globalTagSpendSchema = named('GlobalTagSpend', () =>
  shape({ spend_per_tag: listOf(shape({ name: text, spend: usd, log_count: integer })) }),
)

const tagNamesSchema = named('TagNames', () => shape({ tag_names: listOf(text) }))

const globalKeySpendListSchema = named('GlobalKeySpendList', () =>
  listOf(shape({ api_key: text, token_id: text, ...keyOwner, total_spend: usd })),
)

const globalModelSpendListSchema = named('GlobalModelSpendList', () => listOf(shape({ model: text, total_spend: usd })))

const globalProviderSpendListSchema = named('GlobalProviderSpendList', () =>
  listOf(shape({ provider: text, spend: usd })),
)

const globalEndUserSpendListSchema = named('GlobalEndUserSpendList', () =>
  listOf(shape({ end_user: text, total_count: integer, total_spend: usd })),
)

const globalSpendSchema = named('GlobalSpend', () =>
  shape({ spend: usd, max_budget: nullable(number), unpriced_requests: unpriced }),
)

const dailySpendListSchema = named('DailySpendList', () => listOf(shape({ date: day, spend: usd })))

const globalTeamSpendSchema = named('GlobalTeamSpend', () =>
  shape({
    daily_spend: listOf(open(shape({ date: day }))),
    teams: listOf(text),
    total_spend_per_team: listOf(shape({ team_id: text, team_alias: nullable(text), total_spend: usd })),
  }),
)

const rowsMax = 1000
const limitField = lazy(() => z.coerce.number().int().min(1).max(rowsMax))

const limitDoc = (most: number): NonNullable<EndpointDoc['query']> => ({
  limit: {
    schema: { type: 'integer', default: most, maximum: rowsMax },
    description: 'Rows, those that cost most first.',
  },
})

interface TotalsList<S extends Schema> {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  /** The schema of the answer. */
  readonly answer: S
  readonly scope: UsageScope
  readonly field: UsageField
  /** `all` = everything that is kept, unless dates are given. `month` = the last 30 days. */
  readonly span: 'all' | 'month'
  readonly limit: number
  show(groups: readonly UsageGroup[], services: Services): ValueOf<S> | Promise<ValueOf<S>>
}

const withName = (groups: readonly UsageGroup[], field: UsageField): readonly UsageGroup[] =>
  groups.filter(one => one.fields[field] !== '')

/** Shows each group with its key; undefined = the key was deleted. */
const forKeys =
  <Shown>(show: (one: UsageGroup, key: KeyRecord | undefined) => Shown) =>
  async (groups: readonly UsageGroup[], services: Services): Promise<Shown[]> => {
    const keys = await keysById(
      services,
      groups.map(one => one.fields.key_id),
    )
    return groups.map(one => show(one, keys.get(one.fields.key_id)))
  }

const spendOf = (one: UsageGroup) => ({
  spend: dollars(one.costNanoUsd),
  total_tokens: one.inputTokens + one.outputTokens,
  api_requests: one.requests,
  unpriced_requests: one.unpricedRequests,
})

function totalsEndpoint<S extends Schema>(list: TotalsList<S>): Endpoint {
  const schema = lazy(() => z.strictObject({ ...spanFields(), limit: limitField().default(list.limit) }))
  return jsonEndpoint(list.answer, {
    method: 'GET',
    paths: [list.path],
    auth: 'key',
    doc: {
      operationId: list.operationId,
      summary: `${list.summary}; a key sees its own`,
      tag: 'Spend',
      query: { ...daySpanDoc, ...limitDoc(list.limit) },
    },
    async handle(request, services, caller) {
      const query = readQuery(request, schema())
      const span = totalsSpan(query, services, list.span)
      // Totals of all days are kept in order; for some days, those that spent most are chosen first.
      const topQuery = { ...span, scope: list.scope, field: list.field, most: query.limit }
      const topSpenders =
        list.scope === 'total' || span === allDays ? null : await topSpendersFor(services, caller!, topQuery)
      const groups = await usageFor(services, caller!, {
        ...span,
        scope: list.scope,
        ...(topSpenders && { where: { [list.field]: topSpenders.entities } }),
        groups: [list.field],
        order: 'cost',
        limit: query.limit,
      })
      return list.show(groups, services)
    },
  })
}

type SpanQuery = Parameters<typeof daySpanOf>[0]

function totalsSpan(query: SpanQuery, services: Services, usual: 'all' | 'month'): DaySpan {
  if (usual === 'all' && !query.start_date && !query.end_date) return allDays
  return daySpanOf(query, services.clock.epochMs())
}

const globalSpend: Endpoint = jsonEndpoint(globalSpendSchema, {
  method: 'GET',
  paths: ['/global/spend'],
  auth: 'key',
  doc: {
    operationId: 'getGlobalSpend',
    summary: 'What was spent since the oldest day that is kept; a key sees its own',
    tag: 'Spend',
  },
  async handle(_request, services, caller) {
    const [sum] = await spentOn(services, caller!, { ...allDays, groups: [] })
    return {
      spend: dollars(sum?.costNanoUsd ?? 0n),
      max_budget: null,
      unpriced_requests: sum?.unpricedRequests ?? 0,
    }
  },
})

const spentOn = (
  services: Services,
  caller: Caller,
  query: DaySpan & { readonly groups: readonly (UsageField | 'day')[] },
): Promise<UsageGroup[]> => usageFor(services, caller, { ...query, scope: 'total', order: 'day', limit: 50_000 })

const globalSpendLogs: Endpoint = jsonEndpoint(dailySpendListSchema, {
  method: 'GET',
  paths: ['/global/spend/logs'],
  auth: 'key',
  doc: {
    operationId: 'listGlobalDailySpend',
    summary: 'What was spent on each day, oldest first; a key sees its own',
    tag: 'Spend',
    query: daySpanDoc,
  },
  async handle(request, services, caller) {
    const query = readQuery(request, z.strictObject(spanFields()))
    const span = daySpanOf(query, services.clock.epochMs())
    const days = await spentOn(services, caller!, { ...span, groups: ['day'] })
    return days.toReversed().map(one => ({ date: dayText(one.day), spend: dollars(one.costNanoUsd) }))
  },
})

const teamRowsMax = 50_000
/** Of very many teams those that spent most are listed, and the others in one line. */
const teamsMax = 100

/** By day, what is not of the teams in `listed`, under a name that none of them has. */
function otherTeams(days: readonly UsageGroup[], listed: readonly UsageGroup[]): UsageGroup[] {
  const names = new Set(listed.map(one => one.fields.team_id))
  let name = 'other'
  while (names.has(name)) name = `(${name})`
  return days.map(day => {
    const rest = listed.filter(one => one.day === day.day).reduce<UsageSums>(subtractUsageSums, day)
    return { ...day, ...rest, fields: { ...day.fields, team_id: name } }
  })
}

const globalSpendTeams: Endpoint = jsonEndpoint(globalTeamSpendSchema, {
  method: 'GET',
  paths: ['/global/spend/teams'],
  auth: 'key',
  doc: {
    operationId: 'listGlobalTeamSpend',
    summary: 'What each team has spent, by day and in all; a key sees its own',
    tag: 'Spend',
    query: daySpanDoc,
  },
  async handle(request, services, caller) {
    const query = readQuery(request, z.strictObject(spanFields()))
    const span = daySpanOf(query, services.clock.epochMs())
    const usageQuery = { ...span, scope: 'key', order: 'day', limit: teamRowsMax } as const
    const topSpenders = await topSpendersFor(services, caller!, { ...usageQuery, field: 'team_id', most: teamsMax })
    const groups = await usageFor(services, caller!, {
      ...usageQuery,
      groups: ['day', 'team_id'],
      ...(topSpenders && { where: { team_id: topSpenders.entities } }),
    })
    const isCut = (topSpenders?.entities.length ?? 0) >= teamsMax
    const days = isCut ? await spentOn(services, caller!, { ...span, groups: ['day'] }) : []
    const teams = [...withName(groups, 'team_id'), ...otherTeams(days, groups)]
    const byTeam = Map.groupBy(teams, one => one.fields.team_id)
    const aliases = await teamAliases(services, byTeam.keys())
    const totals = [...byTeam].map(([team_id, rows]) => ({
      team_id,
      team_alias: aliases.get(team_id) ?? null,
      total_spend: dollars(rows.reduce((sum, one) => sum + one.costNanoUsd, 0n)),
    }))
    const byDay = [...Map.groupBy(teams, one => one.day)].toReversed()
    return {
      daily_spend: byDay.map(([day, rows]) => ({
        date: dayText(day),
        ...Object.fromEntries(rows.map(one => [one.fields.team_id, dollars(one.costNanoUsd)])),
      })),
      teams: [...byTeam.keys()],
      total_spend_per_team: totals.toSorted((a, b) => b.total_spend - a.total_spend),
    }
  },
})

const endUsersBody = lazy(() =>
  z.strictObject({
    api_key: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .describe('Only calls of this key are counted: it is its `token_id`, hash or text.'),
    startTime: spanFields().start_date.nullish().describe('The first day that is counted (UTC); absent = 30 days ago.'),
    endTime: spanFields().end_date.nullish().describe('The last day that is counted; absent = today.'),
  }),
)

const endUsersMax = 100

/** POST as in LiteLLM, whose fields are in a body; it changes nothing. */
const globalSpendEndUsers: Endpoint = withBody(endUsersBody, {
  answer: globalEndUserSpendListSchema,
  answersAreListed: true,
  paths: ['/global/spend/end_users'],
  auth: 'key',
  operationId: 'listGlobalEndUserSpend',
  summary: 'The customers for whom most was spent, 100 of them; a key sees its own calls',
  tag: 'Spend',
  requestOptional: true,
  failures: [403],
  async handle(body, { services, caller }) {
    const { api_key: keyName, startTime: start, endTime: end } = body
    const span = daySpanOf({ start_date: start ?? undefined, end_date: end ?? undefined }, services.clock.epochMs(), {
      start: ['body', 'startTime'],
      end: ['body', 'endTime'],
    })
    const topQuery = { ...span, scope: 'customer', field: 'entity', most: endUsersMax } as const
    const topSpenders = keyName ? null : await topSpendersFor(services, caller, topQuery)
    const groups = await usageFor(services, caller, {
      ...span,
      scope: 'customer',
      where: {
        ...(topSpenders && { entity: topSpenders.entities }),
        ...(keyName && { key_id: [await keyIdOf(services, keyName)] }),
      },
      groups: ['entity'],
      order: 'cost',
      limit: endUsersMax,
    })
    return groups.map(one => ({
      end_user: one.fields.entity,
      total_count: one.requests,
      total_spend: dollars(one.costNanoUsd),
    }))
  },
})

const totals: readonly Endpoint[] = [
  totalsEndpoint({
    path: '/spend/keys',
    operationId: 'listKeySpend',
    summary: 'What each key has spent',
    answer: keySpendListSchema,
    scope: 'key',
    field: 'key_id',
    span: 'all',
    limit: 100,
    show: forKeys((one, key) => ({
      token: key?.hash ?? null,
      token_id: one.fields.key_id,
      key_name: key?.hint ?? null,
      key_alias: key?.alias ?? null,
      user_id: key?.userId ?? null,
      team_id: key?.teamId ?? null,
      ...spendOf(one),
    })),
  }),
  totalsEndpoint({
    path: '/spend/users',
    operationId: 'listUserSpend',
    summary: 'What each user has spent',
    answer: userSpendListSchema,
    scope: 'key',
    field: 'user_id',
    span: 'all',
    limit: 100,
    show: groups => withName(groups, 'user_id').map(one => ({ user_id: one.fields.user_id, ...spendOf(one) })),
  }),
  totalsEndpoint({
    path: '/spend/tags',
    operationId: 'listTagSpend',
    summary: 'What was spent for each tag; a call with several tags counts in each',
    answer: tagSpendListSchema,
    scope: 'tag',
    field: 'entity',
    span: 'all',
    limit: 100,
    show: groups =>
      groups.map(one => ({
        individual_request_tag: one.fields.entity,
        log_count: one.requests,
        total_spend: dollars(one.costNanoUsd),
        unpriced_requests: one.unpricedRequests,
      })),
  }),
  totalsEndpoint({
    path: '/global/spend/tags',
    operationId: 'listGlobalTagSpend',
    summary: 'What was spent for each tag',
    answer: globalTagSpendSchema,
    scope: 'tag',
    field: 'entity',
    span: 'month',
    limit: 100,
    show: groups => ({
      spend_per_tag: groups.map(one => ({
        name: one.fields.entity,
        spend: dollars(one.costNanoUsd),
        log_count: one.requests,
      })),
    }),
  }),
  totalsEndpoint({
    path: '/global/spend/all_tag_names',
    operationId: 'listTagNames',
    summary: 'The tags of calls',
    answer: tagNamesSchema,
    scope: 'tag',
    field: 'entity',
    span: 'all',
    limit: rowsMax,
    show: groups => ({ tag_names: groups.map(one => one.fields.entity).toSorted() }),
  }),
  totalsEndpoint({
    path: '/global/spend/keys',
    operationId: 'listGlobalKeySpend',
    summary: 'The keys that have spent most',
    answer: globalKeySpendListSchema,
    scope: 'key',
    field: 'key_id',
    span: 'month',
    limit: 10,
    show: forKeys((one, key) => ({
      api_key: key?.hash ?? one.fields.key_id,
      token_id: one.fields.key_id,
      key_name: key?.hint ?? null,
      key_alias: key?.alias ?? null,
      total_spend: dollars(one.costNanoUsd),
    })),
  }),
  totalsEndpoint({
    path: '/global/spend/models',
    operationId: 'listGlobalModelSpend',
    summary: 'The models for which most was spent',
    answer: globalModelSpendListSchema,
    scope: 'total',
    field: 'model',
    span: 'month',
    limit: 10,
    show: groups => groups.map(one => ({ model: one.fields.model, total_spend: dollars(one.costNanoUsd) })),
  }),
  totalsEndpoint({
    path: '/global/spend/provider',
    operationId: 'listGlobalProviderSpend',
    summary: 'What was spent at each provider',
    answer: globalProviderSpendListSchema,
    scope: 'total',
    field: 'provider',
    span: 'month',
    limit: 100,
    show: groups =>
      withName(groups, 'provider').map(one => ({ provider: one.fields.provider, spend: dollars(one.costNanoUsd) })),
  }),
]

/** `/spend/*` and `/global/spend/*`, but for the ledger itself and the report. */
export const totalsEndpoints: readonly Endpoint[] = [
  ...totals,
  globalSpend,
  globalSpendLogs,
  globalSpendTeams,
  globalSpendEndUsers,
]
