/** Which keys and teams name a guardrail: few among many, found by the indexes of migration 100. */
import type { SQL } from 'bun'
import type { GuardrailUses } from '../../core/tenancy/tenancy-store.ts'
import { Where } from './where.ts'

interface Row {
  id: string
  alias: string | null
  team_id: string | null
}

/** See `TenancyStore.usesOfGuardrail`. */
export async function usesOfGuardrail(sql: SQL, guardrail: string, limit: number): Promise<GuardrailUses> {
  const order = `order by created_at_ms, id limit ${limit}`
  const rowsOf = (table: string, more: string) => {
    const where = new Where()
    // The words of the index, so that it is used.
    where.raw(`guardrails <> '[]'${more}`)
    // Names are quoted in the list: no part of another name fits.
    const quoted = JSON.stringify(guardrail).replace(/[\\%_]/g, sign => `\\${sign}`)
    where.raw(`guardrails like ${where.bind(`%${quoted}%`)} escape '\\'`)
    return where.select<Row>(sql, table, order)
  }
  const [keys, teams] = [await rowsOf('virtual_keys', ' and deleted_at_ms is null'), await rowsOf('teams', '')]
  const isOf = (row: Row) =>
    (JSON.parse((row as Row & { guardrails: string }).guardrails) as string[]).includes(guardrail)
  return {
    keys: keys.filter(isOf).map(one => ({ id: one.id, alias: one.alias, teamId: one.team_id })),
    teams: teams.filter(isOf).map(one => ({ id: one.id, alias: one.alias })),
  }
}
