import type { SQL } from 'bun'
import type { Migration } from '../migration.ts'

interface Counted {
  readonly table: string
  /** The columns whose change changes the size. */
  readonly columns: readonly string[]
  /** Bytes of a row; `of` = SQL for the bytes of a text column. */
  size(of: (column: string) => string, row: string): string
}

const texts = (...columns: string[]): Pick<Counted, 'columns' | 'size'> => ({
  columns,
  size: of => columns.map(of).join(' + '),
})

const counted: readonly Counted[] = [
  { table: 'responses', columns: ['bytes'], size: (_of, row) => `${row}bytes` },
  { table: 'assistant_objects', ...texts('body', 'hidden') },
  { table: 'upstream_files', ...texts('body', 'models', 'filename') },
]

/**
 * How many objects each key has stored, and how many bytes. Triggers keep the totals with every change, that of a
 * cascade too, in the transaction of the change: they are exact for all replicas.
 */
export const seventh: Migration = {
  id: 7,
  name: 'stored-totals',
  async up(sql, kind) {
    await sql.unsafe(
      `create table stored_totals (key_id text primary key, objects bigint not null, bytes bigint not null)`,
    )
    const ofText = (row: string) => (column: string) =>
      kind === 'sqlite' ? `length(cast(${row}${column} as blob))` : `octet_length(${row}${column})`
    const rows = counted.map(({ table, size }) => `select key_id, ${size(ofText(''), '')} as size from ${table}`)
    await sql.unsafe(
      `insert into stored_totals (key_id, objects, bytes)
        select key_id, count(*), sum(size) from (${rows.join(' union all ')}) as stored group by key_id`,
    )
    for (const one of counted) await countStored(sql, kind, one, ofText)
  },
}

/** Makes the triggers that keep the totals with every change of one table. `ofText` = SQL for the bytes of a text. */
export async function countStored(
  sql: SQL,
  kind: 'sqlite' | 'postgres',
  { table, columns, size }: Counted,
  ofText: (row: string) => (column: string) => string = () => column => column,
): Promise<void> {
  const before = size(ofText('old.'), 'old.')
  const after = size(ofText('new.'), 'new.')
  await trigger(sql, kind, { table, when: 'insert', does: add('new.key_id', '1', after) })
  await trigger(sql, kind, { table, when: 'delete', does: add('old.key_id', '-1', `-(${before})`) })
  await trigger(sql, kind, {
    table,
    when: `update of ${columns.join(', ')}`,
    if: `${before} <> ${after}`,
    does: add('new.key_id', '0', `(${after}) - (${before})`),
  })
}

const add = (key: string, objects: string, bytes: string): string =>
  `insert into stored_totals (key_id, objects, bytes) values (${key}, ${objects}, ${bytes})
    on conflict (key_id) do update set objects = stored_totals.objects + excluded.objects,
      bytes = stored_totals.bytes + excluded.bytes;`

interface Trigger {
  readonly table: string
  readonly when: string
  /** Absent = always. */
  readonly if?: string
  readonly does: string
}

async function trigger(sql: SQL, kind: 'sqlite' | 'postgres', { table, when, if: condition, does }: Trigger) {
  const name = `${table}_total_${when.split(' ', 1)[0]}`
  const head = `create trigger ${name} after ${when} on ${table} for each row`
  const guard = condition === undefined ? '' : ` when (${condition})`
  if (kind === 'sqlite') return sql.unsafe(`${head}${guard} begin ${does} end`)
  await sql.unsafe(
    `create function ${name}() returns trigger language plpgsql as $body$ begin ${does} return null; end $body$`,
  )
  await sql.unsafe(`${head}${guard} execute function ${name}()`)
}
