/** All sinks, one row a type, and which calls each of them gets. */
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { Sink } from '../core/ledger/sink.ts'
import type { SinkFilter, SinkParams, SinkSettings, SinkType } from '../core/ledger/sinks.ts'
import type { SinkParts } from './ask.ts'
import { clickhouseSink, datadogSink, kafkaRestSink, langfuseSink, webhookSink } from './http-services.ts'
import { fileSink, syslogSink } from './local-sinks.ts'
import { azureBlobSink, gcsSink, s3Sink } from './object-stores.ts'

const makers: Readonly<Record<SinkType, (parts: SinkParts, params: SinkParams) => Sink>> = {
  s3: (_, params) => s3Sink(params),
  gcs: (_, params) => gcsSink(params),
  azure_blob: azureBlobSink,
  clickhouse: clickhouseSink,
  kafka_rest: kafkaRestSink,
  langfuse: langfuseSink,
  datadog: datadogSink,
  syslog: (_, params) => syslogSink(params),
  file: (_, params) => fileSink(params),
  webhook: webhookSink,
}

/** A sink that passes over what its filter leaves out: such rows have arrived. */
export function openSink(parts: SinkParts, { type, params, filter }: SinkSettings): Sink {
  const sink = makers[type](parts, params)
  return {
    rowsMax: sink.rowsMax,
    async send(rows) {
      const wanted = rows.filter(row => isWanted(row, filter))
      if (wanted.length > 0) await sink.send(wanted)
    },
  }
}

/** A client that asks for `no-log` keeps its call out of every sink. */
function isWanted(row: LedgerRow, filter: SinkFilter): boolean {
  const { teams, exceptTeams, keys, exceptKeys, outcome } = filter
  if (row.no_log) return false
  if (outcome !== null && (outcome === 'success') !== (row.outcome === 'success')) return false
  const isKey = (name: string) => name === row.key_id || name === row.key_alias
  if (row.team_id !== null && exceptTeams.includes(row.team_id)) return false
  if (exceptKeys.some(isKey)) return false
  if (teams.length > 0 && (row.team_id === null || !teams.includes(row.team_id))) return false
  return keys.length === 0 || keys.some(isKey)
}
