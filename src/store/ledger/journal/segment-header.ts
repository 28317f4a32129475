/**
 * The header of a segment of the journal, the chain by which a missing one is noticed. A segment says how many records
 * its process had journalled before it; the reader marks a segment before it deletes the one in front of it. One
 * without the mark whose predecessor is not there has lost it.
 *
 * Little endian: 8 bytes magic, uint32 number of the segment, uint32 mark, float64 records before it plus 1 (0 = not
 * begun: it was made ahead), float64 milliseconds since 1970 when it was begun, uint32 the first segment that was not
 * stored by then, uint32 unused.
 */
import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'

/** The first bytes of a segment. */
export const magic = Buffer.from('MGJRNL2\n')
/** Of segments that have no chain: their records follow at once. */
const firstMagic = Buffer.from('MGJRNL1\n')
/** Where the first record of a segment stands: the length of its header. */
export const firstRecordAt = 40
const [numberAt, markAt, recordsAt, momentAt, storedAt] = [8, 12, 16, 24, 32]

/** What is known of a segment when its first record is about to be written. */
export interface SegmentBeginning {
  readonly sequence: number
  /** Records that this process has journalled before. */
  readonly recordsBefore: number
  /** Milliseconds since 1970. */
  readonly begunAtMs: number
  /** Segments before this one were stored by then. */
  readonly storedTo: number
}

/** A header as it is read. */
export interface SegmentHeader {
  readonly firstRecordAt: number
  /** Absent = an earlier version wrote the segment, or it was made ahead and never begun. */
  readonly beginning?: SegmentBeginning
  /** All segments before it are stored, so that they may be gone. undefined = an earlier version wrote it. */
  readonly predecessorStored?: boolean
}

/** Writes it into a mapped segment whose magic is there. */
export function beginHeader(bytes: Buffer, { sequence, recordsBefore, begunAtMs, storedTo }: SegmentBeginning): void {
  bytes.writeUInt32LE(sequence, numberAt)
  bytes.writeDoubleLE(recordsBefore + 1, recordsAt)
  bytes.writeDoubleLE(begunAtMs, momentAt)
  bytes.writeUInt32LE(storedTo, storedAt)
}

/** undefined = the bytes are no header of a segment. */
export function readHeader(bytes: Buffer): SegmentHeader | undefined {
  const found = bytes.subarray(0, magic.length)
  if (found.equals(firstMagic)) return { firstRecordAt: firstMagic.length }
  if (!found.equals(magic) || bytes.length < firstRecordAt) return undefined
  const predecessorStored = bytes.readUInt32LE(markAt) === 1
  const records = bytes.readDoubleLE(recordsAt)
  if (!(records >= 1)) return { firstRecordAt, predecessorStored }
  const beginning = {
    sequence: bytes.readUInt32LE(numberAt),
    recordsBefore: records - 1,
    begunAtMs: bytes.readDoubleLE(momentAt),
    storedTo: bytes.readUInt32LE(storedAt),
  }
  return { firstRecordAt, predecessorStored, beginning }
}

/**
 * Marks a segment, durably: all before it are stored and will be deleted. Its process may be writing to it. Does
 * nothing to one of an earlier version. Throws when it cannot be written.
 */
export function markPredecessorStored(path: string): void {
  const file = openSync(path, 'r+')
  try {
    const header = Buffer.alloc(firstRecordAt)
    readSync(file, header, 0, firstRecordAt, 0)
    if (readHeader(header)?.predecessorStored !== false) return
    const mark = Buffer.alloc(4)
    mark.writeUInt32LE(1)
    writeSync(file, mark, 0, mark.length, markAt)
    // Before the deletion: after a loss of power the predecessor would otherwise be missed.
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}
