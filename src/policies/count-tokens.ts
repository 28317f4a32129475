/** Estimates the number of tokens where no upstream counts, or its counter fails. */
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { estimateInput } from '../core/hub/input-tokens.ts'
import type { Policy } from '../core/policy.ts'

/** Answers say that the number is an estimate. */
const sourceHeader = 'x-token-count-source'

/**
 * Placed after the policies that find the candidates. A vendor's own counter is preferred. Errors of the request stay
 * errors; an estimate costs nothing.
 */
export function countTokens(): Policy {
  return {
    name: 'count-tokens',
    stage: 'body',
    dryRun: false,
    admit(call) {
      // Without a format the endpoint counts by itself.
      if (call.operation !== 'count-tokens' || !call.format) return
      const counting = call.candidates.filter(one => one.target.provider.countTokens !== undefined)
      if (counting.length === 0) return estimate(call)
      call.candidates = counting
    },
    failed(call, error) {
      if (call.operation !== 'count-tokens' || call.options.exactCount || !isCounterFailure(call, error))
        return undefined
      try {
        return estimate(call)
      } catch (thrown) {
        // A request that cannot be decoded here could only be counted by the upstream.
        if (thrown instanceof GatewayError) return undefined
        throw thrown
      }
    },
  }
}

function estimate(call: Call): Reply {
  const input = call.input()
  if (input.kind !== 'chat') throw new GatewayError('internal', 'the input of a token count is not a chat')
  call.responseHeaders[sourceHeader] = 'estimate'
  // Vendors' counters are free, and an estimate needs no upstream.
  call.usedNothing()
  return call.reply({ inputTokens: estimateInput(input.request) })
}

/** The upstream failed, or has no counter; only such failures reach a fallback. */
function isCounterFailure({ progress: { fallbacks } }: Call, { status }: GatewayError): boolean {
  return status >= 500 || status === 404 || status === 408 || status === 429 || fallbacks > 0
}
