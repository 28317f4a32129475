/** LiteLLM's checks before a call that keep the turns of a session at one deployment, which is so here in any case. */
import { isObject } from '../../lib/json/json-values.ts'

/**
 * Names in `optional_pre_call_checks`. The last one is read with the limits of deployments
 * (`litellm-rates.ts`). Source: LiteLLM's page "Routing", its `router.py` of 1.110.
 */
const fulfilled: ReadonlySet<unknown> = new Set([
  'session_affinity',
  'deployment_affinity',
  'prompt_caching',
  'responses_api_deployment_check',
  'encrypted_content_affinity',
  'enforce_model_rate_limits',
])

/** In our names: without the checks that need no setting here. Those that are left have no function. */
export function withAffinity(file: unknown): unknown {
  if (!isObject(file) || !isObject(file.router_settings)) return file
  const { optional_pre_call_checks: checks, ...router } = file.router_settings
  if (!Array.isArray(checks)) return file
  const left = (checks as unknown[]).filter(one => !fulfilled.has(one))
  return { ...file, router_settings: { ...router, ...(left.length > 0 && { optional_pre_call_checks: left }) } }
}
