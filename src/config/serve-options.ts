/** What `serve` needs to know, and what it gives back. Flags and environment become these in `cli/serve.ts`. */
import type { Secret } from '../lib/secret.ts'
import type { ModelCounts } from './model-counts.ts'

/** Texts are checked for their form; whether port, folder and database can be used the start finds out. */
export interface ServeOptions {
  /** Absent = no file: provider keys of the environment and the local models. */
  readonly configFile?: string | undefined
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly dataDirectory: string
  /** Absent = the stored one, or a new one on the first start. */
  readonly masterKey?: Secret | undefined
  readonly keyPepper?: Secret | undefined
  /** `sqlite:PATH` or `postgres://...`. */
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What a reload did: all of it, or nothing. */
export interface ReloadReport {
  readonly applied: boolean
  /** Every mistake, one a line: `file:line:col path: message`. */
  readonly problems: readonly string[]
  /** Settings that changed and that only the next start reads: `general_settings.master_key`. Absent = none. */
  readonly atNextStart?: readonly string[]
}

/** A gateway that listens. */
export interface RunningServer {
  readonly url: string
  /** Text of the master key that was made on this first start; to be shown once. */
  readonly firstMasterKey: string | undefined
  readonly models: ModelCounts
  readonly warnings: readonly string[]
  /** Sockets to upstreams. */
  connections(): { busy: number; idle: number }
  reload(): ReloadReport
  /** Logs a failure that nobody caught. */
  report(what: string, thrown: unknown): void
  /**
   * What is under way may end for `MODELGATE_DRAIN_MS`, then it is cut; resolves once the journal is flushed. Rejects with
   * the first failure, after everything else has ended too.
   */
  stop(): Promise<void>
}
