/**
 * Table `ledger_latency`: for each hour (UTC), model and deployment, how many calls took how long, in the buckets of
 * `core/ledger/latency.ts`, one column each. Hours of some days ago are added to their day (`foldLatency`), so the
 * counts of a day are the sum of its own row and of its hours. Only calls that an upstream answered in full are
 * counted: the time of a refusal or of a kept answer says nothing of a model. A row takes some hundred bytes, however
 * many calls it counts.
 */
import { latencyBuckets, latencyEdgesMs } from '../../../core/ledger/latency.ts'
import type { LatencyMeasure } from '../../../core/ledger/latency.ts'
import type { Database } from '../../database/open.ts'
import { dayMs, hourMs } from '../../../lib/clock.ts'

const hoursPerDay = dayMs / hourMs

/** The primary key, in the order in which a span is read. */
export const latencyKey = ['unit', 'start', 'model', 'deployment_id', 'measure'] as const
/** The counts, one for each bucket. */
export const bucketColumns: readonly string[] = Array.from({ length: latencyBuckets }, (_, bucket) => `b${bucket}`)
/** In the order of the table. */
export const latencyColumns: readonly string[] = [...latencyKey, ...bucketColumns]

/**
 * STRICT: SQLite stores a fraction or a text in no count. A count of an hour or day fits 32 bits, the hour of a row
 * whose clock was thousands of years off does not.
 */
export function createLatencyText(kind: Database['kind']): string {
  const wholeNumber = kind === 'sqlite' ? 'integer' : 'bigint'
  const columns = [
    ...latencyKey.map(name => `${name} ${name === 'start' ? wholeNumber : 'text'} not null`),
    ...bucketColumns.map(name => `${name} integer not null`),
    `primary key (${latencyKey.join(', ')})`,
  ]
  const options = kind === 'sqlite' ? 'strict, without rowid' : 'with (fillfactor = 70)'
  return `create table ledger_latency (${columns.join(', ')}) ${options}`
}

const added = bucketColumns.map(name => `${name} = ledger_latency.${name} + excluded.${name}`).join(', ')

/** Adds counts to the table; `source` provides rows with `latencyColumns`. */
export function addLatencyText(source: string): string {
  return `insert into ledger_latency (${latencyColumns.join(', ')}) ${source}
    on conflict (${latencyKey.join(', ')}) do update set ${added}`
}

/** SQL: the bucket of a time, by halves. */
function bucketText(value: string, low = 0, high = latencyEdgesMs.length): string {
  if (low === high) return String(low)
  const middle = (low + high) >>> 1
  const [above, below] = [bucketText(value, middle + 1, high), bucketText(value, low, middle)]
  return `case when ${value} >= ${latencyEdgesMs[middle]} then ${above} else ${below} end`
}

/** Which rows count, and what of them. The same in memory: `latency-cells.ts`. */
const measures: Readonly<Record<LatencyMeasure, { readonly value: string; readonly condition: string }>> = {
  total: { value: 'duration_ms', condition: '' },
  first_byte: { value: 'first_byte_ms', condition: 'and stream = 1 and first_byte_ms is not null' },
}

const columns = latencyKey.slice(2).join(', ')
/** SQL: `$1`, and the hours of this day. */
const day = 'cast($1 as bigint)'
const ofDay = `((unit = 'day' and start = ${day})
  or (unit = 'hour' and start >= ${day} * ${hoursPerDay} and start < (${day} + 1) * ${hoursPerDay}))`

/** Selects `latencyColumns` of a day from the rows of the ledger. `$1` = the day. */
export function expectedLatencyText(): string {
  const timed = Object.entries(measures).map(
    ([measure, { value, condition }]) => `select model, coalesce(deployment_id, '') as deployment_id,
      '${measure}' as measure, ${bucketText(value)} as bucket
      from ledger where started_at_ms >= ${day} * ${dayMs} and started_at_ms < (${day} + 1) * ${dayMs}
      and outcome = 'success' and attempts > 0 and cache_hit_kind is null ${condition}`,
  )
  const counts = bucketColumns.map(
    (name, bucket) => `cast(sum(case when bucket = ${bucket} then calls else 0 end) as integer) as ${name}`,
  )
  return `select 'day' as unit, cast($1 as integer) as start, ${columns}, ${counts.join(', ')} from
    (select ${columns}, bucket, count(*) as calls from (${timed.join(' union all ')}) as timed
    group by ${columns}, bucket) as counted group by ${columns}`
}

/** The same as it is stored. */
export function storedLatencyText(): string {
  return `select 'day' as unit, cast($1 as integer) as start, ${columns}, ${sums} from ledger_latency where ${ofDay}
    group by ${columns}`
}

const sums = bucketColumns.map(name => `cast(sum(${name}) as integer) as ${name}`).join(', ')

/** Deletes the counts of a day. */
export const deleteLatencyText = `delete from ledger_latency where ${ofDay}`

/** Adds the hours before a day to their days; then `deleteHoursText`, in the same transaction. `$1` = the day. */
export const foldLatencyText = addLatencyText(
  `select 'day' as unit, start / ${hoursPerDay} as start, ${columns}, ${sums} from ledger_latency
    where unit = 'hour' and start < ${day} * ${hoursPerDay} group by start / ${hoursPerDay}, ${columns}`,
)
/** Deletes the hours before a day. */
export const deleteHoursText = `delete from ledger_latency where unit = 'hour' and start < ${day} * ${hoursPerDay}`
