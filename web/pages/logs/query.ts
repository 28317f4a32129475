/** The filter of the log as text, and the question to the ledger that it stands for. */
import type { Calls, SpendLog } from '../../api/schema.d.ts'
import { parseFilter } from '../../lib/filter.ts'
import type { StringKey } from '../logs.page.ts'

type LogQuery = Partial<NonNullable<Calls['GET /spend/logs/v2']['query']>>

const outcomes = ['success', 'error', 'client_closed', 'upstream_cut', 'interrupted'] as const

interface LogField {
  readonly about: StringKey
  readonly values?: readonly string[]
  /** What the ledger is asked for a value as it is typed; undefined = it is none. */
  readonly ask: (value: string) => LogQuery | undefined
}

type Parameter = keyof LogQuery

const field = (parameter: Parameter, about: StringKey): LogField => ({ about, ask: value => ({ [parameter]: value }) })

const oneOf = (parameter: Parameter, about: StringKey, values: readonly string[]): LogField => ({
  about,
  values,
  ask: value => (values.includes(value) ? { [parameter]: value } : undefined),
})

const measured = (parameter: Parameter, about: StringKey, read: (value: string) => string | undefined): LogField => ({
  about,
  ask: value => {
    const text = read(value)
    return text === undefined ? undefined : { [parameter]: text }
  },
})

const msOf: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000 }

/** `>2s`, `>300ms`, `>1.5min` in milliseconds. */
function readDuration(value: string): string | undefined {
  const [, number, unit] = /^>=?(\d+(?:\.\d+)?)(ms|s|min)$/.exec(value) ?? []
  return number === undefined ? undefined : String(Number(number) * msOf[unit!]!)
}

/** `>0.01` or `>$0.01` in dollars. */
function readCost(value: string): string | undefined {
  return /^>=?\$?(\d+(?:\.\d+)?)$/.exec(value)?.[1]
}

const statusWords: Readonly<Record<string, LogQuery['status_filter']>> = { ok: 'success', error: 'failure' }

/** `429`, `5xx`, `ok`, `error`. */
function askStatus(value: string): LogQuery | undefined {
  const word = Object.hasOwn(statusWords, value) ? statusWords[value] : undefined
  if (word) return { status_filter: word }
  return /^[1-5](\d\d|xx)$/.test(value) ? { http_status: value } : undefined
}

/** What may stand before a colon. Keys, persons, teams and organizations are named by their names or ids. */
export const logFields: Readonly<Record<string, LogField>> = {
  status: { about: 'logs.by.status', values: ['ok', 'error', '429', '4xx', '5xx'], ask: askStatus },
  outcome: oneOf('outcome', 'logs.by.outcome', outcomes),
  model: field('model', 'logs.by.model'),
  key: field('api_key', 'logs.by.key'),
  team: field('team', 'logs.by.team'),
  user: field('user', 'logs.by.user'),
  organization: field('organization', 'logs.by.organization'),
  tag: field('tag', 'logs.by.tag'),
  provider: field('provider', 'logs.by.provider'),
  error: field('error_kind', 'logs.by.error'),
  message: field('error_message', 'logs.by.message'),
  customer: field('end_user', 'logs.by.customer'),
  session: field('session_id', 'logs.by.session'),
  deployment: field('model_id', 'logs.by.deployment'),
  id: field('request_id', 'logs.by.id'),
  latency: measured('min_duration_ms', 'logs.by.latency', readDuration),
  cost: measured('min_spend', 'logs.by.cost', readCost),
}

/** The terms that the ledger can be asked by, and those that it cannot: an own name, negated, or there twice. */
export function readLogFilter(text: string): { readonly query: LogQuery; readonly unread: readonly string[] } {
  let query: LogQuery = {}
  const unread: string[] = []
  for (const { name, value, isNegated } of parseFilter(text)) {
    // A word alone is a call's id: that is what one has at hand.
    const key = name ?? 'id'
    const known = Object.hasOwn(logFields, key) ? logFields[key] : undefined
    const asked = isNegated || value === '' ? undefined : known?.ask(value)
    if (asked && Object.keys(asked).every(parameter => !(parameter in query))) query = { ...query, ...asked }
    else unread.push(`${isNegated ? '-' : ''}${name === null ? '' : `${name}:`}${value}`)
  }
  return { query, unread }
}

/** The term of a parameter that names nothing: `team:Platfrom`. */
export function termOf(parameter: string, query: LogQuery): string {
  const value = String(query[parameter as Parameter] ?? '')
  const [name = parameter] = Object.entries(logFields).find(([, one]) => parameter in (one.ask(value) ?? {})) ?? []
  return `${name}:${value}`
}

const suggestedMax = 20

/** Values that calls have which were loaded: what one may mean. */
export function valuesOf(calls: readonly SpendLog[] = []): Readonly<Record<string, readonly string[]>> {
  const known: Readonly<Record<string, (call: SpendLog) => readonly (string | null)[]>> = {
    model: call => [call.model],
    key: call => [call.key_alias],
    team: call => [call.team_alias ?? call.team_id],
    user: call => [call.user_email ?? call.user_id],
    organization: call => [call.organization_alias ?? call.organization_id],
    tag: call => call.request_tags ?? [],
    provider: call => [call.provider],
    error: call => [call.error_kind],
    customer: call => [call.end_user],
  }
  const quoted = (value: string) => (/\s/.test(value) ? `"${value}"` : value)
  return Object.fromEntries(
    Object.entries(known).map(([name, values]) => {
      const found = new Set(calls.flatMap(values).filter(value => value !== null && value !== ''))
      return [name, [...found].slice(0, suggestedMax).map(value => quoted(value!))]
    }),
  )
}
