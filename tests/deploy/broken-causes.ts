/** What Prometheus sees where the cause of an alert holds: series in the notation of `promtool test rules`. */

/** One cause. */
export interface BrokenCause {
  readonly alert: string
  /** When it has fired. */
  readonly at: string
  readonly series: readonly (readonly [name: string, values: string])[]
}

/** One for each rule of `deploy/prometheus-rules.yaml`. */
export const brokenCauses: readonly BrokenCause[] = [
  { alert: 'ModelgateDown', at: '10m', series: [['up{job="modelgate", instance="gw:4000"}', '0x60']] },
  {
    alert: 'ModelgateUpstreamDown',
    at: '10m',
    series: [['modelgate_deployment_cooldown{model="fast", deployment="d1"}', '1x60']],
  },
  {
    alert: 'ModelgateCallsFail',
    at: '20m',
    series: [
      ['modelgate_calls_total{model="fast", outcome="error", status="502"}', '0+60x60'],
      ['modelgate_calls_total{model="fast", outcome="success", status="200"}', '0+60x60'],
    ],
  },
  {
    alert: 'ModelgateFirstTokenSlow',
    at: '30m',
    series: [
      ['modelgate_first_byte_seconds_bucket{model="fast", answer="stream", le="30"}', '0x60'],
      ['modelgate_first_byte_seconds_bucket{model="fast", answer="stream", le="60"}', '0+60x60'],
      ['modelgate_first_byte_seconds_bucket{model="fast", answer="stream", le="+Inf"}', '0+60x60'],
    ],
  },
  {
    alert: 'ModelgateBudgetNear',
    at: '5m',
    series: [['modelgate_budget_left_ratio{kind="team", tenant="t", name="Team"}', '0.05x60']],
  },
  { alert: 'ModelgateLedgerBehind', at: '5m', series: [['modelgate_ledger_waiting_seconds', '400x60']] },
  {
    alert: 'ModelgateLedgerLoses',
    at: '6m',
    series: [
      ['modelgate_ledger_lost_records_total', '0 0 0 5x60'],
      ['modelgate_ledger_missing_segments_total', '0x60'],
    ],
  },
  { alert: 'ModelgateJournalBroken', at: '5m', series: [['modelgate_ledger_healthy', '0x60']] },
  { alert: 'ModelgateDatabaseAway', at: '5m', series: [['modelgate_database_reachable', '0x60']] },
  { alert: 'ModelgateRedisAway', at: '5m', series: [['modelgate_redis_reachable', '0x60']] },
  {
    alert: 'ModelgateDiskFull',
    at: '10m',
    series: [
      ['modelgate_data_disk_free_bytes', '5x60'],
      ['modelgate_data_disk_size_bytes', '100x60'],
    ],
  },
  {
    alert: 'ModelgateFewDescriptors',
    at: '10m',
    series: [
      ['process_open_fds', '95x60'],
      ['process_max_fds', '100x60'],
    ],
  },
  {
    alert: 'ModelgateClientsTurnedAway',
    at: '5m',
    series: [['modelgate_client_connections_turned_away_total', '0 0 3x60']],
  },
  {
    alert: 'ModelgateThreadBusy',
    at: '30m',
    series: [
      ['modelgate_event_loop_delay_seconds_bucket{instance="gw", le="0.25"}', '0x60'],
      ['modelgate_event_loop_delay_seconds_bucket{instance="gw", le="1"}', '0+60x60'],
      ['modelgate_event_loop_delay_seconds_bucket{instance="gw", le="+Inf"}', '0+60x60'],
    ],
  },
  {
    alert: 'ModelgateConfigurationRefused',
    at: '5m',
    series: [['modelgate_config_reloads_total{result="refused"}', '0 0 1x60']],
  },
  {
    alert: 'ModelgateExportWaits',
    at: '20m',
    series: [['modelgate_usage_export_waiting_rows{destination="webhook"}', '20000x60']],
  },
  {
    alert: 'ModelgateExportSkips',
    at: '5m',
    series: [['modelgate_usage_export_skipped_rows_total{destination="webhook"}', '0 0 9x60']],
  },
  { alert: 'ModelgateUnpricedCalls', at: '5m', series: [['modelgate_unpriced_calls_total{model="fast"}', '0 0 1x60']] },
  {
    alert: 'ModelgateTelemetryLost',
    at: '5m',
    series: [['modelgate_otlp_lost_total{signal="traces", reason="failed"}', '0 0 1x60']],
  },
]
