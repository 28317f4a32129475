/** Options of `serve`, made from flags and environment in cli/serve.ts, and what it returns. */
import { join } from 'node:path'
import type { Policy } from '../core/policy.ts'
import type { WorkerLink } from '../core/workers.ts'
import type { Secret } from '../lib/secret.ts'
import type { ConfigReader } from './reading/reading.ts'
import type { ModelCounts } from './model-counts.ts'

/** PEM files of the gateway's own TLS. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Clients have to show a certificate of this authority; absent = they need none. */
  readonly clientCaFile?: string | undefined
}

/** The form of the values is checked; the start finds out whether port, directory and database can be used. */
export interface ServeOptions {
  /** Absent = no file: the provider keys of the environment, and the built-in models. */
  readonly configFile?: string | undefined
  readonly host: string
  /** The prefix below which a proxy serves the gateway without removing it: `/gateway`; absent = none. */
  readonly rootPath?: string | undefined
  /** 0 = any free port. */
  readonly port: number
  /** Absent = plain HTTP. */
  readonly tls?: TlsFiles | undefined
  readonly dataDirectory: string
  /** Absent = the stored key, or a new one on the first start. */
  readonly masterKey?: Secret | undefined
  readonly keyPepper?: Secret | undefined
  /** `sqlite:PATH` or `postgres://...`. */
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absent = configuration files are read in this process, not by `config/reading/config-process.ts`. */
  readonly readFile?: ConfigReader | undefined
  /** Policies of a program that embeds the gateway, asked after the access to models (`policies/index.ts`). */
  readonly policies?: readonly Policy[]
  /** Absent = this process serves alone; else it shares port, database and data directory with other workers. */
  readonly worker?: WorkerLink | undefined
  /** Of a file of the journal, written with zeros when it is made; absent = 2 MiB. Less where gateways end soon. */
  readonly journalSegmentBytes?: number
}

/** The result of a reload; the new settings apply completely or not at all. */
export interface ReloadReport {
  readonly applied: boolean
  /** Every mistake, one on each line: `file:line:col path: message`. */
  readonly problems: readonly string[]
  /** Changed settings that are only read at start: `general_settings.master_key`. Absent = none. */
  readonly atNextStart?: readonly string[]
}

/** What a process keeps for itself: the directory of all, or of one worker in it. */
export function ownDirectory({ dataDirectory, worker }: Pick<ServeOptions, 'dataDirectory' | 'worker'>): string {
  return worker === undefined ? dataDirectory : join(dataDirectory, 'workers', String(worker.number))
}

/** A running gateway, as the command that started it sees it. */
export interface RunningServer {
  readonly url: string
  /** The master key generated on this first start, to be shown once. */
  readonly firstMasterKey: string | undefined
  readonly models: ModelCounts
  readonly warnings: readonly string[]
  /** Mistakes of the entries of the file that are not served. */
  readonly leftOut: readonly string[]
  /** Sockets to upstreams. */
  connections(): { busy: number; idle: number }
  reload(): Promise<ReloadReport>
  /** Logs an uncaught error. */
  report(what: string, thrown: unknown): void
  /**
   * Drains: requests may finish within `MODELGATE_DRAIN_MS`, then they are cut. Resolves once the journal is flushed.
   * Rejects with the first failure, after all parts have stopped.
   */
  stop(): Promise<void>
}
