/** The schemas of the fields of tenant objects in answers. */
import type { Shown, ShownValues } from '../../access/fields/answers.ts'
import { memberRoles, userRoles } from '../../core/tenancy/fields.ts'
import type { FieldKind, FieldTable } from '../../core/tenancy/fields.ts'
import {
  boolean,
  dateTime,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from './schema.ts'
import type { Schema } from './schema.ts'

const schemas: { readonly [Kind in FieldKind]: Schema<ShownValues[Kind]> } = {
  id: text,
  count: integer,
  time: dateTime,
  moment: nullable(dateTime),
  name: nullable(text),
  paragraph: nullable(text),
  email: nullable(text),
  duration: nullable(text),
  limit: nullable(integer),
  limits: mapOf(integer),
  dollars: nullable(number),
  modelBudgets: mapOf(
    either(
      nullable(number),
      shape({ budget_limit: nullable(number), time_period: nullable(text) }),
      shape({ max_budget: nullable(number), budget_duration: nullable(text) }),
    ),
  ),
  names: listOf(text),
  models: listOf(text),
  aliases: mapOf(text),
  permissions: listOf(text),
  object: { type: 'object', additionalProperties: true },
  toolPermission: nullable(
    shape(
      {},
      {
        mcp_servers: listOf(text),
        mcp_access_groups: listOf(text),
        mcp_tool_permissions: mapOf(listOf(text)),
        blocked_tools: listOf(text),
      },
    ),
  ),
  flag: boolean,
  choice: nullable(boolean),
  userRole: oneOf(...userRoles),
  memberRole: oneOf(...memberRoles),
  groupKind: oneOf('team', 'organization'),
}

/** The schemas of the fields of a table that answers show, for `shape`. */
export function fieldSchemas<Table extends FieldTable>(
  table: Table,
): { readonly [Name in keyof Shown<Table>]: Schema<Shown<Table>[Name]> } {
  const shown = Object.values(table).flatMap(({ kind, name, description }) =>
    name === null ? [] : [[name, described<unknown>(description, schemas[kind])] as const],
  )
  return Object.fromEntries(shown) as { readonly [Name in keyof Shown<Table>]: Schema<Shown<Table>[Name]> }
}
