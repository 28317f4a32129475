/** How long something is kept, from a checked configuration. */
import { readDuration } from '../access/key.ts'

/** Milliseconds of a period that the schema has accepted; null = for ever. */
export function retentionMs(period: string | undefined): number | null {
  const read = period === undefined ? undefined : readDuration(period)
  return read && 'ms' in read ? read.ms : null
}
