/** Refusals of the built-in models, answered with OpenAI's error body. */
import type { InProcessAnswer } from '../../core/provider.ts'

/** Thrown inside the provider and turned into an answer by `refused`. Clients see the message. */
export class LocalRefusal extends Error {
  override readonly name = 'LocalRefusal'
  /** The request field at fault. */
  readonly param: string

  constructor(param: string, message: string) {
    super(message)
    this.param = param
  }
}

/** The answer for a refusal: status 400 with its message and field. */
export function refusalAnswer({ message, param }: LocalRefusal): InProcessAnswer {
  const error = { message, type: 'invalid_request_error', param, code: null }
  return { status: 400, contentType: 'application/json', pieces: [JSON.stringify({ error })] }
}
