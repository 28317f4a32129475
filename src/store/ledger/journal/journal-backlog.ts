/** How much a journal holds that is not in the database: bytes, records and since when. */
import { statSync } from 'node:fs'
import { listSegments, segmentPath, SegmentReader } from './journal.ts'
import type { SegmentBeginning } from './segment-header.ts'

/** What waits for the database. */
export interface Backlog {
  readonly bytes: number
  /** A call has two: its intent and its settlement. */
  readonly records: number
  /** When the oldest of it was written, milliseconds since 1970; Infinity = nothing waits. */
  readonly sinceMs: number
}

/** A journal of which every record is stored. */
export const noBacklog: Backlog = { bytes: 0, records: 0, sinceMs: Infinity }

/** The sum of two backlogs. */
export function sumOf(one: Backlog, other: Backlog): Backlog {
  return {
    bytes: one.bytes + other.bytes,
    records: one.records + other.records,
    sinceMs: Math.min(one.sinceMs, other.sinceMs),
  }
}

/** The journal of one process that has ended. */
export interface MeasuredJournal {
  /** Names the process, see `SegmentName`. */
  readonly start: string
  /** Oldest first. */
  readonly segments: readonly { readonly sequence: number; readonly bytes: number }[]
  /** Records of the process before its first segment that is left, and behind its last; estimated where none says. */
  readonly fromRecord: number
  readonly toRecord: number
  readonly sinceMs: number
}

/** Bytes of a record on average, for segments of earlier versions, which do not say how many they hold. */
const recordBytesEstimated = 215

/**
 * All journals of a directory but that of `own`, oldest process first. Reads the headers (20 us each) and the last two
 * segments of each process; the others are full. Throws when the directory cannot be read.
 */
export function measureJournals(directory: string, own: string): MeasuredJournal[] {
  const byStart = Map.groupBy(
    listSegments(directory).filter(name => name.start !== own),
    name => name.start,
  )
  return [...byStart].map(([start, names]) => {
    const readers = names.map((name, at) => measureSegment(segmentPath(directory, name), at >= names.length - 2))
    const segments = names.map(({ sequence }, at) => ({ sequence, bytes: readers[at]!.bytes }))
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
    const first = readers[0]!.beginning
    const last = readers.findLast(one => one.beginning !== undefined)
    const fromRecord = first?.recordsBefore ?? 0
    const toRecord =
      first !== undefined && last?.beginning !== undefined
        ? last.beginning.recordsBefore + last.records
        : Math.round(bytes / recordBytesEstimated)
    // The name begins with the moment of the start.
    return { start, segments, fromRecord, toRecord, sinceMs: first?.begunAtMs ?? Number.parseInt(start, 10) }
  })
}

/** What all of them hold. */
export function backlogOf(journals: readonly MeasuredJournal[]): Backlog {
  return journals
    .map(({ segments, fromRecord, toRecord, sinceMs }) => {
      const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
      return bytes === 0 ? noBacklog : { bytes, records: Math.max(toRecord - fromRecord, 0), sinceMs }
    })
    .reduce(sumOf, noBacklog)
}

interface MeasuredSegment {
  readonly bytes: number
  readonly beginning: SegmentBeginning | undefined
  /** Counted only if `isLast`. */
  readonly records: number
}

/** A segment that cannot be read counts as empty: its replay says why. */
function measureSegment(path: string, isLast: boolean): MeasuredSegment {
  let reader: SegmentReader
  try {
    reader = new SegmentReader(path)
  } catch {
    return { bytes: 0, beginning: undefined, records: 0 }
  }
  try {
    const beginning = reader.header?.beginning
    if (!isLast) return { bytes: statSync(path).size - reader.offset, beginning, records: 0 }
    const bytes = reader.bytesLeft()
    let records = 0
    for (let item = reader.peekReloaded(); typeof item === 'object'; item = reader.peek()) {
      reader.offset = item.next
      records++
    }
    return { bytes, beginning, records }
  } catch {
    return { bytes: 0, beginning: undefined, records: 0 }
  } finally {
    reader.close()
  }
}
