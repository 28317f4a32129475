/** For tests: keys read and changed one at a time, each change in a transaction of its own. */
import type { KeyChanges, KeyRecord, KeyStore } from '../../core/tenancy/keys.ts'
import type { Actor } from '../../core/tenancy/tenancy.ts'
import type { NewKey } from '../../core/tenancy/tenancy-store.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Database } from '../database/open.ts'
import type { Subject } from '../tenancy/changes.ts'
import { createTenancyStore } from '../tenancy/store.ts'
import { createKeyStore } from './keys.ts'

/** Who makes the changes of tests. */
const testActor: Actor = { id: 'master', keyHash: 'master' }

/** Both stores of keys as one. */
export interface TestKeys extends KeyStore {
  insert(record: NewKey, keysOfUserMax?: number | null): Promise<KeyRecord>
  update(id: string, changes: KeyChanges, keysOfUserMax?: number | null): Promise<KeyRecord>
  /** Another text, where the one before is still that of `hashBefore`. */
  rotate(id: string, hash: string, hashBefore: string): Promise<KeyRecord>
  delete(id: string): Promise<KeyRecord>
}

/** Over an open database. */
export function testKeys(
  database: Database,
  clock: Pick<Clock, 'epochMs'>,
  onChange: (subjects: readonly Subject[]) => void = () => {},
): TestKeys {
  const { change } = createTenancyStore({ database, clock, onChange })
  return {
    ...createKeyStore(database),
    insert: (record, keysOfUserMax) => change(testActor, tx => tx.insertKey(record, keysOfUserMax)),
    update: (id, changes, keysOfUserMax = null) =>
      change(testActor, tx => tx.updateKey(id, changes, { keysOfUserMax })),
    rotate: (id, hash, hashBefore) => change(testActor, tx => tx.updateKey(id, { hash }, { hashBefore })),
    delete: id => change(testActor, tx => tx.deleteKey(id)),
  }
}
