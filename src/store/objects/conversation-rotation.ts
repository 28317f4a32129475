/** Encrypts stored conversations under another key. */
import { keyIdOf } from '../../lib/encryption.ts'
import type { Database } from '../database/open.ts'
import { encryptionContext, sealedColumns } from './conversation-rows.ts'
import type { SealingKeys } from './conversation-rows.ts'

type Table = keyof typeof sealedColumns

const rotationBatch = 100

/** Encrypts anew what is under another key than the present one, row by row; resolves with the number of texts. */
export async function rotateConversations({ sql }: Pick<Database, 'sql'>, keys: SealingKeys): Promise<number> {
  let rotated = 0
  for (const [table, columns] of Object.entries(sealedColumns) as [Table, readonly string[]][])
    for (const column of columns) rotated += await rotateColumn(sql, keys, { table, column })
  return rotated
}

async function rotateColumn(
  sql: Database['sql'],
  keys: SealingKeys,
  { table, column }: { table: Table; column: string },
): Promise<number> {
  const ring = keys.ringToEncrypt()
  let rotated = 0
  let after = ''
  for (;;) {
    const rows = (await sql`
      select id, substr(${sql(column)}, 1, 40) as head from ${sql(table)} where id > ${after}
      order by id limit ${rotationBatch}`) as { id: string; head: string }[]
    for (const { id, head } of rows) {
      if (keyIdOf(head) === ring.currentId) continue
      const [row] = (await sql`select ${sql(column)} as sealed from ${sql(table)} where id = ${id}`) as {
        sealed: string
      }[]
      if (!row) continue
      const context = encryptionContext(table, id, column)
      const anew = ring.seal(keys.open(row.sealed, context), context)
      // What was changed meanwhile was written under the present key.
      const done = (await sql`
        update ${sql(table)} set ${sql({ [column]: anew })}
        where id = ${id} and ${sql(column)} = ${row.sealed} returning id`) as unknown[]
      rotated += done.length
    }
    if (rows.length < rotationBatch) return rotated
    after = rows.at(-1)!.id
  }
}
