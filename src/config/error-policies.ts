/** `retry_policy`, `model_group_retry_policy` and `allowed_fails_policy` of the router. */
import { policyErrors } from '../core/settings.ts'
import type { CountsByError, RouterSettings } from '../core/settings.ts'
import type { Config } from './sections/file.ts'

type Router = NonNullable<Config['router_settings']>

/** Empty = every kind of error has the same counts. */
export function errorPoliciesOf({
  retry_policy: policy,
  model_group_retry_policy: byModel,
  allowed_fails_policy: fails,
}: Router): Pick<RouterSettings, 'retryPolicy' | 'retryPolicies' | 'allowedFailsPolicy'> {
  return {
    ...(policy && { retryPolicy: countsOf(policy, 'Retries') }),
    ...(byModel && {
      retryPolicies: Object.fromEntries(Object.entries(byModel).map(([name, one]) => [name, countsOf(one, 'Retries')])),
    }),
    // 0 is LiteLLM's word for a cooldown at the first failure.
    ...(fails && { allowedFailsPolicy: countsOf(fails, 'AllowedFails', 1) }),
  }
}

function countsOf(policy: Readonly<Record<string, number | undefined>>, suffix: string, least = 0): CountsByError {
  return Object.fromEntries(
    policyErrors.flatMap(error => {
      const count = policy[`${error}${suffix}`]
      return count === undefined ? [] : [[error, Math.max(count, least)]]
    }),
  )
}

/** By key of `router_settings`: the most retries that it grants. */
export function retriesGranted(router: Router): [key: string, retries: number][] {
  const { num_retries: retries = 0, retry_policy: policy = {}, model_group_retry_policy: byModel = {} } = router
  const most = (...policies: (typeof policy)[]) => Math.max(0, ...policies.flatMap(one => Object.values(one)))
  return [
    ['num_retries', retries],
    ['retry_policy', most(policy)],
    ['model_group_retry_policy', most(...Object.values(byModel))],
  ]
}
