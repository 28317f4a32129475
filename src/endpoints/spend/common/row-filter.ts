/** Which rows of the ledger a request is about: the parameters that lists, counts and streams of calls share. */
import { z } from 'zod'
import type { Caller } from '../../../core/caller.ts'
import type { EndpointDoc, Services } from '../../../core/endpoint.ts'
import { unprocessable } from '../../../core/errors.ts'
import { ledgerColumns } from '../../../core/ledger/ledger-columns.ts'
import type { FollowedRows } from '../../../core/ledger/ledger-tail.ts'
import type { VisibleUsage } from '../../../core/ledger/usage-report.ts'
import { lazy } from '../../../lib/lazy.ts'
import { spanDoc, spanFields, rangeOf } from '../../common/date-span.ts'
import { checkRequestedKey, visibleUsage } from './access.ts'
import { keysNamed, tenantsNamed } from './named-owners.ts'
import type { NamedIds } from './named-owners.ts'

/** How a call may have ended. */
const outcomes = ledgerColumns.outcome.values!
const word = lazy(() => z.string().min(1).max(255))
/** `429`, or `4xx` for all of a class. */
const statusForm = /^[1-5](\d\d|xx)$/

/** Which rows are requested. */
export const rowFilter = lazy(() =>
  z.strictObject({
    key_id: word().optional(),
    user_id: word().optional(),
    team_id: word().optional(),
    key_alias: word().optional(),
    user: word().optional(),
    team: word().optional(),
    organization: word().optional(),
    model: word().optional(),
    request_id: word().optional(),
    session_id: word().optional(),
    outcome: z.enum(outcomes).optional(),
    status_filter: z.enum(['success', 'failure']).optional(),
    hits: z.enum(['guardrail', 'cache']).optional(),
    end_user: word().optional(),
    min_duration_ms: z.coerce.number().min(0).max(1e12).optional(),
    min_spend: z.coerce.number().min(0).max(1e6).optional(),
    max_spend: z.coerce.number().min(0).max(1e6).optional(),
    model_id: word().optional(),
    error_code: z.coerce.number().int().min(100).max(599).optional(),
    http_status: z.string().regex(statusForm, 'must be an HTTP status such as 429, or a class such as 5xx').optional(),
    error_kind: word().optional(),
    error_message: word().optional(),
    provider: word().optional(),
    tag: word().optional(),
    api_key: word().optional(),
    ...spanFields(),
  }),
)

/** What such a request asks for. */
export type RowFilter = z.infer<ReturnType<typeof rowFilter>>

const only = (description: string) => ({ schema: { type: 'string' }, description }) as const

/** What `rowFilter` takes. */
export const rowFilterDoc: NonNullable<EndpointDoc['query']> = {
  key_id: only('Only calls of this key (`token_id`) are listed.'),
  user_id: only('Only calls of this user are listed.'),
  team_id: only('Only calls of this team are listed.'),
  key_alias: only('Only calls of keys with this alias are listed.'),
  user: only('Only calls of the user with this id, e-mail address or name are listed.'),
  team: only('Only calls of the team with this id or name are listed.'),
  organization: only('Only calls of the organization with this id or name are listed.'),
  model: only(
    'Only calls of this model are listed; with `*`, as in `gpt*`, of all that fit. Pages then go as with ' +
      '`min_duration_ms`.',
  ),
  request_id: only('Only this call (`x-proxy-call-id`) is listed.'),
  session_id: only('Only calls of this session, conversation or trace are listed.'),
  outcome: only(`How the calls have ended: ${outcomes.join(', ')}.`),
  status_filter: {
    schema: { enum: ['success', 'failure'] },
    description: 'With `failure` every outcome but `success` is listed.',
  },
  hits: {
    schema: { enum: ['guardrail', 'cache'] },
    description: 'Only calls in which a guardrail found something or was not answered, or that the cache answered.',
  },
  end_user: only('Only calls for this customer are listed.'),
  api_key: only('Only calls of this key are listed: it is its `token_id`, hash or alias.'),
  min_duration_ms: {
    schema: { type: 'number', minimum: 0 },
    description:
      'Only calls that took so long. A page then looks at 40,000 calls: with fewer rows it may have a next one.',
  },
  min_spend: {
    schema: { type: 'number', minimum: 0 },
    description: 'Only calls that cost so many dollars; pages as with `min_duration_ms`.',
  },
  max_spend: {
    schema: { type: 'number', minimum: 0 },
    description:
      'Only calls that cost no more dollars, as far as their cost is known; pages as with `min_duration_ms`.',
  },
  model_id: only('Only calls of this deployment are listed; pages go as with `min_duration_ms`.'),
  error_code: {
    schema: { type: 'integer', minimum: 100, maximum: 599 },
    description: 'Only calls that failed with this HTTP status; pages as with `min_duration_ms`.',
  },
  http_status: {
    schema: { type: 'string', pattern: statusForm.source },
    description:
      'Calls are shown that have this HTTP status, or one of this class (`5xx`); pages as with `min_duration_ms`.',
  },
  error_kind: only('Only calls that failed with this kind of error; pages as with `min_duration_ms`.'),
  error_message: only('Only calls whose client was told this, in any case; pages as with `min_duration_ms`.'),
  provider: only('Only calls that this provider has answered, or failed last; pages as with `min_duration_ms`.'),
  tag: only('Only calls with this tag are listed; pages go as with `min_duration_ms`.'),
  ...spanDoc,
}

/** The parameters that name an owner, and what they name. */
const ownerParameters = ['api_key', 'key_alias', 'user', 'team', 'organization'] as const
type OwnerParameter = (typeof ownerParameters)[number]

const namedBy: Readonly<Record<OwnerParameter, (services: Services, name: string) => Promise<NamedIds>>> = {
  api_key: (services, name) => keysNamed(services, name),
  key_alias: (services, name) => keysNamed(services, name, { isAlias: true }),
  user: ({ tenancy }, name) => tenantsNamed(tenancy, 'user', name),
  team: ({ tenancy }, name) => tenantsNamed(tenancy, 'team', name),
  organization: ({ tenancy }, name) => tenantsNamed(tenancy, 'organization', name),
}

const columnOf: Readonly<Record<OwnerParameter, keyof VisibleUsage>> = {
  api_key: 'key_id',
  key_alias: 'key_id',
  user: 'user_id',
  team: 'team_id',
  organization: 'organization_id',
}

/** A filter whose names of keys, users, teams and organizations have become ids. */
export interface ResolvedFilter {
  readonly filter: RowFilter
  readonly among: VisibleUsage
  /** The parameters that name nothing that there is now; their value is taken for the id of what was deleted. */
  readonly notFound: readonly OwnerParameter[]
}

/** Looks up what the filter names. */
export async function resolved(services: Services, filter: RowFilter): Promise<ResolvedFilter> {
  const among: Record<string, readonly string[]> = {}
  const notFound: OwnerParameter[] = []
  for (const parameter of ownerParameters) {
    const name = filter[parameter]
    if (name === undefined) continue
    const { ids, isFound } = await namedBy[parameter](services, name)
    const column = columnOf[parameter]
    const before = among[column]
    among[column] = before ? before.filter(id => ids.includes(id)) : ids
    if (!isFound) notFound.push(parameter)
  }
  return { filter, among, notFound }
}

/** The rows that the caller may see. Throws 403 where it asks for another key's, 422 for what contradicts itself. */
export function followedRows({ filter, among }: Omit<ResolvedFilter, 'notFound'>, caller: Caller): FollowedRows {
  checkRequestedKey(caller, filter.key_id)
  if (filter.api_key !== undefined && !among.key_id?.includes(caller.key.id)) checkRequestedKey(caller, filter.api_key)
  const { fromMs, toMs } = rangeOf(filter)
  return {
    visible: visibleUsage(caller),
    ...(Object.keys(among).length > 0 && { among }),
    ...equalOf(filter),
    ...outcomeOf(filter),
    ...(filter.hits !== undefined && { hits: filter.hits }),
    ...(filter.min_duration_ms !== undefined && { minDurationMs: filter.min_duration_ms }),
    ...(filter.min_spend !== undefined && { minCostNanoUsd: Math.round(filter.min_spend * 1e9) }),
    ...(filter.max_spend !== undefined && { maxCostNanoUsd: Math.round(filter.max_spend * 1e9) }),
    ...(filter.error_code !== undefined && { errorStatus: filter.error_code }),
    ...(filter.http_status !== undefined && { statusRange: statusRangeOf(filter.http_status) }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  }
}

/** What has to be equal to a column, or to be in it. */
function equalOf(filter: RowFilter): Partial<FollowedRows> {
  const { model } = filter
  const isPattern = model?.includes('*') === true
  const values = {
    keyId: filter.key_id,
    userId: filter.user_id,
    teamId: filter.team_id,
    model: isPattern ? undefined : model,
    modelPattern: isPattern ? model : undefined,
    requestId: filter.request_id,
    sessionId: filter.session_id,
    endUser: filter.end_user,
    deploymentId: filter.model_id,
    errorKind: filter.error_kind,
    errorText: filter.error_message,
    provider: filter.provider,
    tag: filter.tag,
  }
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function outcomeOf({ outcome, status_filter: status }: RowFilter): Pick<FollowedRows, 'outcome' | 'isFailed'> {
  if (outcome !== undefined && status !== undefined && (outcome === 'success') !== (status === 'success'))
    throw unprocessable([{ loc: ['query', 'status_filter'], msg: 'contradicts `outcome`; send one', type: 'invalid' }])
  if (outcome !== undefined) return { outcome }
  return status === undefined ? {} : status === 'success' ? { outcome: 'success' } : { isFailed: true }
}

function statusRangeOf(text: string): readonly [number, number] {
  const first = Number(text.replace('xx', '00'))
  return [first, text.endsWith('xx') ? first + 99 : first]
}
