import type { Database } from '../open.ts'
import { ledgerStatements } from './ledger.ts'
import { signInStatements } from './sign-in.ts'
import { storedObjectStatements } from './stored-objects.ts'
import { tenancyStatements } from './tenancy.ts'

/**
 * The statements that make every table of an empty database. Times are milliseconds since 1970, booleans are 0 and 1,
 * ids and JSON are text: the same on SQLite and Postgres. `installation` holds what concerns the whole of it.
 */
export const baselineStatements = (kind: Database['kind']): string[] => [
  'create table installation (name text primary key, value text not null)',
  "insert into installation (name, value) values ('keys_revision', '0')",
  ...tenancyStatements,
  ...signInStatements,
  ...storedObjectStatements(kind),
  ...ledgerStatements(kind),
]
