/** Rows of the ledger as people read them: moments in ISO 8601, money in dollars, names in the place of ids. */
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { OwnerNames } from '../../../core/ledger/shown-call.ts'
import { nanoUsdToText } from '../../../pricing/cost.ts'
import type { LedgerSource } from '../ledger-database.ts'
import { namesById, ownerNames } from './owner-names.ts'

type Value = string | number | boolean | readonly string[] | null
type Named = Omit<OwnerNames, 'keyHash'> & { readonly keyAlias: string | null }

const usd = (nanoUsd: string | null): string | null => {
  if (nanoUsd === null) return null
  const amount = BigInt(nanoUsd)
  return amount < 0n ? `-${nanoUsdToText(-amount)}` : nanoUsdToText(amount)
}

/** By their names, in their order. Money is exact decimal text. */
const humanColumns: Readonly<Record<string, (row: LedgerRow, names: Named) => Value>> = {
  started_at: row => new Date(row.started_at_ms).toISOString(),
  request_id: row => row.request_id,
  outcome: row => row.outcome,
  status: row => row.status,
  error_kind: row => row.error_kind,
  error_message: row => row.error_message,
  model: row => row.model,
  provider: row => row.provider,
  upstream_model: row => row.upstream_model,
  operation: row => row.operation,
  key: (row, { keyAlias }) => keyAlias ?? row.key_alias ?? row.key_id,
  user: (row, { userEmail }) => userEmail ?? row.user_id,
  team: (row, { teamAlias }) => teamAlias ?? row.team_id,
  organization: (row, { organizationAlias }) => organizationAlias ?? row.organization_id,
  customer: row => row.end_user,
  tags: row => row.request_tags,
  input_tokens: row => row.input_tokens,
  output_tokens: row => row.output_tokens,
  cached_input_tokens: row => row.cached_input_tokens,
  reasoning_tokens: row => row.reasoning_tokens,
  cost_usd: row => usd(row.cost_nano_usd),
  list_cost_usd: row => usd(row.list_cost_nano_usd ?? row.cost_nano_usd),
  saved_usd: row => usd(row.saved_nano_usd),
  duration_ms: row => row.duration_ms,
  first_byte_ms: row => row.first_byte_ms,
  attempts: row => row.attempts,
  session: row => row.session_id,
  client: row => row.client_name,
  address: row => row.client_address,
}

/** The names of the columns, in their order. */
export const humanNames: readonly string[] = Object.keys(humanColumns)

/** The rows in these columns. Throws what the database throws. */
export async function humanRows(
  source: LedgerSource,
  rows: readonly LedgerRow[],
): Promise<readonly Readonly<Record<string, Value>>[]> {
  const [namesOf, aliases] = [
    await ownerNames(source, rows),
    await namesById(source, 'key_id', { ids: rows.map(row => row.key_id) }),
  ]
  return rows.map(row => {
    const names = { ...namesOf(row), keyAlias: aliases.get(row.key_id) ?? null }
    return Object.fromEntries(Object.entries(humanColumns).map(([name, read]) => [name, read(row, names)]))
  })
}
