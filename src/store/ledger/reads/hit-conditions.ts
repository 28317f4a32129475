/**
 * Which rows of the ledger are hits. The indexes of migration 59 have the same conditions, word for word: SQLite
 * compares the texts.
 */
import type { LedgerQuery } from '../../../core/ledger/ledger.ts'

/** SQL, by what was hit: a guardrail that found something or was not answered, or an answer from the cache. */
export const hitConditions: Readonly<Record<NonNullable<LedgerQuery['hits']>, string>> = {
  guardrail: `(${['mask', 'block', 'flag', 'error'].map(one => `guardrails like '%:${one}%'`).join(' or ')})`,
  cache: 'cache_hit_kind is not null',
}
