/** Endpoints that check their input by a schema and answer with JSON. */
import type { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint, EndpointContext } from '../../core/endpoint.ts'
import { readJsonAs, readQuery } from './checked-input.ts'
import { json } from '../openapi/schema.ts'

interface JsonEndpoint<Input> extends Pick<Endpoint, 'paths' | 'auth'> {
  readonly method?: Endpoint['method']
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  /** The name of the answer's schema. */
  readonly answer: string
  readonly failures?: readonly number[]
  handle(input: Input, context: EndpointContext): Promise<unknown>
}

/** An endpoint with a JSON body; POST unless it says otherwise. */
export function withBody<Schema extends z.ZodType>(
  body: () => Schema,
  { method = 'POST', paths, auth, handle, answer, ...about }: JsonEndpoint<z.infer<Schema>>,
): Endpoint {
  return {
    method,
    paths,
    auth,
    doc: { ...about, request: body, success: json(answer) },
    async handle(request, services, caller) {
      const input = (await readJsonAs(request, body())) as z.infer<Schema>
      return jsonAnswer(await handle(input, { services, caller: caller!, request }))
    },
  }
}

/** An endpoint with parameters in the query; GET unless it says otherwise. */
export function withQuery<Schema extends z.ZodObject>(
  query: () => Schema,
  { method = 'GET', paths, auth, handle, answer, ...about }: JsonEndpoint<z.infer<Schema>>,
): Endpoint {
  return {
    method,
    paths,
    auth,
    doc: { ...about, query, success: json(answer) },
    async handle(request, services, caller) {
      const input = readQuery(request, query()) as z.infer<Schema>
      return jsonAnswer(await handle(input, { services, caller: caller!, request }))
    },
  }
}
