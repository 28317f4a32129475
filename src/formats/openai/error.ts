/** Errors as OpenAI's clients read them (API reference, "Error codes"). */
import type { GatewayError } from '../../core/errors.ts'

/**
 * The body of an error answer: `{error: {message, type, param, code, name}}`. `name` is the gateway
 * specification's; a refused request also carries `detail`, one entry a problem, as 422 answers do.
 */
export function openaiErrorBody(error: GatewayError): object {
  const body = {
    error: {
      message: error.message,
      type: error.type,
      param: error.param,
      code: error.code,
      name: error.publicName,
    },
  }
  if (!error.problems) return body
  return { ...body, detail: error.problems.map(({ loc, msg, type }) => ({ loc, msg, type })) }
}

/** The same as an event of a stream that has already begun. */
export function openaiErrorEvent(error: GatewayError): string {
  return `data: ${JSON.stringify(openaiErrorBody(error))}\n\n`
}
