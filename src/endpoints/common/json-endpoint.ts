/** Endpoints that answer with JSON: what they answer is typed and documented by one schema. */
import type { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, EndpointDoc, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { readQuery } from './checked-input.ts'
import { readManagementBody } from './management-body.ts'
import { described, extended, json, listOf, text } from '../openapi/schema.ts'
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
  handle(input: Input, context: EndpointContext): ValueOf<S> | Promise<ValueOf<S>>
}

interface BodyEndpoint<Input, S extends Schema>
  extends CheckedEndpoint<Input, S>,
    Pick<Endpoint, 'takesRequest'>,
    Pick<EndpointDoc, 'requestOptional' | 'successStatus'> {
  /** The answer is a list, or a map by names of the client's, so that its warnings stand in `x-warnings`. */
  readonly answersAreListed?: true
}

const warnings = described(
  'What of the request was passed over, or is probably a mistake, one sentence a field; absent = nothing.',
  listOf(text),
)

/** An endpoint of management with a JSON body that the schema checks; POST unless it says otherwise. */
export function withBody<Body extends z.ZodType, S extends Schema>(
  body: () => Body,
  endpoint: BodyEndpoint<z.infer<Body>, S>,
): Endpoint {
  const { method = 'POST', paths, auth, takesRequest, answersAreListed, handle, answer, ...about } = endpoint
  const success = answersAreListed ? answer : extended(answer, { warnings }, 'WithWarnings')
  return {
    method,
    paths,
    auth,
    ...(takesRequest && { takesRequest }),
    doc: { ...about, request: body, success: json(success), ...(answersAreListed && { headers: ['x-warnings'] }) },
    async handle(request, services, caller) {
      const read = await readManagementBody(request, body() as z.ZodType<z.infer<Body>>)
      const value = await handle(read.input, { services, caller: caller!, request })
      if (read.warnings.length === 0) return jsonAnswer(value, about.successStatus)
      if (answersAreListed)
        return jsonAnswer(value, about.successStatus, { 'x-warnings': JSON.stringify(read.warnings) })
      return jsonAnswer(withWarnings(value as WarnedValue, read.warnings), about.successStatus)
    },
  }
}

interface WarnedValue {
  readonly warnings?: readonly string[]
}

/** Beside those of the endpoint itself. */
const withWarnings = (value: WarnedValue, passedOver: readonly string[]): WarnedValue => ({
  ...value,
  warnings: [...passedOver, ...(value.warnings ?? [])],
})

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
