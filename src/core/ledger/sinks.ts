/** Where finished calls are sent beside the ledger, as the configuration says it. */

/** What a sink can be. */
export const sinkTypes = [
  's3',
  'gcs',
  'azure_blob',
  'clickhouse',
  'kafka_rest',
  'langfuse',
  'datadog',
  'syslog',
  'file',
  'webhook',
] as const
/** One of them. */
export type SinkType = (typeof sinkTypes)[number]

/** Which calls a sink gets. Empty lists = all. */
export interface SinkFilter {
  readonly teams: readonly string[]
  readonly exceptTeams: readonly string[]
  /** Ids or aliases. */
  readonly keys: readonly string[]
  readonly exceptKeys: readonly string[]
  /** null = both. */
  readonly outcome: 'success' | 'failure' | null
}

/** One sink of the configuration. */
export interface SinkSettings {
  readonly name: string
  readonly type: SinkType
  readonly filter: SinkFilter
  /** The other keys of its entry, checked; secrets are texts here. */
  readonly params: SinkParams
}

/** What a sink may need to know; each type has its own. */
export interface SinkParams {
  readonly url?: string | undefined
  readonly bucket?: string | undefined
  readonly prefix?: string | undefined
  readonly region?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly table?: string | undefined
  readonly topic?: string | undefined
  readonly path?: string | undefined
  readonly rotate_mb: number
  readonly kept_files: number
}
