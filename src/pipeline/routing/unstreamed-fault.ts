/** The error of an upstream that was asked for a stream and answered otherwise. */
import type { Call } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { UpstreamResponse } from '../../core/transport.ts'
import type { Attempt } from '../lanes/attempt-parts.ts'
import { noteWholeAnswer } from '../settlement/usage-estimate.ts'
import { errorInstead } from './upstream-fault.ts'
import { recordUnusableAnswer, recordUsage } from '../settlement/usage.ts'

/**
 * The error that the whole answer reports, else that of its media type. What it has used is recorded; `bytes` absent =
 * it is not read, and nothing of it is owed but the input (docs/decisions/0012).
 */
export function unstreamedFault(
  call: Call,
  attempt: Attempt,
  response: UpstreamResponse,
  bytes: Uint8Array | undefined,
): GatewayError {
  if (bytes) {
    const reported = faultIn(call, attempt, response, bytes)
    if (reported) return reported
  } else call.answerCharacters = 0
  const given = response.header('content-type')?.toLowerCase() || 'no content type'
  return new GatewayError('upstream-broken', `the upstream was asked for a stream and answered with ${given}`)
}

/** Undefined = the answer is whole, or cannot be read. */
function faultIn(
  call: Call,
  attempt: Attempt,
  response: UpstreamResponse,
  bytes: Uint8Array,
): GatewayError | undefined {
  try {
    const { body, usage } = attempt.answer(bytes, response)
    recordUsage(call, usage)
    noteWholeAnswer(call, body, usage)
    return undefined
  } catch (thrown) {
    recordUnusableAnswer(call, bytes, thrown)
    const error = errorInstead(thrown, bytes)
    return error instanceof GatewayError && error.kind !== 'upstream-broken' ? error : undefined
  }
}
