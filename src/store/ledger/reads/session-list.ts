/** Which sessions there were in a span, with their sums: of the newest calls, as many as are read quickly. */
import type { SessionList, SessionQuery } from '../../../core/ledger/ledger.ts'
import type { LedgerSource, LedgerStatement } from '../ledger-database.ts'
import { lookedAtMax, visibleCondition } from './ledger-query.ts'

function sessionsStatement({ visible, fromMs, toMs, limit }: SessionQuery, rowsMax: number): LedgerStatement {
  const values: (string | number)[] = []
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = [
    `started_at_ms >= ${bind(Math.ceil(fromMs))}`,
    `started_at_ms < ${bind(Math.ceil(toMs))}`,
    ...(visible ? [visibleCondition(visible, bind)] : []),
  ]
  const columns =
    'session_id, started_at_ms, outcome, attempts, input_tokens, cached_input_tokens, output_tokens, cost_nano_usd, ' +
    'client_name, model, deployment_id'
  // Those without a session are looked at too: the bound is of what is read.
  const text = `select session_id, count(*) as calls, min(started_at_ms) as first_ms, max(started_at_ms) as last_ms,
    sum(case when outcome = 'success' then 0 else 1 end) as failed,
    coalesce(sum(input_tokens), 0) as input_tokens,
    coalesce(sum(cached_input_tokens), 0) as cached_input_tokens,
    coalesce(sum(output_tokens), 0) as output_tokens,
    cast(coalesce(sum(cost_nano_usd), 0) as text) as cost_nano_usd,
    sum(case when cost_nano_usd is null and attempts > 0 then 1 else 0 end) as unpriced,
    min(client_name) as client, min(model) as model, count(distinct model) as models,
    count(distinct deployment_id) as deployments, min(min(started_at_ms)) over () as looked_from_ms,
    sum(count(*)) over () as looked_at
    from (select ${columns} from ledger where ${conditions.join(' and ')}
      order by started_at_ms desc limit ${bind(rowsMax)}) as recent
    group by session_id order by case when session_id is null then 1 else 0 end, max(started_at_ms) desc
    limit ${bind(limit)}`
  return { text, values }
}

/** Throws what the database throws. */
export async function readSessions(
  database: LedgerSource,
  query: SessionQuery,
  rowsMax = lookedAtMax,
): Promise<SessionList> {
  const found = await database.select(sessionsStatement(query, rowsMax))
  const [first] = found
  const isCapped = first !== undefined && Number(first.looked_at) >= rowsMax
  return {
    // More calls of the first millisecond may have been left out.
    fromMs: isCapped ? Number(first.looked_from_ms) + 1 : query.fromMs,
    sessions: found.flatMap(row =>
      row.session_id === null
        ? []
        : [
            {
              sessionId: String(row.session_id),
              calls: Number(row.calls),
              failed: Number(row.failed),
              firstMs: Number(row.first_ms),
              lastMs: Number(row.last_ms),
              inputTokens: Number(row.input_tokens),
              cachedInputTokens: Number(row.cached_input_tokens),
              outputTokens: Number(row.output_tokens),
              costNanoUsd: BigInt(String(row.cost_nano_usd)),
              unpriced: Number(row.unpriced),
              client: row.client === null ? null : String(row.client),
              models: Number(row.models),
              model: String(row.model),
              deployments: Number(row.deployments),
            },
          ],
    ),
  }
}
