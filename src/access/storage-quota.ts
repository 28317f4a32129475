/** How much a key may store: assistants, threads, runs, responses, files, batches and conversations together. */
import { masterKeyId } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'

/** null = no limit. */
export interface StorageQuota {
  readonly objectsMax: number | null
  readonly bytesMax: number | null
}

/** What a key has stored. Of files and batches only their records: the contents are at the upstream. */
export interface StoredTotals {
  readonly objects: number
  readonly bytes: number
}

const remedy =
  'delete conversations, threads, assistants, responses, files or batches that are no longer needed, ' +
  'or ask the operator to raise'

/**
 * Throws `quota-exceeded` when the totals are above the quota, and `too-large` when `addedBytes` alone are. The master
 * key has none, as its owner sets the quota.
 */
export function checkStorage(
  keyId: string,
  { objects, bytes }: StoredTotals,
  { objectsMax, bytesMax }: StorageQuota,
  addedBytes = 0,
): void {
  if (keyId === masterKeyId) return
  if (bytesMax !== null && addedBytes > bytesMax)
    throw new GatewayError(
      'too-large',
      `this would store ${addedBytes} bytes, and a key may store ${bytesMax}; send less, or ask the operator to ` +
        'raise `max_stored_mb_per_key`',
    )
  if (objectsMax !== null && objects > objectsMax)
    throw new GatewayError(
      'quota-exceeded',
      `this key may store ${objectsMax} objects, and has them; ${remedy} \`max_stored_objects_per_key\``,
    )
  if (bytesMax !== null && bytes > bytesMax)
    throw new GatewayError(
      'quota-exceeded',
      `this key may store ${bytesMax} bytes of objects, and has no room for more; ${remedy} \`max_stored_mb_per_key\``,
    )
}
