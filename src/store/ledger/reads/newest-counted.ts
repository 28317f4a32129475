/**
 * Which of the newest calls a count has: read in the same statement as the count, so that both see one state of the
 * database. Calls are sent to pages before they are stored, so that no time says which of them were counted.
 */
import type { LedgerSource } from '../ledger-database.ts'
import type { CallHistogram, HistogramBar } from '../../../core/ledger/call-histogram.ts'
import type { TestedCondition } from './tested-conditions.ts'

/** Pages that follow the ledger are sent no more than that in some seconds. */
const newestMax = 1000

interface NewestOfSpan extends Pick<HistogramBar, 'fromMs' | 'toMs'> {
  readonly limit: number
}

/**
 * A table of one row: the ids among the newest `limit` calls of a span that have all conditions, and the first moment
 * of those that were looked at.
 */
export function newestText(
  kind: LedgerSource['kind'],
  [first, ...others]: readonly TestedCondition[],
  { fromMs, toMs, limit }: NewestOfSpan,
  bind: (value: string | number) => string,
): string {
  const columns = [...new Set(['request_id', 'started_at_ms', ...others.flatMap(one => one.columns)])]
  const span = `started_at_ms >= ${bind(fromMs)} and started_at_ms < ${bind(toMs)}`
  const rows = `select ${columns.join(', ')} from ledger where ${first ? `${first.text(bind)} and ` : ''}${span}
    order by started_at_ms desc limit ${bind(limit)}`
  const tested = others.map(one => one.text(bind)).join(' and ')
  const id = tested === '' ? 'request_id' : `case when ${tested} then request_id end`
  const list = kind === 'sqlite' ? `json_group_array(${id})` : `cast(json_agg(${id}) as text)`
  return `(select count(*) as newest_read, min(started_at_ms) as newest_from_ms, ${list} as newest_ids
    from (${rows}) as newest_rows)`
}

/** Collects what statements with `newestText` found, newest span first. */
export class NewestCounted {
  readonly #ids: string[] = []
  #fromMs: number | undefined
  #left = newestMax

  /** How many further calls may be looked at; 0 = no more. */
  get left(): number {
    return this.#left
  }

  add(found: Record<string, unknown> | undefined): void {
    if (!found || this.#left <= 0) return
    this.#left -= Number(found.newest_read)
    const ids = JSON.parse(String(found.newest_ids ?? '[]')) as (string | null)[]
    for (const id of ids) if (id !== null) this.#ids.push(id)
    // Further calls of the first millisecond may have been left out.
    if (this.#left <= 0) this.#fromMs = Number(found.newest_from_ms) + 1
  }

  /** `countedFromMs` = from there on everything was looked at, if there were not too many. */
  counted(countedFromMs: number): Pick<CallHistogram, 'newestIds' | 'newestFromMs'> {
    return { newestIds: this.#ids, newestFromMs: this.#fromMs ?? countedFromMs }
  }
}
