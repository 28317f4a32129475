/** Counts how long the calls of a batch took, in memory, so that the table is changed once for each model and hour. */
import { latencyBucketOf, latencyBuckets } from '../../../core/ledger/latency.ts'
import type { LatencyMeasure } from '../../../core/ledger/latency.ts'
import { columnIndex } from '../../../core/ledger/ledger-columns.ts'
import type { ColumnValue } from '../journal/ledger-record.ts'
import { latencyKey } from './latency-table.ts'
import { hourMs } from '../../../lib/clock.ts'

const startedAt = columnIndex('started_at_ms')
const outcome = columnIndex('outcome')
const attempts = columnIndex('attempts')
const cacheHit = columnIndex('cache_hit_kind')
const modelAt = columnIndex('model')
const deploymentAt = columnIndex('deployment_id')
const stream = columnIndex('stream')
const duration = columnIndex('duration_ms')
const firstByte = columnIndex('first_byte_ms')

/** Calls of one hour, model and deployment. */
interface Group {
  readonly hour: number
  readonly model: string
  readonly deploymentId: string
  /** For each bucket. */
  readonly total: number[]
  /** undefined = no call was streamed. */
  firstByte: number[] | undefined
}

/** As bound to the columns of the table. */
export type LatencyCell = readonly (string | number)[]

/**
 * What the rows add to the table, sorted by key: replicas that change the same counts take their locks in one order.
 * Rows have the values of `columnList`.
 */
export function latencyCells(rows: readonly (readonly ColumnValue[])[]): readonly LatencyCell[] {
  const groups: Group[] = []
  const byModel = new Map<string, Group[]>()
  let group: Group | undefined
  for (const row of rows) {
    if (row[outcome] !== 'success' || row[attempts] === 0 || row[cacheHit] != null) continue
    const hour = Math.floor((row[startedAt] as number) / hourMs)
    const model = row[modelAt] as string
    const deploymentId = (row[deploymentAt] ?? '') as string
    // Most rows are like the one before.
    if (!group || !isOf(group, hour, model, deploymentId)) {
      let known = byModel.get(model)
      if (!known) byModel.set(model, (known = []))
      group = known.find(one => isOf(one, hour, model, deploymentId))
      if (!group) {
        group = { hour, model, deploymentId, total: noCounts(), firstByte: undefined }
        known.push(group)
        groups.push(group)
      }
    }
    group.total[latencyBucketOf(row[duration] as number)]!++
    if (row[stream] === 1 && row[firstByte] !== null)
      (group.firstByte ??= noCounts())[latencyBucketOf(row[firstByte] as number)]!++
  }
  return groups.sort(inOrder).flatMap(cellsOf)
}

const noCounts = (): number[] => new Array<number>(latencyBuckets).fill(0)

const isOf = (group: Group, hour: number, model: string, deploymentId: string): boolean =>
  group.hour === hour && group.deploymentId === deploymentId && group.model === model

function cellsOf({ hour, model, deploymentId, total, firstByte: first }: Group): LatencyCell[] {
  const cell = (measure: LatencyMeasure, counts: readonly number[]): LatencyCell => [
    'hour',
    hour,
    model,
    deploymentId,
    measure,
    ...counts,
  ]
  return first ? [cell('first_byte', first), cell('total', total)] : [cell('total', total)]
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const inOrder = (a: Group, b: Group): number =>
  a.hour - b.hour || order(a.model, b.model) || order(a.deploymentId, b.deploymentId)

/** For Postgres: an object with the counts that are not 0. */
export function latencyObject(cell: LatencyCell): object {
  const fields = cell.map((value, at) => [
    at < latencyKey.length ? latencyKey[at]! : `b${at - latencyKey.length}`,
    value,
  ])
  return Object.fromEntries(fields.filter(([, value], at) => at < latencyKey.length || value !== 0))
}
