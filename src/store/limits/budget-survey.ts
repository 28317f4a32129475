/** Every budget, the nearest to its limit first: for people who look at them, not for decisions about calls. */
import { BudgetPlan, budgetDefinitions } from '../../access/limits/budget-plan.ts'
import { withBudget, withTeamShare } from '../../access/caller.ts'
import { customerFields } from '../../access/limits/named-owners.ts'
import type {
  BudgetSettings,
  BudgetRule,
  BudgetSurvey,
  SurveyedBudget,
  SurveyedKind,
} from '../../core/tenancy/budgets.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type {
  Membership,
  NamedBudget,
  SpendingFields,
  Team,
  TenantFields,
  TenantKind,
  User,
} from '../../core/tenancy/tenancy.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import type { Clock } from '../../lib/clock.ts'
import { whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { keyColumns, membershipColumns, tenantColumns, tenantTables, toRecord } from '../tenancy/columns.ts'
import type { Row, StoredValue } from '../tenancy/columns.ts'
import { Where } from '../tenancy/where.ts'

/**
 * Read at a time: between two parts calls get their turn. What SQLite reads, it reads in the thread of the calls; what
 * Postgres reads takes a journey.
 */
const partSizes = { sqlite: 50, postgres: 500 } as const
/** Kept of a survey: those nearest to their limits. */
const keptMax = 20_000
/** A survey is good for this many times as long as it took: one of a few budgets is new at each question. */
const goodForTimes = 20
/** After so many budgets a question is answered from the survey before, or by what was found until then. */
const awaitedMax = 2000
/** As `goodForTimes`, of a survey of more than `awaitedMax` after a change: some budget always changes among many. */
const goodAfterChangeTimes = 4

type SurveyedDatabase = Pick<Database, 'sql' | 'kind' | 'isSilent'>

interface SurveyOptions {
  readonly database: SurveyedDatabase
  readonly clock: Clock
}

type StoredKind = Exclude<SurveyedKind, 'provider' | 'gateway'>

const tables: Readonly<Record<StoredKind, string>> = {
  key: 'virtual_keys',
  user: 'users',
  team: 'teams',
  organization: 'organizations',
  customer: 'customers',
  tag: 'tags',
  member: 'memberships',
  organization_member: 'memberships',
}

/** One thing that may have budgets. */
interface Owner {
  readonly kind: SurveyedKind
  readonly id: string
  readonly name: string
  /** null = it is not changed by the API. */
  readonly version: number | null
  readonly fields: SpendingFields
}

type SurveyResult = Awaited<ReturnType<BudgetSurvey['all']>>

/** To be called on changes of what has budgets. */
export interface RunningBudgetSurvey extends BudgetSurvey {
  changed(): void
}

/** A survey, from its beginning on. */
interface Survey {
  readonly settings: BudgetSettings
  /** How many changes there were when it began: later ones may be missing. */
  readonly changes: number
  readonly nearest: NearestBudgets
  /** It has ended, or found `awaitedMax`. Rejects when it fails before. */
  readonly awaited: Promise<void>
  isDone: boolean
}

/** One that has ended. */
interface LastSurvey {
  readonly survey: Survey
  readonly isLarge: boolean
  readonly untilMs: number
  readonly untilAfterChangeMs: number
}

/**
 * Reads all budgets in parts; who asks while it does so shares that survey. One of few budgets is awaited, and knows
 * every change before the question. One of very many goes on behind the answers, which come from the one before, or
 * have what was found until then.
 */
export function createBudgetSurvey({ database, clock }: SurveyOptions): RunningBudgetSurvey {
  let last: LastSurvey | undefined
  let running: Survey | undefined
  let changes = 0
  const isFresh = ({ survey, untilMs, untilAfterChangeMs }: LastSurvey) =>
    clock.monotonicMs() < (survey.changes === changes ? untilMs : untilAfterChangeMs)
  const begin = (settings: BudgetSettings): Survey => {
    const fromMs = clock.monotonicMs()
    const nearest = new NearestBudgets()
    const { promise: awaited, resolve, reject } = Promise.withResolvers<void>()
    const survey: Survey = { settings, changes, nearest, awaited, isDone: false }
    nearest.onFound = () => nearest.count >= awaitedMax && resolve()
    // The failure reaches the caller through `awaited`; without one it must not count as unhandled.
    awaited.catch(() => {})
    surveyAll({ database, settings, nowMs: clock.epochMs() }, nearest)
      .then(() => {
        const nowMs = clock.monotonicMs()
        const isLarge = nearest.count > awaitedMax
        const good = (times: number) => nowMs + (nowMs - fromMs) * times
        const untilAfterChangeMs = isLarge ? good(goodAfterChangeTimes) : 0
        survey.isDone = true
        last = { survey, isLarge, untilMs: good(goodForTimes), untilAfterChangeMs }
        resolve()
      }, reject)
      .finally(() => {
        if (running === survey) running = undefined
      })
    return (running = survey)
  }
  return {
    async all(settings) {
      const changesBefore = changes
      for (;;) {
        const before = last?.survey.settings === settings ? last : undefined
        if (before && isFresh(before)) return before.survey.nearest.found()
        const survey = running?.settings === settings ? running : begin(settings)
        if (before?.isLarge) return before.survey.nearest.found()
        await survey.awaited
        if (!survey.isDone) return { ...survey.nearest.found(), isComplete: false }
        if (survey.changes >= changesBefore) return survey.nearest.found()
      }
    },
    changed() {
      changes++
    },
    one: (kind, id, settings) => surveyOne({ database, settings, nowMs: clock.epochMs() }, kind, id),
  }
}

/** Collects the nearest to their limits. */
class NearestBudgets {
  #kept: SurveyedBudget[] = []
  #isSorted = true
  /** None behind it is kept. */
  #farthest: SurveyedBudget | undefined
  /** Of all that were found. */
  count = 0
  onFound = (): void => {}

  add(budgets: readonly SurveyedBudget[]): void {
    for (const one of budgets) if (!this.#farthest || byNearness(one, this.#farthest) < 0) this.#kept.push(one)
    this.#isSorted = false
    this.count += budgets.length
    if (this.#kept.length >= 2 * keptMax) this.#farthest = this.found().budgets.at(-1)
    this.onFound()
  }

  found(): SurveyResult {
    if (!this.#isSorted) this.#kept = this.#kept.toSorted(byNearness).slice(0, keptMax)
    this.#isSorted = true
    return { budgets: this.#kept, isComplete: this.count <= keptMax }
  }
}

interface SurveyContext {
  readonly database: SurveyedDatabase
  readonly settings: BudgetSettings
  readonly nowMs: number
}

async function surveyAll(of: SurveyContext, nearest: NearestBudgets): Promise<void> {
  const partSize = partSizes[of.database.kind]
  nearest.add(await judged(of, ofConfiguration(of.settings)))
  for (const { kind, where, order } of sources(of.settings))
    for (let after: readonly StoredValue[] | undefined, isLast = false; !isLast; ) {
      const rows = await part(of.database, tables[kind], { where, order, after, limit: partSize })
      // SQLite answers within one turn of the event loop: other work gets its turn here.
      await Bun.sleep(0)
      isLast = rows.length < partSize
      after = order.map(column => rows.at(-1)?.[column] ?? null)
      nearest.add(await judged(of, await owners(of, kind, rows)))
    }
}

async function surveyOne(of: SurveyContext, kind: SurveyedKind, id: string): Promise<SurveyedBudget[]> {
  if (kind === 'provider' || kind === 'gateway')
    return judged(
      of,
      ofConfiguration(of.settings).filter(one => one.kind === kind && one.id === id),
    )
  const where = (conditions: Where) => {
    if (kind === 'key') conditions.raw('deleted_at_ms is null')
    if (tables[kind] !== 'memberships') return conditions.equal('id', id)
    // Ids of groups and of users may hold a slash.
    conditions.equal('kind', kind === 'member' ? 'team' : 'organization')
    conditions.raw(`group_id || '/' || user_id = ${conditions.bind(id)}`)
  }
  const rows = await part(of.database, tables[kind], { where, order: [], after: undefined, limit: partSizes.sqlite })
  return judged(of, await owners(of, kind, rows))
}

/** The nearest to its limit first. */
function byNearness(one: ShareAndScope, other: ShareAndScope): number {
  return other.share - one.share || (one.scope < other.scope ? -1 : one.scope > other.scope ? 1 : 0)
}
type ShareAndScope = Pick<SurveyedBudget, 'share' | 'scope'>

/** Rows of one table, newest first. */
interface Source {
  readonly kind: StoredKind
  readonly where: (conditions: Where) => void
  readonly order: readonly string[]
}

const byAge = ['created_at_ms', 'id']
const byMembership = ['created_at_ms', 'user_id', 'group_id']

function sources({ endUser }: BudgetSettings): Source[] {
  const budgeted = (conditions: Where) => conditions.budgeted()
  const ofKind = (kind: StoredKind, where = budgeted): Source => ({ kind, where, order: byAge })
  return [
    // Kinds with many objects last, so that an unfinished survey knows all others.
    ofKind('organization'),
    ofKind('team'),
    ofKind('tag'),
    ofKind('user'),
    { kind: 'member', where: budgeted, order: byMembership },
    { kind: 'member', where: hasShareOfTeam, order: byMembership },
    // With a budget of the configuration all of them have one.
    ofKind('customer', endUser === null ? budgeted : () => {}),
    ofKind('key', conditions => {
      conditions.raw('deleted_at_ms is null')
      budgeted(conditions)
    }),
  ]
}

/** Members without a budget of their own in teams that give each a share. */
function hasShareOfTeam(conditions: Where): void {
  conditions.equal('kind', 'team')
  conditions.raw('group_id in (select id from teams where member_max_budget_nano_usd is not null)')
  conditions.unbudgeted()
}

interface Part {
  readonly where: Source['where']
  readonly order: readonly string[]
  /** The values of `order` in the last row of the part before. */
  readonly after: readonly StoredValue[] | undefined
  readonly limit: number
}

function part(database: SurveyedDatabase, table: string, { where, order, after, limit }: Part): Promise<Row[]> {
  const conditions = new Where()
  where(conditions)
  if (after) conditions.raw(`(${order.join(', ')}) < (${after.map(value => conditions.bind(value)).join(', ')})`)
  const sorted = order.length === 0 ? '' : `order by ${order.map(column => `${column} desc`).join(', ')}`
  return selected(database, table, conditions, `${sorted} limit ${limit}`)
}

function selected(database: SurveyedDatabase, table: string, where: Where, order?: string): Promise<Row[]> {
  return whileAvailable(database, 'budgets', () => where.select<Row>(database.sql, table, order))
}

/** What the rows say, with what named budgets, teams and the configuration set. */
async function owners({ database, settings }: SurveyContext, kind: StoredKind, rows: readonly Row[]): Promise<Owner[]> {
  const named = await byId<NamedBudget>(database, 'budget', rows, 'budget_id')
  const own = <Fields extends SpendingFields>(fields: Fields) => withBudget(fields, named.get(fields.budgetId ?? ''))
  if (tables[kind] === 'memberships') {
    const teams = await byId<Team>(database, 'team', rows, 'group_id')
    return rows.map(row => memberOwner(own(toRecord<Membership>(membershipColumns, row)), teams))
  }
  const defaults = kind === 'customer' ? await endUserDefaults(database, settings.endUser) : null
  return rows.map((row): Owner => {
    const record = own(kind === 'key' ? toRecord<KeyRecord>(keyColumns, row) : tenantOf(kind, row))
    const name = record.alias ?? textOf(record, 'email') ?? textOf(record, 'hint') ?? record.id
    const fields = customerFields(record, defaults)
    return { kind, id: record.id, name, version: record.version, fields }
  })
}

/** Where their named budget does not exist, they have none, and their calls are refused. */
async function endUserDefaults(database: SurveyedDatabase, rule: BudgetSettings['endUser']) {
  if (rule?.budgetId == null) return rule
  const named = await byId<NamedBudget>(database, 'budget', [{ budget_id: rule.budgetId }], 'budget_id')
  return withBudget(rule, named.get(rule.budgetId))
}

function memberOwner(member: Membership, teams: ReadonlyMap<string, Team>): Owner {
  const { groupId, userId } = member
  const team = member.kind === 'team' ? teams.get(groupId) : undefined
  const id = `${groupId}/${userId}`
  return {
    kind: member.kind === 'team' ? 'member' : 'organization_member',
    id,
    name: `${userId} (${team?.alias ?? groupId})`,
    version: null,
    fields: team ? withTeamShare(member, team) : member,
  }
}

type AnyTenant = TenantFields & Partial<Pick<User, 'email'>>

const tenantOf = (kind: StoredKind, row: Row): AnyTenant =>
  toRecord<AnyTenant>(tenantColumns[kind as TenantKind] as Parameters<typeof toRecord<AnyTenant>>[0], row)

function textOf(record: object, name: string): string | null {
  const value = (record as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : null
}

/** The tenants that a column of the rows names. */
async function byId<Tenant extends TenantFields>(
  database: SurveyedDatabase,
  kind: 'budget' | 'team',
  rows: readonly Row[],
  column: string,
): Promise<ReadonlyMap<string, Tenant>> {
  const ids = [...new Set(rows.flatMap(row => row[column] ?? []))].map(String)
  if (ids.length === 0) return new Map()
  const conditions = new Where()
  conditions.among('id', ids)
  const found = await selected(database, tenantTables[kind], conditions)
  const columns = tenantColumns[kind] as unknown as Parameters<typeof toRecord<Tenant>>[0]
  return new Map(found.map(row => [String(row.id), toRecord<Tenant>(columns, row)]))
}

function ofConfiguration({ all, providers }: BudgetSettings): Owner[] {
  const owner = (kind: 'gateway' | 'provider', id: string, rule: BudgetRule): Owner => ({
    kind,
    id,
    name: id,
    version: null,
    fields: { ...unlimited, ...rule },
  })
  return [
    ...(all ? [owner('gateway', 'gateway', all)] : []),
    ...Object.entries(providers).map(([name, rule]) => owner('provider', name, rule)),
  ]
}

/** The budgets of these, for all models and by model, with the share of each that is spent in its present period. */
async function judged({ database, settings, nowMs }: SurveyContext, of: readonly Owner[]): Promise<SurveyedBudget[]> {
  const found = of.flatMap(owner => {
    const scope = owner.kind === 'gateway' ? 'gateway' : `${owner.kind}:${owner.id}`
    return budgetDefinitions(scope, owner.fields, Object.keys(owner.fields.modelMaxBudget)).map(definition => {
      const model = definition.id === scope ? null : definition.id.slice(`${scope}:model:`.length)
      const [present] = new BudgetPlan([definition], { timeZone: settings.timeZone, writer: '' }).at(nowMs).scopes
      return { owner, definition, model, period: present!.budget! }
    })
  })
  const spent = await spentIn(
    database,
    found.map(({ definition, period }) => ({ scope: definition.id, startMs: period.startMs })),
  )
  return found.map(({ owner, definition, model, period }) => {
    const { fields } = owner
    const limit = period.maxNanoUsd < budgetNanoUsdMax ? period.maxNanoUsd : period.softNanoUsd!
    const used = spent(definition.id, period.startMs)
    return {
      scope: definition.id,
      kind: owner.kind,
      id: owner.id,
      name: owner.name,
      version: owner.version,
      budgetId: fields.budgetId,
      model,
      definition,
      duration: model === null ? fields.budgetDuration : fields.modelMaxBudget[model]!.budgetDuration,
      raiseReason: model === null ? fields.budgetIncreaseReason : null,
      share: limit === 0 ? 1 : used / limit,
    }
  })
}

type Period = { readonly scope: string; readonly startMs: number }

/** Nano-dollars of periods, by all processes, as the ledger has stored them. */
async function spentIn(
  database: SurveyedDatabase,
  periods: readonly Period[],
): Promise<(scope: string, startMs: number) => number> {
  const keyOf = (scope: string, startMs: unknown) => `${Number(startMs)} ${scope}`
  const sums = new Map<string, number>()
  if (periods.length > 0) {
    const conditions = new Where()
    conditions.among(
      'scope',
      periods.map(one => one.scope),
    )
    conditions.compare('window_start_ms', '>=', Math.min(...periods.map(one => one.startMs)))
    for (const row of await selected(database, 'budget_spend', conditions)) {
      const key = keyOf(String(row.scope), row.window_start_ms)
      sums.set(key, (sums.get(key) ?? 0) + Number(row.spent_nano_usd))
    }
  }
  return (scope, startMs) => sums.get(keyOf(scope, startMs)) ?? 0
}
