/** The filter of the log as text, and the question to the ledger that it stands for. */
import type { Calls } from '../../api/schema.d.ts'
import { parseFilter } from '../../lib/filter.ts'
import type { StringKey } from '../logs.page.ts'

type LogQuery = Partial<NonNullable<Calls['GET /spend/logs/v2']['query']>>

const outcomes = ['success', 'error', 'client_closed', 'upstream_cut', 'interrupted'] as const

interface LogField {
  /** What the ledger calls it. */
  readonly parameter: keyof LogQuery
  readonly about: StringKey
  readonly values?: readonly string[]
  /** What the ledger is asked for a value as it is typed; undefined = it is none. Absent = the same. */
  readonly read?: (value: string) => string | undefined
}

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

/** What may stand before a colon. */
export const logFields: Readonly<Record<string, LogField>> = {
  outcome: { parameter: 'outcome', about: 'logs.by.outcome', values: outcomes },
  model: { parameter: 'model', about: 'logs.by.model' },
  key: { parameter: 'api_key', about: 'logs.by.key' },
  user: { parameter: 'user_id', about: 'logs.by.user' },
  team: { parameter: 'team_id', about: 'logs.by.team' },
  customer: { parameter: 'end_user', about: 'logs.by.customer' },
  session: { parameter: 'session_id', about: 'logs.by.session' },
  id: { parameter: 'request_id', about: 'logs.by.id' },
  latency: { parameter: 'min_duration_ms', about: 'logs.by.latency', read: readDuration },
  cost: { parameter: 'min_spend', about: 'logs.by.cost', read: readCost },
}

/** The terms that the ledger can be asked by, and those that it cannot: an own name, negated, or there twice. */
export function readLogFilter(text: string): { readonly query: LogQuery; readonly unread: readonly string[] } {
  const query: Record<string, string> = {}
  const unread: string[] = []
  for (const { name, value, isNegated } of parseFilter(text)) {
    // A word alone is a call's id: that is what one has at hand.
    const key = name ?? 'id'
    const field = Object.hasOwn(logFields, key) ? logFields[key] : undefined
    const isUsable = field && !isNegated && value !== '' && !(field.parameter in query)
    const parameterValue =
      isUsable && (!field.values || field.values.includes(value)) ? (field.read ?? String)(value) : undefined
    if (field && parameterValue !== undefined) query[field.parameter] = parameterValue
    else unread.push(`${isNegated ? '-' : ''}${name === null ? '' : `${name}:`}${value}`)
  }
  return { query: query as LogQuery, unread }
}
