/** Codes of errors that the system, SQLite, Redis and Postgres report. */

/** The code of a system error, of SQLite or of Redis (`ENOENT`, `SQLITE_FULL`); '' = it has none. */
export function errorCode(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}

/**
 * The SQLSTATE of an error of Postgres, which Bun calls `errno`; '' = it has none
 * (postgresql.org/docs/current/errcodes-appendix.html).
 */
export function sqlState(thrown: unknown): string {
  return String((thrown as { errno?: unknown } | null | undefined)?.errno ?? '')
}
