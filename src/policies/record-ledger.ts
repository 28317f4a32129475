/** One row in the ledger for every call: an intent before it is dispatched, the settlement after. */
import type { Settlement } from '../core/call.ts'
import type { Ledger, LedgerRow } from '../core/ports.ts'
import type { Policy } from '../core/policy.ts'
import type { Usage } from '../core/usage.ts'

/** Its records survive kill -9 from the moment it has heard of the end, as long as the journal can be written. */
export function recordLedger(ledger: Ledger): Policy {
  return {
    name: 'record-ledger',
    stage: 'body',
    dryRun: false,
    admit(call) {
      const { key } = call.caller
      ledger.begin({
        request_id: call.id,
        started_at_ms: call.startedAtMs,
        route: call.route,
        operation: call.operation,
        model: call.model,
        key_id: key.id,
        user_id: key.userId,
        team_id: key.teamId,
        stream: call.stream,
      })
    },
    settled: settlement => ledger.settle(ledgerRow(settlement)),
  }
}

function ledgerRow({ call, outcome, status, error, costNanoUsd, durationMs }: Settlement): LedgerRow {
  const { usage, deployment } = call
  const { key } = call.caller
  return {
    request_id: call.id,
    started_at_ms: call.startedAtMs,
    route: call.route,
    operation: call.operation,
    outcome,
    status,
    error_kind: error?.kind ?? null,
    model: call.model,
    deployment_id: deployment?.id ?? null,
    provider: deployment?.target.provider.name ?? null,
    upstream_model: deployment?.target.model || null,
    key_id: key.id,
    key_alias: key.alias,
    user_id: key.userId,
    team_id: key.teamId,
    end_user: call.endUser || null,
    stream: call.stream,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    cached_input_tokens: usage?.cachedInputTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    usage_source: call.usageSource,
    cost_nano_usd: costNanoUsd === null ? null : costNanoUsd.toString(),
    duration_ms: Math.round(durationMs * 1000) / 1000,
    first_byte_ms: call.firstByteMs < 0 ? null : Math.round(call.firstByteMs * 1000) / 1000,
    attempts: call.attempts,
    client_address: call.client.clientAddress || null,
    user_agent: call.userAgent || null,
    // Field by field: a spread here takes longer than all the rest of this function.
    cache_write_one_hour_tokens: usage?.cacheWriteOneHourTokens ?? null,
    input_audio_tokens: usage?.inputAudioTokens ?? null,
    output_audio_tokens: usage?.outputAudioTokens ?? null,
    input_image_tokens: usage?.inputImageTokens ?? null,
    output_image_tokens: usage?.outputImageTokens ?? null,
    images: usage?.images ?? null,
    audio_microseconds: microseconds(usage),
    characters: usage?.characters ?? null,
    search_units: usage?.searchUnits ?? null,
  }
}

/** Rounded as `accounts/cost.ts` rounds it: the row has what was billed. */
function microseconds(usage: Usage | undefined): number | null {
  return usage?.audioSeconds === undefined ? null : Math.round(usage.audioSeconds * 1e6)
}
