/** What the built-in models refuse: said as a real upstream says it, with OpenAI's error body. */
import type { InProcessAnswer } from '../../core/provider.ts'

/** Thrown inside the provider; `refused` makes the answer of it. The message is for the client. */
export class LocalRefusal extends Error {
  override readonly name = 'LocalRefusal'
  /** The request field at fault. */
  readonly param: string

  constructor(param: string, message: string) {
    super(message)
    this.param = param
  }
}

/** Status 400. The message and the field at fault reach the client as they are. */
export function refused({ message, param }: LocalRefusal): InProcessAnswer {
  const error = { message, type: 'invalid_request_error', param, code: null }
  return { status: 400, contentType: 'application/json', pieces: [JSON.stringify({ error })] }
}
