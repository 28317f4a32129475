/**
 * Every metric of `/metrics`: its type, its labels, and what it says. The exposition, docs/metrics.md and the checks of
 * the dashboard and of the alert rules in `deploy` follow from this table.
 */

/** One family of series. */
export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** One line, for the exposition. */
  readonly help: string
  /** What else an operator has to know; absent = nothing. */
  readonly note?: string
}

const family =
  (type: MetricFamily['type']) =>
  (labels: string, help: string, note?: string): MetricFamily => ({
    type,
    labels: labels === '' ? [] : labels.split(' '),
    help,
    ...(note !== undefined && { note }),
  })
const counter = family('counter')
const gauge = family('gauge')
const histogram = family('histogram')

/** By name, in the order of the exposition and of the page. */
export const metricTable = {
  modelgate_calls_total: counter(
    'route model deployment status outcome error',
    'Settled calls by route, model, deployment, status, outcome and error.',
    '`outcome="error"` and `"upstream_cut"` are failures that clients see; `error` is the word of the log',
  ),
  modelgate_upstream_attempts_total: counter(
    'model deployment error',
    'Attempts at deployments; error="" = a whole answer.',
    'retries and fallbacks are included',
  ),
  modelgate_limit_refusals_total: counter(
    'kind scope',
    'Requests refused by a limit or a budget, by what it limits and whose it is.',
    '`kind`: `requests`, `tokens`, `parallel_requests`, `budget`; `scope`: `key`, `team`, `user`, `provider`, ...',
  ),
  modelgate_guardrail_verdicts_total: counter('guardrail verdict', 'Calls by guardrail and what it said of them.'),
  modelgate_guardrail_seconds: histogram('guardrail', 'How long calls waited for services of guardrails.'),
  modelgate_fallbacks_total: counter(
    'from to',
    'Calls that went on from one model to another.',
    'the other may be dearer',
  ),
  modelgate_auth_failures_total: counter(
    'reason',
    'Requests refused for their key, by reason.',
    '`missing`, `malformed`, `contradictory`, `unknown` (also deleted), `blocked`, `expired`',
  ),
  modelgate_call_duration_seconds: histogram(
    'model deployment',
    'From the arrival of a call to its last byte.',
    'which upstream is slow',
  ),
  modelgate_first_byte_seconds: histogram(
    'model deployment answer',
    'From the arrival of a call to the first byte of its answer.',
    '`answer="stream"` is the time to the first token, `answer="whole"` that to a finished answer',
  ),
  modelgate_overhead_seconds: histogram(
    'model deployment',
    "The gateway's own part of a whole answer's duration.",
    'without waiting for upstreams, for the body and before retries; it grows when another core is needed',
  ),
  modelgate_tokens_total: counter('model deployment direction', 'Tokens by model and direction.'),
  modelgate_units_total: counter('model deployment unit', 'Units other than tokens, by model and unit.'),
  modelgate_spend_usd_total: counter(
    'model deployment',
    'Cost of settled calls with a known price, in dollars.',
    'exact amounts by key and user are in the ledger',
  ),
  modelgate_unpriced_calls_total: counter(
    'model deployment',
    'Calls that used tokens and have no known price.',
    'configure one',
  ),
  modelgate_estimated_calls_total: counter(
    'model deployment',
    'Calls whose usage is an estimate, as a whole or in part.',
    'lost answers, upstreams without a report',
  ),
  modelgate_estimated_spend_usd_total: counter(
    'model deployment',
    'Of the spend: calls with an estimated usage, in dollars.',
  ),
  modelgate_tenant_calls_total: counter(
    'kind tenant name outcome',
    'Settled calls by team, key or the like.',
    'only with `metrics_by`; further tenants share `_other`',
  ),
  modelgate_tenant_tokens_total: counter(
    'kind tenant name direction',
    'Tokens by team, key or the like.',
    'only with `metrics_by`',
  ),
  modelgate_tenant_spend_usd_total: counter(
    'kind tenant name',
    'Cost of settled calls by team, key or the like, in dollars.',
    'only with `metrics_by`',
  ),
  modelgate_upstream_connections: gauge('state', 'Open sockets to upstreams.', '`busy` = calls under way'),
  modelgate_deployment_cooldown: gauge(
    'model deployment',
    '0 = gets calls, 1 = in cooldown after failures, 0.5 = half-open: the next call is its probe.',
  ),
  modelgate_database_reachable: gauge(
    '',
    '1 while the database answers.',
    '0: new keys cannot be used, and the journal grows',
  ),
  modelgate_price_list_age_seconds: gauge(
    'list',
    'How old the prices of each list in force are.',
    'more than 30 days (2,592,000): calls are charged by old prices; `modelgate prices update`',
  ),
  modelgate_redis_reachable: gauge(
    '',
    '1 while Redis answers and limits are shared.',
    '0: grants are spent, then `limits_without_redis` decides',
  ),
  modelgate_limit_replicas: gauge('', 'Replicas that share limits, as Redis last reported.'),
  modelgate_redis_round_trips_total: counter(
    '',
    'Questions to Redis about limits.',
    'one or two a second of each replica, more near limits',
  ),
  modelgate_budget_left_ratio: gauge(
    'kind tenant name model',
    'What is left of the twenty budgets that are nearest to their limit; 0 = nothing.',
    'as the last survey found them, which is asked anew at most once in 30 s',
  ),
  modelgate_client_connections: gauge('state', 'Open sockets of clients.', 'see [connections.md](connections.md)'),
  modelgate_client_connections_max: gauge('', 'The limit of open sockets of clients.'),
  modelgate_client_connections_evicted_total: counter(
    '',
    'Sockets closed to free their places: idle, refused, stalled.',
  ),
  modelgate_client_connections_turned_away_total: counter('', 'New sockets refused because the limit was reached.'),
  modelgate_ledger_healthy: gauge(
    '',
    '1 while the journal can be written.',
    '0: records wait in memory and are written directly to the database',
  ),
  modelgate_ledger_waiting_bytes: gauge(
    '',
    'Journal and memory that are not in the database yet, of earlier processes too.',
  ),
  modelgate_ledger_waiting_records: gauge(
    '',
    'Records (a call has two) that are not in the database yet, of earlier processes too.',
  ),
  modelgate_ledger_waiting_seconds: gauge('', 'Age of the oldest of them.'),
  modelgate_ledger_lost_records_total: counter(
    '',
    'Records that nothing could hold, or whose part of the journal is damaged or missing.',
    'alert if above 0',
  ),
  modelgate_ledger_missing_segments_total: counter(
    '',
    'Segments of the journal removed before they were stored.',
    'alert if above 0',
  ),
  modelgate_usage_export_waiting_rows: gauge('destination', 'Rows of the ledger that a destination has not got yet.'),
  modelgate_usage_export_skipped_rows_total: counter('destination', 'Rows that are never sent, as too many waited.'),
  modelgate_usage_export_given_up_rows_total: counter(
    'destination',
    'Rows that came too late for a destination; the table `usage_given_up` has them.',
  ),
  modelgate_cache_hits_total: counter('kind', 'Calls that were answered from the cache, by kind.'),
  modelgate_cache_misses_total: counter('', 'Calls that took part and went to an upstream.'),
  modelgate_cache_saved_usd_total: counter('', 'What the answers of hits cost when they were made.'),
  modelgate_cache_answers: gauge('', 'Answers in the memory of this process.'),
  modelgate_cache_bytes: gauge('', 'Bytes of them.'),
  modelgate_cache_followers: gauge('', 'Calls that get the answer of an equal call under way.'),
  modelgate_stored_bodies_total: counter('', 'Calls of which request and answer were stored.'),
  modelgate_lost_bodies_total: counter('reason', 'Calls that were to be stored and were not, by reason.'),
  modelgate_waiting_bodies_bytes: gauge('', 'Of open calls that are stored, and of the queue.'),
  modelgate_otlp_exported_total: counter(
    'signal',
    'Spans, log records and reports of metrics that a collector has taken.',
    'see [telemetry.md](telemetry.md)',
  ),
  modelgate_otlp_lost_total: counter(
    'signal reason',
    'Those that it has not taken, or was too slow for, by reason.',
    '`queue_full`, `failed`',
  ),
  modelgate_config_reloads_total: counter(
    'result',
    'Readings of the configuration since the start.',
    '`refused`: the file has mistakes, and the one before holds',
  ),
  modelgate_config_applied_timestamp_seconds: gauge('', 'When the configuration that holds was read, in Unix time.'),
  modelgate_log_lines_dropped_total: counter(
    '',
    'Log lines lost because the reader was too slow or the write failed.',
    'calls never wait for the log',
  ),
  modelgate_data_disk_free_bytes: gauge('', 'Room on the disk of the data directory.'),
  modelgate_data_disk_size_bytes: gauge('', 'Size of the disk of the data directory.'),
  modelgate_event_loop_delay_seconds: histogram(
    '',
    'How much later than planned a timer of the serving thread ran, four times a second.',
    'calls wait as long: another core or replica is needed, or something blocks',
  ),
  modelgate_build_info: gauge('version bun', '1, with the version that runs as its labels.'),
  process_resident_memory_bytes: gauge('', 'Resident memory of the process.'),
  process_cpu_seconds_total: counter('', 'User and system CPU time of the process.'),
  process_start_time_seconds: gauge('', 'When the process began, in Unix time.'),
  process_open_fds: gauge('', 'Open file descriptors of the process.', 'not where the system does not say'),
  process_max_fds: gauge('', 'How many file descriptors it may have open.'),
} as const satisfies Record<string, MetricFamily>

/** The name of a metric that exists. */
export type MetricName = keyof typeof metricTable

/** What the gateway's value is of those of several workers, where it is not their sum. */
export const amongWorkers: Partial<Record<MetricName, 'largest' | 'smallest'>> = {
  modelgate_budget_left_ratio: 'smallest',
  modelgate_build_info: 'largest',
  modelgate_config_applied_timestamp_seconds: 'smallest',
  modelgate_data_disk_free_bytes: 'smallest',
  modelgate_data_disk_size_bytes: 'largest',
  modelgate_database_reachable: 'smallest',
  modelgate_deployment_cooldown: 'largest',
  modelgate_ledger_healthy: 'smallest',
  modelgate_ledger_waiting_seconds: 'largest',
  modelgate_limit_replicas: 'largest',
  modelgate_price_list_age_seconds: 'largest',
  modelgate_redis_reachable: 'smallest',
  // They read these in the database that all share.
  modelgate_usage_export_given_up_rows_total: 'largest',
  modelgate_usage_export_skipped_rows_total: 'largest',
  modelgate_usage_export_waiting_rows: 'largest',
  process_start_time_seconds: 'smallest',
}
