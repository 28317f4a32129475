/** Encrypts stored bodies under another key. */
import { keyIdOf } from '../../lib/encryption.ts'
import type { Database } from '../database/open.ts'
import { toNumber } from '../database/open.ts'
import type { EncryptionKeys } from '../keys/encryption-keys.ts'
import { resealed } from './body-rows.ts'

const batchRows = 50
/** Of a content: its key's id, and random bits that no other content has. */
const headLength = 60

interface Head {
  readonly request_id: string
  readonly day: unknown
  readonly head: string
}

/** Encrypts anew what is under another key than the present one, row by row; resolves with the number of contents. */
export async function rotateBodies(
  { sql }: Pick<Database, 'sql'>,
  keys: Pick<EncryptionKeys, 'open' | 'ringToEncrypt'>,
): Promise<number> {
  let rotated = 0
  let after = ''
  for (;;) {
    const rows = (await sql`
      select request_id, day, substr(content, 1, ${headLength}) as head from call_bodies where request_id > ${after}
      order by request_id limit ${batchRows}`) as Head[]
    for (const row of rows) rotated += await rotate({ sql }, keys, row)
    if (rows.length < batchRows) return rotated
    after = rows.at(-1)!.request_id
  }
}

async function rotate(
  { sql }: Pick<Database, 'sql'>,
  keys: Pick<EncryptionKeys, 'open' | 'ringToEncrypt'>,
  { request_id, day, head }: Head,
): Promise<number> {
  const ring = keys.ringToEncrypt()
  if (keyIdOf(head) === ring.currentId) return 0
  const [row] = (await sql`
    select content from call_bodies where request_id = ${request_id} and day = ${toNumber(day)}`) as {
    content: string
  }[]
  // It was deleted meanwhile.
  if (!row) return 0
  const content = resealed(keys, ring, { request_id, content: row.content })
  const done = (await sql`
    update call_bodies set content = ${content}, bytes = ${content.length}
    where request_id = ${request_id} and day = ${toNumber(day)} and substr(content, 1, ${headLength}) = ${head}
    returning 1 as done`) as unknown[]
  return done.length
}
