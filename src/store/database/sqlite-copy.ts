/** A consistent copy of an SQLite database that others may be writing to. */
import { openDatabase } from './open.ts'

/** Writes the copy to a path at which nothing is: one file, of one moment. */
export async function copySqlite(path: string, copy: string): Promise<void> {
  const source = await openDatabase(`sqlite:${path}`)
  try {
    await source.sql`vacuum into ${copy}`
  } finally {
    await source.close()
  }
}
