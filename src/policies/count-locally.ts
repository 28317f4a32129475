/**
 * Counts tokens here for models whose upstream has no counter. Every policy and the router see an ordinary call of an
 * ordinary deployment; only its provider answers by itself, with an estimate. Nothing is sent anywhere, nothing is billed.
 */
import type { ChatRequest } from '../core/chat.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import { estimateInput } from '../core/input-tokens.ts'
import type { Policy } from '../core/policy.ts'
import type { Provider, TokenCount, UnaryAdapter } from '../core/provider.ts'

/** Tells clients that nobody counted exactly. */
const sourceHeader = 'x-token-count-source'

/**
 * After the policy that finds the candidates. A counter of the vendor's own wins over an estimate; where it fails, the
 * endpoint estimates in its place (`endpoints/utils/count-or-estimate.ts`).
 */
export function countLocally(): Policy {
  const estimating = new WeakMap<Deployment, Deployment>()
  const withEstimate = (deployment: Deployment): Deployment => {
    let made = estimating.get(deployment)
    if (!made) {
      const target = { ...deployment.target, provider: estimatingProvider(deployment.target.provider) }
      estimating.set(deployment, (made = { ...deployment, target }))
    }
    return made
  }
  return {
    name: 'count-locally',
    admit(call) {
      if (call.operation !== 'count-tokens') return
      const counting = call.candidates.filter(one => one.target.provider.countTokens !== undefined)
      if (counting.length > 0) {
        call.candidates = counting
        return
      }
      call.candidates = call.candidates.map(withEstimate)
      call.responseHeaders[sourceHeader] = 'estimate'
    },
  }
}

/** The same provider, but it counts, and answers by itself. */
function estimatingProvider({ authorization: _, ...provider }: Provider): Provider {
  return {
    ...provider,
    speaks: {},
    countTokens: estimator,
    answer: (_head, body) => ({ status: 200, contentType: 'application/json', pieces: [JSON.stringify(body)] }),
  }
}

const estimator: UnaryAdapter<ChatRequest, TokenCount> = {
  request: request => ({ head: { url: '', headers: {} }, body: { input_tokens: estimateInput(request) }, dropped: [] }),
  result(body) {
    const { input_tokens: inputTokens } = body as { input_tokens?: unknown }
    if (typeof inputTokens !== 'number') throw new GatewayError('internal', 'the estimate of tokens is not a number')
    // No usage: none was reported, and counting costs nothing (`pipeline/usage.ts`).
    return { inputTokens }
  },
}
