/** Keeps what keys store within their quota, by the totals that the database itself keeps (migration 7). */
import type { SQL } from 'bun'
import { checkStorage } from '../../access/storage-quota.ts'
import type { StorageQuota, StoredTotals } from '../../access/storage-quota.ts'
import { toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'

/** Asked by the stores of objects. Both methods reject with `quota-exceeded` or `too-large`. */
export interface StorageGuard {
  /**
   * In the transaction `tx`, after it has written `addedBytes`: the totals hold them, and no other transaction can
   * change them before this one ends.
   */
  check(tx: SQL, keyId: string, addedBytes: number): Promise<void>
  /** Before anything is sent or done: whether there is room for one more object. */
  admit(keyId: string): Promise<void>
}

/** `quota` is read at each check, so that a reload counts. */
export function createStorageGuard({ sql }: Pick<Database, 'sql'>, quota: () => StorageQuota): StorageGuard {
  return {
    check: async (tx, keyId, addedBytes) => checkStorage(keyId, await totalsOf(tx, keyId), quota(), addedBytes),
    async admit(keyId) {
      const { objects, bytes } = await totalsOf(sql, keyId)
      checkStorage(keyId, { objects: objects + 1, bytes: bytes + 1 }, quota())
    },
  }
}

async function totalsOf(sql: SQL, keyId: string): Promise<StoredTotals> {
  const [row] = (await sql`select objects, bytes from stored_totals where key_id = ${keyId}`) as {
    objects: unknown
    bytes: unknown
  }[]
  return { objects: toNumber(row?.objects ?? 0), bytes: toNumber(row?.bytes ?? 0) }
}
