/** Token counts in a client's own dialect: by the provider's counter, and where that fails about, and made here. */
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { ModelCall, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import type { UnaryFormat } from '../../core/format.ts'
import { estimateInput } from '../../core/input-tokens.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { readRequest } from '../responses/body.ts'

/** A call whose answer is one number, so that another can be put in its place. */
export interface CountCall extends ModelCall {
  readonly format: UnaryFormat<'count-tokens'>
}

/** As `policies/count-locally.ts` says it of models whose upstream has no counter at all. */
const sourceHeader = 'x-token-count-source'
/** Of the answer that failed: they speak of a wait or of a body that is no longer there. */
const headersOfFailure = ['content-type', 'retry-after', 'retry-after-ms']

/** A client that asks how much it is about to send gets a number, whatever became of the counter. */
export async function countOrEstimate(
  original: HttpRequest,
  services: Services,
  caller: Caller,
  call: CountCall,
): Promise<Answer> {
  const { request, body } = await readRequest(original, services)
  const answer = await services.callModel(request, caller, call)
  return body ? estimatedInstead(answer, { body, services, call }) : answer
}

interface Counted {
  readonly body: JsonBody
  readonly services: Services
  readonly call: CountCall
}

/** The same answer, unless no upstream could give one. What is wrong with the request stays said. */
function estimatedInstead(failed: Answer, { body, services, call: { format } }: Counted): Answer {
  if (!hasNoCounter(failed, services.settings().headerPrefix)) return failed
  let answer: object
  try {
    const request = format.decode(body)
    answer = format.encode({ inputTokens: estimateInput(request) }, request.model, request)
  } catch (error) {
    // What cannot be read here could only have been counted there.
    if (error instanceof GatewayError) return failed
    throw error
  }
  const headers = Object.fromEntries(
    Object.entries(failed.headers).filter(([name]) => !headersOfFailure.includes(name)),
  )
  return jsonAnswer(answer, 200, { ...headers, [sourceHeader]: 'estimate' })
}

/** An upstream was asked and failed, or knows no counter; fallbacks are only reached by such failures. */
function hasNoCounter({ status, headers }: Answer, prefix: string): boolean {
  // What never reached a deployment, this gateway itself refused.
  if (status === 200 || status === 499 || headers[`${prefix}-model-id`] === undefined) return false
  const failed = status >= 500 || status === 404 || status === 408 || status === 429
  return failed || Number(headers[`${prefix}-attempted-fallbacks`]) > 0
}
