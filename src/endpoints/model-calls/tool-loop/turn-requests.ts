/** The further requests to a model in one run with tools: the same client and session, another body. */
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import type { Format } from '../../../core/format.ts'
import { followUpHeaders, internalJsonRequest } from '../../../core/internal-request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** What all requests of a run share. */
export interface RunBeginning {
  readonly request: HttpRequest
  readonly services: Services
  readonly caller: Caller
  readonly format: Format
  readonly route: string
  readonly sessionId: string | null
  readonly userAgent: string
}

/** Facts of a call at its admission that its run needs later. */
export function beginningOf(
  call: CallInAdmission,
  { request, services, format, route }: Pick<RunBeginning, 'request' | 'services' | 'format' | 'route'>,
): RunBeginning {
  const { caller, sessionId, userAgent } = call
  return { request, services, caller, format, route, sessionId, userAgent }
}

/** Asks the model once more; `id` = of the call that it was. */
export async function askAgain(
  run: RunBeginning,
  body: Json,
): Promise<{ readonly answer: Answer; readonly id: string }> {
  const { request, services, caller, format, route, sessionId, userAgent } = run
  const internal = internalJsonRequest({
    path: request.path,
    headers: followUpHeaders({ headers: request.headers, userAgent, sessionId }),
    body,
    client: request,
  })
  let id = ''
  const prepare = (call: CallInAdmission) => void (id = call.id)
  const answer = await services.callModel(internal, caller, { format, route, prepare })
  return { answer, id }
}
