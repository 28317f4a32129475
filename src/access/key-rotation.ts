/** How long the text of a key works before it has to be replaced. */
import type { VirtualKey } from '../core/caller.ts'
import type { KeyRotationSettings } from '../core/settings.ts'
import { readDuration } from './key.ts'

type RotatedKey = Pick<VirtualKey, 'rotationInterval' | 'textSinceMs'>

/** When the text of a key has to be replaced by its own interval, milliseconds since 1970; null = it has none. */
export function rotateBy({ rotationInterval, textSinceMs }: RotatedKey): number | null {
  if (rotationInterval === null || textSinceMs === null) return null
  const read = readDuration(rotationInterval)
  return 'ms' in read ? textSinceMs + read.ms : null
}

/** When it is refused: once it should have been replaced and the grace is over, too. null = never. */
export function refusedFrom(
  { rotateByMs, textSinceMs }: Pick<VirtualKey, 'rotateByMs' | 'textSinceMs'>,
  { maxAgeMs, graceMs }: KeyRotationSettings,
): number | null {
  const byAge = maxAgeMs === null || textSinceMs === null ? null : textSinceMs + maxAgeMs
  if (rotateByMs === null) return byAge === null ? null : byAge + graceMs
  return Math.min(rotateByMs, byAge ?? rotateByMs) + graceMs
}
