/** SQLite names no file and no remedy when it finds its file damaged. */

class DamagedDatabase extends Error {
  override readonly name = 'DamagedDatabase'
  /** SQLite's. */
  readonly code: string

  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The error of a damaged file with its path and what to do, under the same code; any other error as it is. */
export function explainDamage(path: string, error: unknown): unknown {
  const code = String((error as { code?: unknown } | null)?.code)
  if (!/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return error
  const reason = error instanceof Error ? error.message : String(error)
  const message =
    `the SQLite file ${path} is damaged or no database (${reason}): stop the gateway, keep a copy of the file, and ` +
    `put a backup in its place, or what is left of it: sqlite3 ${path} .recover | sqlite3 recovered.sqlite`
  return new DamagedDatabase(message, code, error)
}
