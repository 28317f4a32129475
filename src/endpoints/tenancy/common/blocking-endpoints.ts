/** The pair of endpoints that block objects and let them work again. */
import type { z } from 'zod'
import type { Endpoint, EndpointContext } from '../../../core/endpoint.ts'
import { withBody } from '../../common/json-endpoint.ts'

type Words = Pick<Parameters<typeof withBody>[1], 'paths' | 'operationId' | 'summary'>

interface Blocking<Input> extends Pick<Parameters<typeof withBody>[1], 'tag' | 'answer' | 'auth'> {
  readonly block: Words
  readonly unblock: Words
  /** Resolves with the answer. Throws `not-found`. */
  setBlocked(blocked: boolean, input: Input, context: EndpointContext): Promise<unknown>
}

/** One endpoint that sets `blocked`, and one that takes it back. */
export function blockingEndpoints<Schema extends z.ZodType>(
  body: () => Schema,
  { block, unblock, setBlocked, ...about }: Blocking<z.infer<Schema>>,
): readonly Endpoint[] {
  const endpoint = (blocked: boolean): Endpoint =>
    withBody(body, {
      ...about,
      ...(blocked ? block : unblock),
      failures: [404],
      handle: (input, context) => setBlocked(blocked, input, context),
    })
  return [endpoint(true), endpoint(false)]
}
