/** Usage by day and everything else, for charts: one path for each kind of entity, in LiteLLM's shape. */
import { z } from 'zod'
import { jsonAnswer } from '../../../core/answer.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Endpoint, Services } from '../../../core/endpoint.ts'
import type { KeyRecord } from '../../../core/ports.ts'
import { addUsage, noUsage } from '../../../core/usage-report.ts'
import type { UsageField, UsageGroup, UsageQuery, UsageScope, UsageSums } from '../../../core/usage-report.ts'
import { readQuery } from '../../checked-input.ts'
import { json } from '../../openapi/schema.ts'
import { dearestFor, keyIdOf, keysById, shownMetrics, teamAliases, usageFor } from './access.ts'
import { daySpanDoc, daySpanOf, dayText, spanFields } from './span.ts'
import type { DaySpan } from './span.ts'
import { onUse } from '../../../lib/on-use.ts'

interface EntityKind {
  readonly name: string
  readonly paths: readonly string[]
  /** The query parameter that chooses entities, with commas between. */
  readonly parameter: string
  readonly scope: UsageScope
  readonly field: UsageField
}

const kinds: readonly EntityKind[] = [
  { name: 'User', paths: ['/user/daily/activity'], parameter: 'user_id', scope: 'key', field: 'user_id' },
  { name: 'Team', paths: ['/team/daily/activity'], parameter: 'team_ids', scope: 'key', field: 'team_id' },
  {
    name: 'Organization',
    paths: ['/organization/daily/activity'],
    parameter: 'organization_ids',
    scope: 'key',
    field: 'organization_id',
  },
  { name: 'Tag', paths: ['/tag/daily/activity'], parameter: 'tags', scope: 'tag', field: 'entity' },
  {
    name: 'Customer',
    paths: ['/customer/daily/activity', '/end_user/daily/activity'],
    parameter: 'end_user_ids',
    scope: 'customer',
    field: 'entity',
  },
]

const pageDaysMax = 366
/** Groups behind the parts by key and entity: what is beyond is missing there, and `breakdown_complete` is false. */
const detailsMax = 2000
/** Groups without keys. A day has as many as models, deployments and paths were combined on it. */
const groupsMax = 50_000
const listedMax = 100

const word = onUse(() => z.string().min(1).max(255))
const activityFields = onUse(() => ({
  ...spanFields(),
  model: word().optional(),
  api_key: word().optional(),
  page: z.coerce.number().int().min(1).default(1),
  page_size: z.coerce.number().int().min(1).max(pageDaysMax).default(31),
}))

/** `/user/daily/activity` and its kin. A page holds whole days, newest first; its metadata sums up the page. */
export const activityEndpoints: readonly Endpoint[] = kinds.map(activityEndpoint)

function activityEndpoint(kind: EntityKind): Endpoint {
  const { name, paths, parameter } = kind
  const schema = z.strictObject({ ...activityFields(), [parameter]: z.string().max(10_000).optional() })
  return {
    method: 'GET',
    paths,
    auth: 'key',
    doc: {
      operationId: `list${name}DailyActivity`,
      summary: `Usage by day and ${name.toLowerCase()}, with its parts; a key sees its own`,
      tag: 'Spend',
      query: {
        ...daySpanDoc,
        [parameter]: { schema: { type: 'string' }, description: 'Only these, with commas between.' },
        model: { schema: { type: 'string' }, description: 'Only this model.' },
        api_key: { schema: { type: 'string' }, description: 'Only this key: its `token_id` or hash.' },
        page: { schema: { type: 'integer', default: 1 }, description: 'From 1.' },
        page_size: { schema: { type: 'integer', default: 31, maximum: pageDaysMax }, description: 'Days a page.' },
      },
      success: json('DailyActivity'),
      failures: [403],
    },
    async handle(request, services, caller) {
      const query = readQuery(request, schema)
      const entities = (query as Record<string, unknown>)[parameter] as string | undefined
      const where: Partial<Record<UsageField, readonly string[]>> = {
        ...(entities !== undefined && { [kind.field]: entityList(entities) }),
        ...(query.model !== undefined && { model: [query.model] }),
        ...(query.api_key !== undefined && { key_id: [await keyIdOf(services, query.api_key)] }),
      }
      const span = daySpanOf(query, services.clock.epochMs())
      return jsonAnswer(await activityPage(services, caller!, kind, { ...query, span, where }))
    },
  }
}

const entityList = (text: string): string[] => [...new Set(text.split(',').map(one => one.trim()))].slice(0, listedMax)

interface Asked {
  readonly span: { readonly firstDay: number; readonly lastDay: number }
  readonly where: NonNullable<UsageQuery['where']>
  readonly page: number
  readonly page_size: number
}

async function activityPage(services: Services, caller: Caller, kind: EntityKind, asked: Asked): Promise<object> {
  const { page, page_size: size, where } = asked
  // Without a filter the sums of the installation are the same, in far fewer rows; tags count a call several times.
  const isWhole = Object.keys(where).every(field => field === 'model') && kind.scope === 'key'
  const scope = isWhole ? 'total' : kind.scope
  const base = { ...asked.span, where, scope, order: 'day' as const }
  const callGroups = ['day', 'model', 'provider', 'upstream_model', 'route'] as const
  const callsOf = (span: DaySpan) =>
    usageFor(services, caller, { ...base, ...span, groups: callGroups, limit: groupsMax })
  // Where one page has all days, they are summed from the groups that it shows: reading them takes as long again.
  const isOnePage = page === 1 && asked.span.lastDay - asked.span.firstDay < size
  const called = isOnePage ? await callsOf(asked.span) : []
  const isSummed = isOnePage && called.length < groupsMax
  const days = isSummed
    ? daysOf(called)
    : await usageFor(services, caller, { ...base, groups: ['day'], limit: groupsMax })
  const shown = days.slice((page - 1) * size, page * size)
  const pages = Math.ceil(days.length / size)
  const first = shown.at(-1)?.day
  const last = shown[0]?.day
  const totals = shown.reduce<UsageSums>(addUsage, noUsage)
  if (first === undefined || last === undefined)
    return { results: [], metadata: pageMetadata(totals, { page, pages, complete: true }) }
  const span = { ...base, firstDay: first, lastDay: last }
  const groups = isSummed ? called : await callsOf(span)
  const isOfAll = !(kind.field in where) && !('key_id' in where)
  const dearest = isOfAll ? await dearestFor(services, caller, { ...span, ...kind }) : null
  const details = await usageFor(services, caller, {
    ...span,
    where: dearest === null ? where : { ...where, [kind.field]: dearest },
    scope: kind.scope,
    groups: [...new Set([...callGroups, 'key_id' as const, kind.field])],
    order: 'cost',
    limit: detailsMax + 1,
  })
  const complete = details.length <= detailsMax && dearest === null
  const keys = await keysById(
    services,
    details.map(one => one.fields.key_id),
  )
  const aliases = await teamAliases(services, kind.field === 'team_id' ? details.map(one => one.fields.team_id) : [])
  const results = shown.map(day => ({
    date: dayText(day.day),
    metrics: shownMetrics(day),
    breakdown: breakdown(kind, {
      groups: groups.filter(one => one.day === day.day),
      details: details.slice(0, detailsMax).filter(one => one.day === day.day),
      keys,
      aliases,
    }),
  }))
  return { results, metadata: pageMetadata(totals, { page, pages, complete }) }
}

/** The sums of each day, in the order of the groups. */
const daysOf = (groups: readonly UsageGroup[]): (UsageSums & { readonly day: number })[] =>
  [...Map.groupBy(groups, one => one.day)].map(([day, rows]) => ({
    ...rows.reduce<UsageSums>(addUsage, noUsage),
    day,
  }))

function pageMetadata(
  totals: UsageSums,
  { page, pages, complete }: { readonly page: number; readonly pages: number; readonly complete: boolean },
): object {
  const metrics = shownMetrics(totals)
  return {
    ...Object.fromEntries(
      Object.entries(metrics).map(([name, value]) => [`total_${name.replace(/^total_/, '')}`, value]),
    ),
    page,
    total_pages: pages,
    has_more: page < pages,
    breakdown_complete: complete,
  }
}

interface DayParts {
  readonly groups: readonly UsageGroup[]
  readonly details: readonly UsageGroup[]
  readonly keys: ReadonlyMap<string, KeyRecord>
  /** Of teams, where the parts are theirs. */
  readonly aliases: ReadonlyMap<string, string>
}

function breakdown(kind: EntityKind, { groups, details, keys, aliases }: DayParts): object {
  const by = (field: UsageField, rows: readonly UsageGroup[]) => sumsBy(rows, one => one.fields[field])
  const keyParts = (rows: readonly UsageGroup[]) =>
    shownParts(
      by('key_id', rows),
      (id, sums) => ({ metrics: shownMetrics(sums), metadata: keyMetadata(keys, id) }),
      id => hashOf(keys, id),
    )
  const part = (field: UsageField, rows: readonly UsageGroup[]) =>
    shownParts(by(field, rows), (value, sums) => ({
      metrics: shownMetrics(sums),
      metadata: field === 'team_id' ? { team_alias: aliases.get(value) ?? null } : {},
      api_key_breakdown: keyParts(details.filter(one => one.fields[field] === value)),
    }))
  return {
    models: part('upstream_model', groups),
    model_groups: part('model', groups),
    providers: part('provider', groups),
    endpoints: part('route', groups),
    mcp_servers: {},
    api_keys: keyParts(details),
    entities: part(kind.field, details),
  }
}

function sumsBy(rows: readonly UsageGroup[], nameOf: (row: UsageGroup) => string): ReadonlyMap<string, UsageSums> {
  const sums = new Map<string, UsageSums>()
  for (const row of rows) sums.set(nameOf(row), addUsage(sums.get(nameOf(row)) ?? noUsage, row))
  return sums
}

/** Without the calls that have no such part. */
function shownParts(
  sums: ReadonlyMap<string, UsageSums>,
  show: (name: string, sums: UsageSums) => object,
  nameOf: (name: string) => string = name => name,
): Record<string, object> {
  return Object.fromEntries([...sums].flatMap(([name, sum]) => (name === '' ? [] : [[nameOf(name), show(name, sum)]])))
}

/** LiteLLM names keys by their hashes; a deleted one is named by its id. */
const hashOf = (keys: DayParts['keys'], id: string): string => keys.get(id)?.hash ?? id

function keyMetadata(keys: DayParts['keys'], id: string): object {
  const key = keys.get(id)
  return { token_id: id, key_alias: key?.alias ?? null, team_id: key?.teamId ?? null }
}
