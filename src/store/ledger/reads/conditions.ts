/** Conditions of questions to the ledger, as SQL. */
import type { LedgerQuery } from '../../../core/ledger/ledger.ts'
import { asciiLower } from '../../../lib/text.ts'

/** Postgres refuses a NUL in a parameter, and both databases half of a surrogate pair; no stored text has either. */
export function storableParameter(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/**
 * SQL, by what was hit: a guardrail that found something or was not answered, or an answer from the cache. The indexes
 * of hits are made with these conditions: SQLite compares the texts.
 */
export const hitConditions: Readonly<Record<NonNullable<LedgerQuery['hits']>, string>> = {
  guardrail: `(${['mask', 'block', 'flag', 'error'].map(one => `guardrails like '%:${one}%'`).join(' or ')})`,
  cache: 'cache_hit_kind is not null',
}

/**
 * A condition that no index of the ledger knows: it is tested in rows that others have found. `text` binds its values.
 */
export interface TestedCondition {
  readonly columns: readonly string[]
  readonly text: (bind: (value: number | string) => string) => string
}

type TestedFields = Pick<
  LedgerQuery,
  | 'minDurationMs'
  | 'minCostNanoUsd'
  | 'maxCostNanoUsd'
  | 'deploymentId'
  | 'errorStatus'
  | 'statusRange'
  | 'errorKind'
  | 'errorText'
  | 'provider'
  | 'tag'
  | 'modelPattern'
>

type Failing = Pick<LedgerQuery, 'isFailed' | 'errorStatus' | 'statusRange' | 'errorKind' | 'errorText'>

/** Every call that it finds has failed, so that the index of failures leads to them. */
export function isOfFailures({ isFailed, errorStatus, statusRange, errorKind, errorText }: Failing): boolean {
  return isFailed === true || [errorStatus, errorKind, errorText].some(one => one !== undefined) || isError(statusRange)
}

/** What succeeds has a status below. */
const isError = (range: LedgerQuery['statusRange']): boolean => range !== undefined && range[0] >= 400

/** Calls with one of the values in each of the columns. */
export function amongConditions(among: LedgerQuery['among'] = {}): readonly TestedCondition[] {
  return Object.entries(among).map(([column, values]) => ({
    columns: [column],
    // One value alone is in the order of its calls in the index: of several all calls are sorted.
    text: bind => {
      const bound = values.map(value => bind(storableParameter(value)))
      if (bound.length === 0) return '1 = 0'
      return bound.length === 1 ? `${column} = ${bound[0]}` : `${column} in (${bound.join(', ')})`
    },
  }))
}

/** As `like` takes a text that stands for itself. */
const likeText = (text: string): string => text.replace(/[\\%_]/g, String.raw`\$&`)

/** In any case, as far as it is that of ASCII. */
function likeCondition(column: string, pattern: string): TestedCondition {
  return {
    columns: [column],
    text: bind => String.raw`lower(${column}) like ${bind(storableParameter(asciiLower(pattern)))} escape '\'`,
  }
}

/** A list is stored as JSON: its items stand behind a bracket or a comma. */
function itemCondition(column: string, item: string): TestedCondition {
  const text = JSON.stringify(storableParameter(item))
  const without = (bound: string) => `replace(${column}, ${bound}, '') <> ${column}`
  return { columns: [column], text: bind => `(${without(bind(`[${text}`))} or ${without(bind(`,${text}`))})` }
}

/** The conditions of a query that no index knows. `tail/tail-match.ts` says the same in memory. */
export function testedConditions(query: TestedFields): readonly TestedCondition[] {
  const compared = (column: string, sign: string, value: number | string | undefined): TestedCondition[] =>
    value === undefined ? [] : [{ columns: [column], text: bind => `${column} ${sign} ${bind(value)}` }]
  const equal = (column: string, value: string | undefined) => compared(column, '=', value && storableParameter(value))
  const failed = compared('status', '=', query.errorStatus)
  const { errorText, tag, modelPattern, statusRange } = query
  return [
    ...compared('duration_ms', '>=', query.minDurationMs),
    ...compared('cost_nano_usd', '>=', query.minCostNanoUsd),
    ...compared('cost_nano_usd', '<=', query.maxCostNanoUsd),
    ...equal('deployment_id', query.deploymentId),
    ...equal('provider', query.provider),
    ...equal('error_kind', query.errorKind),
    ...compared('status', '>=', statusRange?.[0]),
    ...compared('status', '<=', statusRange?.[1]),
    ...(errorText === undefined ? [] : [likeCondition('error_message', `%${likeText(errorText)}%`)]),
    ...(tag === undefined ? [] : [itemCondition('request_tags', tag)]),
    ...(modelPattern === undefined ? [] : [likeCondition('model', likeText(modelPattern).replaceAll('*', '%'))]),
    ...failed,
    ...(failed.length > 0 ? [{ columns: ['error_kind'], text: () => 'error_kind is not null' }] : []),
  ]
}
