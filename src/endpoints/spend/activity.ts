/** Usage by day and everything else, for charts: one path for each kind of entity, in LiteLLM's shape. */
import { z } from 'zod'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import { addUsageSums, noUsage, subtractUsageSums } from '../../core/ledger/usage-report.ts'
import type { UsageField, UsageGroup, UsageQuery, UsageScope, UsageSums } from '../../core/ledger/usage-report.ts'
import { readQuery } from '../common/checked-input.ts'
import { anyObject, boolean, described, each, integer, listOf, mapOf, named, shape } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import {
  day,
  keyIdOf,
  keysById,
  metrics,
  shownMetrics,
  topSpendersFor,
  unpriced,
  usageFor,
  usd,
} from './common/access.ts'
import { daySpanDoc, daySpanOf, dayText, spanFields } from '../common/date-span.ts'
import { namesOfOwners } from './common/owner-names.ts'
import { lazy } from '../../lib/lazy.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const totalNames = [
  'total_prompt_tokens',
  'total_completion_tokens',
  'total_cache_read_input_tokens',
  'total_cache_creation_input_tokens',
  'total_tokens',
  'total_successful_requests',
  'total_failed_requests',
  'total_api_requests',
] as const

const keyPart = shape({ metrics, metadata: anyObject })
const keyParts = described('The parts are named by the hashes of the keys.', mapOf(keyPart))
const parts = mapOf(shape({ metrics, metadata: anyObject, api_key_breakdown: keyParts }))

const dailyActivitySchema = named('DailyActivity', () =>
  shape({
    results: listOf(
      shape({
        date: day,
        metrics,
        breakdown: shape({
          models: described('The parts are named as upstreams call the models.', parts),
          model_groups: described('The parts are named by the public names of models.', parts),
          providers: parts,
          endpoints: parts,
          deployments: described(
            'In reports of users they are named by their ids; it is empty elsewhere, and has no parts by key.',
            parts,
          ),
          mcp_servers: parts,
          api_keys: keyParts,
          entities: parts,
        }),
      }),
    ),
    metadata: shape({
      total_spend: usd,
      ...each(totalNames, integer),
      total_unpriced_requests: unpriced,
      page: integer,
      total_pages: integer,
      has_more: boolean,
      breakdown_complete: described(
        'false = of keys and entities the most expensive ones are listed, and the others in `other`.',
        boolean,
      ),
    }),
  }),
)

type DailyActivity = ValueOf<typeof dailyActivitySchema>

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
/** Groups behind the parts by key: what is beyond is in `other`, and `breakdown_complete` is false. */
const detailsMax = 2000
/** Groups without keys. A day has as many as models, deployments and paths were combined on it. */
const groupsMax = 50_000
const listedMax = 100
/** Tags with parts by key, where there are very many sums. */
const detailedTags = 10
const callFields = ['model', 'provider', 'upstream_model', 'route'] as const
/** The sums of teams, organizations, tags and customers know no deployments (`rollup-derived.ts`). */
const dividesDeployments = ({ field }: EntityKind) => field === 'user_id'

const word = lazy(() => z.string().min(1).max(255))

const activityFields = lazy(() => ({
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
  return jsonEndpoint(dailyActivitySchema, {
    method: 'GET',
    paths,
    auth: 'key',
    doc: {
      operationId: `list${name}DailyActivity`,
      summary: `Usage by day and ${name.toLowerCase()}, with its parts; a key sees its own`,
      tag: 'Spend',
      query: {
        ...daySpanDoc,
        [parameter]: {
          schema: { type: 'string' },
          description: 'Only these are listed or shown, with commas between.',
        },
        model: { schema: { type: 'string' }, description: 'Only calls of this model are counted.' },
        api_key: {
          schema: { type: 'string' },
          description: 'Only calls of this key are counted: it is its `token_id` or hash.',
        },
        page: {
          schema: { type: 'integer', default: 1 },
          description: 'The number of the page, which is counted from 1.',
        },
        page_size: {
          schema: { type: 'integer', default: 31, maximum: pageDaysMax },
          description: 'How many days a page has.',
        },
      },
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
      return await activityPage(services, caller!, kind, { ...query, span, where })
    },
  })
}

const entityList = (text: string): string[] => [...new Set(text.split(',').map(one => one.trim()))].slice(0, listedMax)

interface ActivityRequest {
  readonly span: { readonly firstDay: number; readonly lastDay: number }
  readonly where: NonNullable<UsageQuery['where']>
  readonly page: number
  readonly page_size: number
}

async function activityPage(
  services: Services,
  caller: Caller,
  kind: EntityKind,
  activityRequest: ActivityRequest,
): Promise<DailyActivity> {
  const { page, page_size: size, where } = activityRequest
  // Without a filter the sums of the installation are the same, in far fewer rows; tags count a call several times.
  const isWhole = Object.keys(where).every(field => field === 'model') && kind.scope === 'key'
  const base = { where, scope: isWhole ? ('total' as const) : kind.scope, order: 'day' as const, limit: groupsMax }
  // Where one page has all days, they are summed from the groups that it shows: reading them takes as long again.
  const isOnePage = page === 1 && activityRequest.span.lastDay - activityRequest.span.firstDay < size
  const days = isOnePage
    ? undefined
    : await usageFor(services, caller, { ...base, ...activityRequest.span, groups: ['day'] })
  const pageDays = days?.slice((page - 1) * size, page * size)
  if (pageDays?.length === 0)
    return {
      results: [],
      metadata: pageMetadata(noUsage, { page, pages: Math.ceil(days!.length / size), complete: true }),
    }
  const span = pageDays ? { firstDay: pageDays.at(-1)!.day, lastDay: pageDays[0]!.day } : activityRequest.span
  // The whole last: what is counted meanwhile is in it, and not missing.
  const parts = await partsOf(services, caller, kind, { ...activityRequest, span })
  const fields = [...callFields, ...(dividesDeployments(kind) ? (['deployment_id'] as const) : [])]
  const groups = await usageFor(services, caller, { ...base, ...span, groups: ['day', ...fields] })
  const isCut = groups.length >= groupsMax
  const shown = isCut ? await usageFor(services, caller, { ...base, ...span, groups: ['day'] }) : daysOf(groups)
  const others: OthersFound = { isAny: false }
  const results = shown.map(day => ({
    date: dayText(day.day),
    metrics: shownMetrics(day),
    breakdown: breakdown(kind, {
      ...ofDay(parts, day.day),
      day,
      groups: groups.filter(one => one.day === day.day),
      others,
    }),
  }))
  const totals = shown.reduce<UsageSums>(addUsageSums, noUsage)
  const pages = days ? Math.ceil(days.length / size) : Math.min(1, shown.length)
  return { results, metadata: pageMetadata(totals, { page, pages, complete: !others.isAny }) }
}

/** The parts by key and entity, by day: those that are shown for themselves. */
interface Parts {
  /** By key and by what was called. */
  readonly details: readonly UsageGroup[]
  /** By entity; undefined = the details have all that is shown. */
  readonly entities: readonly UsageGroup[] | undefined
  readonly keys: ReadonlyMap<string, KeyRecord>
  /** Of teams, organizations or users, where the parts are theirs. */
  readonly names: ReadonlyMap<string, string>
  /** Every entity is there: what is in none of them belongs to none. */
  readonly hasAllEntities: boolean
}

async function partsOf(
  services: Services,
  caller: Caller,
  { scope, field }: EntityKind,
  { span, where }: Pick<ActivityRequest, 'span' | 'where'>,
): Promise<Parts> {
  const listed = where[field]
  const topSpenders =
    'key_id' in where
      ? null
      : await topSpendersFor(services, caller, { ...span, scope, field, ...(listed && { entities: listed }) })
  const withEntities = (values: readonly string[]) => (values.length > 0 ? { ...where, [field]: values } : where)
  const chosen = topSpenders === null ? where : withEntities(topSpenders.entities)
  // A tag has sums of a key in a place of each day: those of very many are not looked for.
  const ofKeys =
    scope === 'tag' ? withEntities(topSpenders?.entities.slice(0, detailedTags) ?? []) : listed ? chosen : where
  const details = await usageFor(services, caller, {
    ...span,
    where: topSpenders?.keys ? { ...ofKeys, key_id: topSpenders.keys } : chosen,
    scope,
    groups: ['day', ...new Set([...callFields, 'key_id' as const, field])],
    order: 'cost',
    limit: detailsMax,
  })
  const entities =
    topSpenders?.keys || details.length === detailsMax
      ? await usageFor(services, caller, {
          ...span,
          where: chosen,
          scope,
          groups: ['day', field],
          order: 'cost',
          limit: groupsMax,
        })
      : undefined
  const keys = await keysById(
    services,
    details.map(one => one.fields.key_id),
  )
  const owners = ownerKinds[field]
  const ids = (entities ?? details).map(one => one.fields[field])
  const names = owners ? await namesOfOwners(services, owners, ids) : new Map<string, string>()
  const hasAllEntities = topSpenders === null && (entities?.length ?? 0) < groupsMax
  return { details, entities, keys, names, hasAllEntities }
}

const ownerKinds: Partial<Record<UsageField, 'team' | 'organization' | 'user'>> = {
  team_id: 'team',
  organization_id: 'organization',
  user_id: 'user',
}

const ofDay = (parts: Parts, day: number): Parts => ({
  ...parts,
  details: parts.details.filter(one => one.day === day),
  entities: parts.entities?.filter(one => one.day === day),
})

/** The sums of each day, in the order of the groups. */
const daysOf = (groups: readonly UsageGroup[]): (UsageSums & { readonly day: number })[] =>
  [...Map.groupBy(groups, one => one.day)].map(([day, rows]) => ({
    ...rows.reduce<UsageSums>(addUsageSums, noUsage),
    day,
  }))

function pageMetadata(
  totals: UsageSums,
  { page, pages, complete }: { readonly page: number; readonly pages: number; readonly complete: boolean },
): DailyActivity['metadata'] {
  const metrics = shownMetrics(totals)
  return {
    total_spend: metrics.spend,
    total_prompt_tokens: metrics.prompt_tokens,
    total_completion_tokens: metrics.completion_tokens,
    total_cache_read_input_tokens: metrics.cache_read_input_tokens,
    total_cache_creation_input_tokens: metrics.cache_creation_input_tokens,
    total_tokens: metrics.total_tokens,
    total_successful_requests: metrics.successful_requests,
    total_failed_requests: metrics.failed_requests,
    total_api_requests: metrics.api_requests,
    total_unpriced_requests: metrics.unpriced_requests,
    page,
    total_pages: pages,
    has_more: page < pages,
    breakdown_complete: complete,
  }
}

/** Whether something is not shown for itself. */
interface OthersFound {
  isAny: boolean
}

interface DayParts extends Parts {
  readonly day: UsageSums
  /** By what was called: all of it. */
  readonly groups: readonly UsageGroup[]
  readonly others: OthersFound
}

function breakdown(kind: EntityKind, parts: DayParts): DailyActivity['results'][number]['breakdown'] {
  const { day, groups, details, entities, keys, names } = parts
  const by = (field: UsageField, rows: readonly UsageGroup[]) => sumsBy(rows, one => one.fields[field])
  const keyParts = (rows: readonly UsageGroup[], whole: UsageSums) =>
    withOther(parts, by('key_id', rows), whole, {
      show: (id, sums) => ({ metrics: shownMetrics(sums), metadata: keyMetadata(keys, id) }),
      nameOf: id => hashOf(keys, id),
    })
  const callParts = (field: UsageField) =>
    shownParts(by(field, groups), (value, sums) => ({
      metrics: shownMetrics(sums),
      metadata: {},
      api_key_breakdown: keyParts(
        details.filter(one => one.fields[field] === value),
        sums,
      ),
    }))
  return {
    models: callParts('upstream_model'),
    model_groups: callParts('model'),
    providers: callParts('provider'),
    endpoints: callParts('route'),
    deployments: deploymentParts(groups),
    mcp_servers: {},
    api_keys: keyParts(details, day),
    entities: withOther({ ...parts, isWhole: parts.hasAllEntities }, by(kind.field, entities ?? details), day, {
      show: (value, sums) => ({
        metrics: shownMetrics(sums),
        metadata: entityMetadata(kind.field, names.get(value) ?? null),
        api_key_breakdown: keyParts(
          details.filter(one => one.fields[kind.field] === value),
          sums,
        ),
      }),
      nameOf: value => value,
    }),
  }
}

/** What the entity is called, by LiteLLM's names. */
function entityMetadata(field: UsageField, name: string | null): Readonly<Record<string, string | null>> {
  if (field === 'team_id') return { team_alias: name }
  if (field === 'organization_id') return { organization_alias: name }
  return field === 'user_id' ? { user_email: name } : {}
}

/** Without parts by key: no sums that are kept for long divide them. */
function deploymentParts(groups: readonly UsageGroup[]) {
  const used = Map.groupBy(groups, one => one.fields.deployment_id)
  return shownParts(
    sumsBy(groups, one => one.fields.deployment_id),
    (id, sums) => {
      // A pattern serves several names.
      const [most] = used.get(id)!.toSorted((one, other) => other.requests - one.requests)
      const { model, provider, upstream_model: upstream } = most!.fields
      return {
        metrics: shownMetrics(sums),
        metadata: { model_name: model, model: `${provider}/${upstream}` },
        api_key_breakdown: {},
      }
    },
  )
}

function sumsBy(rows: readonly UsageGroup[], nameOf: (row: UsageGroup) => string): ReadonlyMap<string, UsageSums> {
  const sums = new Map<string, UsageSums>()
  for (const row of rows) sums.set(nameOf(row), addUsageSums(sums.get(nameOf(row)) ?? noUsage, row))
  return sums
}

interface RowView<Part> {
  show(name: string, sums: UsageSums): Part
  nameOf(name: string): string
}

/**
 * The parts, and what of the whole is in none of them: together they are the whole. Calls without such a part are the
 * rest only where not everything was read.
 */
function withOther<Part extends object>(
  { entities, others, isWhole = false }: DayParts & { readonly isWhole?: boolean },
  sums: ReadonlyMap<string, UsageSums>,
  whole: UsageSums,
  { show, nameOf }: RowView<Part>,
): Record<string, Part> {
  const shown = shownParts(sums, show, nameOf)
  if (entities === undefined || isWhole) return shown
  const rest = [...sums].reduce((left, [name, one]) => (name === '' ? left : subtractUsageSums(left, one)), whole)
  if (rest.requests <= 0) return shown
  others.isAny = true
  let name = 'other'
  while (name in shown) name = `(${name})`
  return {
    ...shown,
    [name]: { ...show('', rest), metadata: { is_other: true } },
  }
}

/** Without the calls that have no such part. */
function shownParts<Part>(
  sums: ReadonlyMap<string, UsageSums>,
  show: (name: string, sums: UsageSums) => Part,
  nameOf: (name: string) => string = name => name,
): Record<string, Part> {
  return Object.fromEntries([...sums].flatMap(([name, sum]) => (name === '' ? [] : [[nameOf(name), show(name, sum)]])))
}

/** LiteLLM names keys by their hashes; a deleted one is named by its id. */
const hashOf = (keys: Parts['keys'], id: string): string => keys.get(id)?.hash ?? id

function keyMetadata(keys: Parts['keys'], id: string): object {
  const key = keys.get(id)
  return { token_id: id, key_alias: key?.alias ?? null, team_id: key?.teamId ?? null }
}
