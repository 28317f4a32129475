/** Keys that soon end, or soon have to be replaced, each reminded of once for each stage over all replicas. */
import type { SQL } from 'bun'
import type { KeyReminder, KeyReminderQuery, KeyReminderStore } from '../../core/tenancy/key-reminders.ts'
import { toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'

const keysAtOnce = 200
/** A row is of use as long as the moment that it is about may come. */
const keptMs = 90 * 86_400_000

/** The column of the moment that a reminder is about; an age is added to its moment. */
const columns = { expiry: 'expires_at_ms', rotation: 'rotate_by_ms', age: 'text_since_ms' } as const

/** Over `virtual_keys` and `key_reminders`. */
export function createKeyReminderStore({ sql }: Pick<Database, 'sql'>): KeyReminderStore {
  return {
    async prepare(nowMs) {
      await sql`update virtual_keys set text_since_ms = created_at_ms where text_since_ms is null`
      await sql`delete from key_reminders where due_ms < ${nowMs - keptMs}`
    },
    claim: query => claim(sql, query),
  }
}

async function claim(
  sql: SQL,
  { kind, fromMs, toMs, stageMs, maxAgeMs = 0 }: KeyReminderQuery,
): Promise<KeyReminder[]> {
  const column = columns[kind]
  const shift = kind === 'age' ? maxAgeMs : 0
  // Bounds are for the column itself, so that its index answers. A key that lives no longer than the stage has had no
  // time in which a reminder could be sent.
  const rows = (await sql.unsafe(
    `select k.id, k.alias, k.hint, k.user_id, k.team_id, k.${column} as moment, u.email
      from virtual_keys k left join users u on u.id = k.user_id
      where k.${column} > $1 and k.${column} <= $2 and k.deleted_at_ms is null and k.blocked = 0
        and k.${column} + $3 - ${kind === 'expiry' ? 'k.created_at_ms' : 'k.text_since_ms'} > $4
        and (u.id is null or u.blocked = 0)
        and not exists (select 1 from key_reminders r where r.key_id = k.id and r.kind = $5
          and r.due_ms = k.${column} + $6 and r.stage_ms = $7)
      order by k.${column} limit ${keysAtOnce}`,
    [fromMs - shift, toMs - shift, shift, stageMs, kind, shift, stageMs],
  )) as Row[]
  const claimed: KeyReminder[] = []
  for (const row of rows) {
    const dueMs = toNumber(row.moment) + shift
    const own = (await sql`
      insert into key_reminders (key_id, kind, due_ms, stage_ms) values (${row.id}, ${kind}, ${dueMs}, ${stageMs})
      on conflict (key_id, kind, due_ms, stage_ms) do nothing returning key_id`) as unknown[]
    if (own.length > 0) claimed.push(reminderOf(row, { kind, dueMs, stageMs }))
  }
  return claimed
}

interface Row {
  id: string
  alias: string | null
  hint: string
  user_id: string | null
  team_id: string | null
  moment: unknown
  email: string | null
}

function reminderOf(row: Row, about: Pick<KeyReminder, 'kind' | 'dueMs' | 'stageMs'>): KeyReminder {
  const { id: keyId, alias, hint, user_id: userId, team_id: teamId, email } = row
  return { ...about, keyId, alias, hint, userId, teamId, email }
}
