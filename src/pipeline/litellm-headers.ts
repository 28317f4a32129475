/**
 * Headers of answers that LiteLLM has and the gateway otherwise not: sent where `general_settings.header_prefix` is
 * `x-litellm`, for dashboards and clients that read them (its `get_custom_headers`, version 1.82.6).
 */
import packageJson from '../../package.json' with { type: 'json' }
import { isAdministrator } from '../core/caller.ts'
import type { Call } from '../core/call.ts'
import { nanoUsdToText } from '../pricing/cost.ts'

/** What is not known, or not limited, has no header. */
export function addLitellmHeaders(headers: Record<string, string>, call: Call): void {
  const { attempt, caller, overrides, models, settlement } = call
  const { key } = caller
  headers['x-litellm-version'] = packageJson.version
  headers['x-litellm-max-retries'] = String(overrides.retries ?? models.settings.router.retries)
  // Others are not told where models stand.
  const address = isAdministrator(caller) ? attempt?.deployment?.target.baseUrl : undefined
  if (address) headers['x-litellm-model-api-base'] = withoutQuery(address)
  if (key.tokensPerMinute != null) headers['x-litellm-key-tpm-limit'] = String(key.tokensPerMinute)
  if (key.requestsPerMinute != null) headers['x-litellm-key-rpm-limit'] = String(key.requestsPerMinute)
  if (key.maxBudgetNanoUsd != null) headers['x-litellm-key-max-budget'] = nanoUsdToText(key.maxBudgetNanoUsd)
  if (overrides.timeoutMs !== undefined) headers['x-litellm-timeout'] = String(overrides.timeoutMs / 1000)
  if (settlement && !call.stream) addTerms(headers, settlement.costNanoUsd, settlement.listCostNanoUsd)
}

/** What the vendor charges, where the caller is charged less or more. */
function addTerms(headers: Record<string, string>, cost: bigint | null, list: bigint | null): void {
  if (cost === null || list === null || cost === list) return
  headers['x-litellm-response-cost-original'] = nanoUsdToText(list)
  const name = cost < list ? 'x-litellm-response-cost-discount-amount' : 'x-litellm-response-cost-margin-amount'
  headers[name] = nanoUsdToText(cost < list ? list - cost : cost - list)
}

const withoutQuery = (address: string): string => address.split('?', 1)[0]!
