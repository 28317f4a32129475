/** Explains why a command could not start: which resource is unusable, and what to do. */

/** The resources of the command. The messages show no secrets of them. */
interface UsedResources {
  readonly dataDirectory: string
  /** `sqlite:...` or `postgres://...`; messages show its host only. */
  readonly databaseUrl: string
  readonly host?: string
  readonly port?: number
}

/** Replaces known errors by a message that names the flag or variable; other errors are unchanged. */
export function explainFailure(thrown: unknown, resources: UsedResources): unknown {
  if (!(thrown instanceof Error)) return thrown
  const { code = '', syscall } = thrown as Error & { code?: string; syscall?: string }
  // For an invalid address Bun reports a message without a code.
  const isListening = syscall === 'listen' || code === 'EADDRINUSE' || thrown.message.startsWith('Failed to listen')
  const message = isListening ? listenMessage(code, thrown.message, resources) : storageMessage(code, thrown, resources)
  return message === undefined ? thrown : new Error(message, { cause: thrown })
}

function listenMessage(code: string, reason: string, { host, port }: UsedResources): string {
  // Bun also reports this code for some addresses that this machine does not have.
  if (code === 'EADDRINUSE')
    return (
      `cannot listen on port ${port} of ${host}: another program uses it, or this machine has no such address; ` +
      'choose others with --port and --host'
    )
  if (code === 'EACCES') return `port ${port} is not for everyone: ${reason}; choose one from 1024 with --port`
  return `cannot listen on '${host}': ${reason}; give --host an address of this machine, or 0.0.0.0 for all of them`
}

function storageMessage(
  code: string,
  thrown: Error,
  { dataDirectory, databaseUrl }: UsedResources,
): string | undefined {
  const { path } = thrown as Error & { path?: string }
  if (code.startsWith('ERR_POSTGRES_'))
    return (
      `the database at ${hostOf(databaseUrl)} cannot be used: ${thrown.message}; check DATABASE_URL (or ` +
      'general_settings.database_url)'
    )
  const inDirectory = typeof path === 'string' && (path.startsWith(dataDirectory) || dataDirectory.startsWith(path))
  if (!inDirectory && !sqliteFileErrors.includes(code)) return undefined
  return (
    `the data directory ${dataDirectory} cannot be used: ${thrown.message}; give one that can be written with ` +
    '--data-dir'
  )
}

/** Codes of SQLite, whose errors have no path. */
const sqliteFileErrors = ['SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_FULL', 'SQLITE_PERM']

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the given address'
}
