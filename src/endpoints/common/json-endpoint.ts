/** Endpoints that answer with JSON: what they answer is typed and documented by one schema. */
import type { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, EndpointDoc, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { readJsonAs, readQuery } from './checked-input.ts'
import { json } from '../openapi/schema.ts'
import type { Schema, ValueOf } from '../openapi/schema.ts'

/** An answer whose body the schema types, for handlers that also set a status, headers or cookies. */
export const answerOf = <S extends Schema>(
  _schema: S,
  value: ValueOf<S>,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Answer => jsonAnswer(value, status, headers)

interface DescribedEndpoint<Value> extends Omit<Endpoint, 'doc' | 'handle'> {
  readonly doc: Omit<EndpointDoc, 'success'>
  /** `caller` is undefined only for `auth: 'none'`. May throw GatewayError. */
  handle(request: HttpRequest, services: Services, caller: Caller | undefined): Value | Promise<Value>
}

/** An endpoint whose success is a value of this schema. */
export function jsonEndpoint<S extends Schema>(
  answer: S,
  { doc, handle, ...endpoint }: DescribedEndpoint<ValueOf<S>>,
): Endpoint {
  const answered = (value: ValueOf<S>) => answerOf(answer, value, doc.successStatus)
  return {
    ...endpoint,
    doc: { ...doc, success: json(answer) },
    handle(request, services, caller) {
      const value = handle(request, services, caller)
      return value instanceof Promise ? value.then(answered) : answered(value)
    },
  }
}

interface CheckedEndpoint<Input, S extends Schema>
  extends Pick<Endpoint, 'paths' | 'auth'>,
    Pick<EndpointDoc, 'operationId' | 'summary' | 'tag' | 'failures'> {
  readonly method?: Endpoint['method']
  readonly answer: S
  handle(input: Input, context: EndpointContext): Promise<ValueOf<S>>
}

/** An endpoint with a JSON body that the schema checks; POST unless it says otherwise. */
export function withBody<Body extends z.ZodType, S extends Schema>(
  body: () => Body,
  { method = 'POST', paths, auth, handle, answer, ...about }: CheckedEndpoint<z.infer<Body>, S>,
): Endpoint {
  return jsonEndpoint(answer, {
    method,
    paths,
    auth,
    doc: { ...about, request: body },
    async handle(request, services, caller) {
      const input = (await readJsonAs(request, body())) as z.infer<Body>
      return handle(input, { services, caller: caller!, request })
    },
  })
}

/** An endpoint with parameters in the query that the schema checks; GET unless it says otherwise. */
export function withQuery<Query extends z.ZodObject, S extends Schema>(
  query: () => Query,
  { method = 'GET', paths, auth, handle, answer, ...about }: CheckedEndpoint<z.infer<Query>, S>,
): Endpoint {
  return jsonEndpoint(answer, {
    method,
    paths,
    auth,
    doc: { ...about, query },
    async handle(request, services, caller) {
      const input = readQuery(request, query()) as z.infer<Query>
      return handle(input, { services, caller: caller!, request })
    },
  })
}
