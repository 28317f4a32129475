/** Every limit and budget that calls of a key count in, scope by scope, and what would refuse the next call. */
import { z } from 'zod'
import { callerProblem } from '../../access/caller.ts'
import { refusedFrom } from '../../access/key-rotation.ts'
import { CallerLimits } from '../../access/limits/limit-scopes.ts'
import type { LimitOwner, OwnedLimits } from '../../access/limits/limit-scopes.ts'
import { endUserLimits } from '../../access/limits/named-owners.ts'
import { refusesModel, unaliased } from '../../access/models/model-access.ts'
import { administersOrganization, mayReadAll, maySeeKey } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import { bareKey, isMaster, userKeyId } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import { lazy } from '../../lib/lazy.ts'
import { absent, forbidden, noSuchKey } from '../common/answers.ts'
import { lookForKey, teamOf } from './common/key-rights.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { visibleTeam } from './common/access.ts'
import { budgetStateFields, budgetStates } from './common/budget-states.ts'
import { described, integer, listOf, named, nullable, oneOf, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

const query = lazy(() =>
  z.strictObject({
    key: z
      .string()
      .max(512)
      .optional()
      .describe("It is the text of a key, its token or its id; absent = the caller's own."),
    user_id: keyName().optional().describe('In place of a key it names a user, whose calls without one are meant.'),
    team_id: keyName()
      .optional()
      .describe('In place of a key it names a team, of which a key without limits of its own is meant.'),
    model: keyName().optional().describe('The model that would be called; absent = the limits of every model.'),
    customer: keyName().optional().describe('A call that names this end user.'),
    tags: z.string().max(2000).optional().describe('The tags that the call would have, with commas between.'),
  }),
)
type KeyLimitsQuery = z.infer<ReturnType<typeof query>>

const ofModel = described('The model whose calls count; null = those of all models do.', nullable(text))
const limit = nullable(integer)
const used = described('null = this replica does not know: nothing of it was counted here lately.', limit)
const scopeSchema = shape({
  kind: described(
    'What limits: `key`, `user`, `team`, `member`, `organization`, `customer`, `tag`, `gateway`, ...',
    text,
  ),
  id: text,
  name: nullable(text),
  model: ofModel,
  budget_id: nullable(text),
  rpm_limit: limit,
  rpm_used: used,
  tpm_limit: limit,
  tpm_used: used,
  max_parallel_requests: limit,
  parallel_requests: used,
  budget: nullable(shape(budgetStateFields)),
  tightest: described(
    'Of what no other scope has less left than this one.',
    listOf(oneOf('requests', 'parallel_requests', 'tokens', 'budget')),
  ),
})
const refusalSchema = shape({
  reason: oneOf(
    'blocked',
    'expired',
    'overdue',
    'unknown_model',
    'model',
    'requests',
    'parallel_requests',
    'tokens',
    'budget',
  ),
  kind: described('What would refuse it: `key`, `team`, ...', text),
  id: text,
  model: ofModel,
})
const keyLimitsSchema = named('KeyLimits', () =>
  shape({
    key: described('The id of the key; null = it was asked about a user or a team.', nullable(text)),
    key_alias: nullable(text),
    model: nullable(text),
    scopes: described(
      'In the order in which they are counted. Amounts of organizations, tags and the gateway are null for callers ' +
        'that may not read them.',
      listOf(scopeSchema),
    ),
    refusal: described(
      'What would refuse the next call, first; null = nothing, as long as it costs little.',
      nullable(refusalSchema),
    ),
  }),
)
type ScopeRow = ValueOf<typeof scopeSchema>
/** A scope before it is compared with the others. */
type UncomparedRow = Omit<ScopeRow, 'tightest'>
type Refusal = ValueOf<typeof refusalSchema>

/** Counts nothing. What other replicas counted is as this one last heard. */
export const keyLimits = withQuery(query, {
  tag: 'Keys',
  answer: keyLimitsSchema,
  paths: ['/key/limits'],
  auth: 'key',
  operationId: 'explainKeyLimits',
  summary: 'The limits and budgets of a key, a user or a team, scope by scope, and what would refuse its next call',
  failures: [404],
  async handle(wanted, { services, caller }) {
    const whose = await callerOf(services, caller, wanted)
    if (!mayReadAll(caller) && (wanted.customer !== undefined || wanted.tags !== undefined))
      throw forbidden('customers and tags are for administrators and those who read everything', 'customer')
    const { settings } = services.current
    const others = await othersOf(services, whose, wanted)
    const index = services.current.models.of(whose)
    const named = wanted.model === undefined ? undefined : { model: unaliased(whose, wanted.model), index }
    const all = new CallerLimits(whose, settings, '').owned(named, others)
    const owned = all.filter(({ id }) => !isPlaceholder(id, wanted))
    const rows = await rowsOf(services, whose, owned)
    return {
      key: (wanted.user_id ?? wanted.team_id) === undefined ? whose.key.id : null,
      key_alias: whose.key.alias,
      model: wanted.model ?? null,
      scopes: rows.map(row => (mayReadAmounts(caller, row) ? row : withoutAmounts(row))),
      refusal: refusalOf(services, whose, { rows, model: named?.model }),
    }
  },
})

/** What others spend is for those who may read it: the amounts of an organization, of a tag and of the gateway. */
function mayReadAmounts(caller: Caller, { kind, id }: Pick<ScopeRow, 'kind' | 'id'>): boolean {
  if (mayReadAll(caller)) return true
  return kind === 'organization' ? administersOrganization(caller, id) : kind !== 'tag' && kind !== 'gateway'
}

const withoutAmounts = (row: ScopeRow): ScopeRow => ({
  ...row,
  budget_id: null,
  rpm_limit: null,
  rpm_used: null,
  tpm_limit: null,
  tpm_used: null,
  max_parallel_requests: null,
  parallel_requests: null,
  budget: null,
})

/** The key that stands for a user or a team, which is none; in a team also its user, who is not known. */
function isPlaceholder(scope: string, { user_id: userId, team_id: teamId }: KeyLimitsQuery): boolean {
  if (scope.startsWith('key:')) return (userId ?? teamId) !== undefined
  return teamId !== undefined && scope.startsWith('user:')
}

/** Whose calls are asked about. Throws as the `info` of keys, users and teams. */
async function callerOf(
  services: Services,
  caller: Caller,
  { key, user_id, team_id }: KeyLimitsQuery,
): Promise<Caller> {
  const { tenants, tenancy } = services
  if ([key, user_id, team_id].filter(one => one !== undefined).length > 1)
    throw unprocessable([{ loc: ['query', 'key'], msg: 'name one of key, user_id and team_id', type: 'invalid' }])
  if (team_id !== undefined) {
    const team = await visibleTeam(tenancy, caller, team_id)
    return tenants.compile({ ...bareKey, id: `team:${team.id}`, teamId: team.id })
  }
  if (user_id === undefined) return callerOfKey(services, caller, key)
  if (!mayReadAll(caller) && caller.user?.id !== user_id) throw absent('user', 'user_id')
  const compiled = await tenants.compile({ ...bareKey, id: userKeyId(user_id), userId: user_id })
  if (!compiled.user) throw absent('user', 'user_id')
  return compiled
}

async function callerOfKey(services: Services, caller: Caller, named: string | undefined): Promise<Caller> {
  if (named === undefined) {
    if (!isMaster(caller)) return caller
    throw new GatewayError('not-found', 'the master key has no limits; name a key: /key/limits?key=...', {
      param: 'key',
    })
  }
  const record = await lookForKey(services, named)
  const isVisible = record && maySeeKey(caller, record, await teamOf(services.tenancy, record))
  if (record && !isVisible) throw forbidden('a key may only ask about itself, its user and its own teams', 'key')
  const found = record && (await services.tenants.load(record.hash))
  if (found) return found
  if (mayReadAll(caller)) throw noSuchKey()
  throw forbidden('a key may only ask about itself, its user and its own teams', 'key')
}

async function othersOf(
  { tenants, current }: Services,
  whose: Caller,
  { customer, tags = '' }: KeyLimitsQuery,
): Promise<LimitOwner[]> {
  const others: LimitOwner[] = []
  if (customer !== undefined) {
    const found = await endUserLimits(whose, customer, tenants, current.settings.budgets)
    others.push(found ?? { id: `customer:${customer}`, fields: unlimited })
  }
  const names = new Set(tags.split(',').map(one => one.trim()))
  for (const name of names) {
    const tag = name === '' ? undefined : await tenants.lookup('tag', name)
    if (tag) others.push({ id: `tag:${tag.id}`, fields: tag })
  }
  return others
}

async function rowsOf(services: Services, caller: Caller, owned: readonly OwnedLimits[]): Promise<ScopeRow[]> {
  const budgeted = owned.flatMap(({ budget, model, fields }) => {
    const ofModel = model === null ? undefined : fields.modelMaxBudget[model]
    return budget ? [{ definition: budget, duration: (ofModel ?? fields).budgetDuration }] : []
  })
  const states = await budgetStates(services, budgeted)
  const stateOf = new Map(budgeted.map(({ definition }, at) => [definition, states[at]!]))
  const rows = owned.map(one => rowOf(services, caller, one, one.budget ? stateOf.get(one.budget)! : null))
  const least = leastNames.map(name => [name, Math.min(...rows.map(leftIn[name]))] as const)
  return rows.map(row => ({
    ...row,
    tightest: least.flatMap(([name, amount]) => (amount < Infinity && leftIn[name](row) === amount ? [name] : [])),
  }))
}

function rowOf(services: Services, caller: Caller, one: OwnedLimits, budget: ScopeRow['budget']): UncomparedRow {
  const colon = one.id.indexOf(':')
  const [kind, id] = colon < 0 ? [one.id, one.id] : [one.id.slice(0, colon), one.id.slice(colon + 1)]
  const counted = one.limits.map(scope => ({ scope, use: services.limiter.use(scope) }))
  const requests = counted.find(({ scope }) => scope.requestsPerMinute !== null)
  const tokens = counted.find(({ scope }) => scope.tokensPerMinute !== null)
  const parallel = counted.find(({ scope }) => scope.parallelRequests !== null)
  return {
    kind,
    id,
    name: nameOf(caller, kind),
    model: one.model,
    budget_id: one.fields.budgetId,
    rpm_limit: requests?.scope.requestsPerMinute ?? null,
    rpm_used: requests?.use.requests ?? null,
    tpm_limit: tokens?.scope.tokensPerMinute ?? null,
    tpm_used: tokens?.use.tokens ?? null,
    max_parallel_requests: parallel?.scope.parallelRequests ?? null,
    parallel_requests: parallel?.use.parallelRequests ?? null,
    budget,
  }
}

function nameOf({ key, user, team, organization }: Caller, kind: string): string | null {
  const names: Readonly<Record<string, string | null | undefined>> = {
    key: key.alias,
    user: user?.alias ?? user?.email,
    team: team?.alias,
    organization: organization?.alias,
  }
  return names[kind] ?? null
}

/** Infinity = no such limit. What is not known here counts as not used. */
const left = (limit: number | null, used: number | null): number => (limit === null ? Infinity : limit - (used ?? 0))

/** How much of a scope is left, by what it limits. */
const leftIn = {
  requests: (row: UncomparedRow) => left(row.rpm_limit, row.rpm_used),
  parallel_requests: (row: UncomparedRow) => left(row.max_parallel_requests, row.parallel_requests),
  tokens: (row: UncomparedRow) => left(row.tpm_limit, row.tpm_used),
  budget: (row: UncomparedRow) => row.budget?.left ?? Infinity,
}
const leastNames = ['requests', 'parallel_requests', 'tokens', 'budget'] as const

/** In the order in which a call is checked; null = one that costs little would be admitted. */
function refusalOf(
  { current, clock }: Services,
  caller: Caller,
  { rows, model }: { readonly rows: readonly ScopeRow[]; readonly model: string | undefined },
): Refusal | null {
  const { key, user, team, organization } = caller
  const by = (reason: Refusal['reason'], kind: string, id: string) => ({ reason, kind, id, model: model ?? null })
  const problem = callerProblem(caller, clock.epochMs())
  const owners = { key, user, team, organization }
  if (problem === 'blocked')
    for (const [kind, one] of Object.entries(owners)) if (one?.blocked) return by('blocked', kind, one.id)
  if (problem) return by(problem, 'key', key.id)
  const overdueMs = refusedFrom(key, current.settings.keyRotation)
  if (overdueMs !== null && overdueMs <= clock.epochMs()) return by('overdue', 'key', key.id)
  const ofHead = refusalIn(rows, ['requests', 'parallel_requests'])
  if (ofHead && ofHead.model === null) return ofHead
  const refusing = model === undefined ? undefined : refusesModel(caller, model, current.settings)
  if (refusing) return by('model', refusing, (refusing === 'derived' ? key : owners[refusing])?.id ?? key.id)
  if (model !== undefined && current.models.of(caller).resolve(model).length === 0)
    return by('unknown_model', 'gateway', model)
  return refusalIn(rows, ['requests', 'parallel_requests', 'tokens', 'budget'])
}

function refusalIn(rows: readonly ScopeRow[], reasons: readonly (keyof typeof leftIn)[]): Refusal | null {
  for (const row of rows)
    for (const reason of reasons)
      if (leftIn[reason](row) <= 0) return { reason, kind: row.kind, id: row.id, model: row.model }
  return null
}
