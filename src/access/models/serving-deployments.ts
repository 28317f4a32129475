/** The deployments that may serve a call, of its own model and of its fallbacks. */
import type { CallInAdmission } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'

/** The fields of a call with its fallbacks. */
export const fallbackLists = ['fallbacksInOrder', 'contextWindowFallbacks', 'contentPolicyFallbacks'] as const

/** The call goes to no others than `keptOf` returns for each model; a fallback without any is none. */
export function keepDeployments(
  call: CallInAdmission,
  keptOf: (group: readonly Deployment[]) => readonly Deployment[],
): void {
  call.candidates = keptOf(call.candidates)
  for (const list of fallbackLists)
    call[list] = call[list].flatMap(one => {
      const deployments = keptOf(one.deployments)
      return deployments.length === 0 ? [] : [{ ...one, deployments }]
    })
}
