/** Failures in the document: the bodies of each dialect, and the responses that operations refer to. */
import type { Endpoint } from '../../core/endpoint.ts'
import { anthropicErrorBody } from '../../formats/anthropic/index.ts'
import { geminiErrorBody } from '../../formats/gemini/index.ts'
import { jinaRerank } from '../../formats/rerank.ts'
import { protocolErrorBody } from '../../tools/protocol-errors.ts'
import { scimErrorBody, scimMediaType } from '../tenancy/scim/error-body.ts'
import { headersOfError } from './headers.ts'
import { constant, described, either, integer, listOf, named, nullable, open, shape, text } from './schema.ts'
import type { Schema } from './schema.ts'

const openaiFields = () => ({
  error: shape({ message: text, type: text, param: nullable(text), code: nullable(text), name: text }),
})

const problems = () => ({
  detail: described(
    'It has every problem of the request, and is absent when the upstream has refused it.',
    listOf(shape({ loc: listOf(either(text, integer)), msg: text, type: text })),
  ),
})

const googleType = (name: string) => constant(`type.googleapis.com/google.rpc.${name}`)

const geminiDetails = () =>
  either(
    shape({ '@type': googleType('ErrorInfo'), reason: text, domain: text, metadata: shape({ name: text }) }),
    shape({
      '@type': googleType('BadRequest'),
      fieldViolations: listOf(shape({ field: text, description: text })),
    }),
    shape({
      '@type': googleType('RetryInfo'),
      retryDelay: described('It is written with its unit, such as `1.5s`.', text),
    }),
  )

/** An error in OpenAI's dialect. */
export const errorSchema = named('Error', () => shape(openaiFields()))

/** An error in Anthropic's dialect. */
export const anthropicErrorSchema = named('AnthropicError', () =>
  shape(
    { type: constant('error'), error: shape({ type: text, message: text }) },
    { request_id: described('It is absent in a stream.', text) },
  ),
)

/** An error in Gemini's dialect. */
export const geminiErrorSchema = named('GeminiError', () =>
  shape({
    error: shape({
      code: described('It is the status of the HTTP answer.', integer),
      message: text,
      status: text,
      details: listOf(geminiDetails()),
    }),
  }),
)

const validationErrorSchema = named('ValidationError', () => shape(openaiFields(), problems()))
const rerankErrorSchema = named('RerankError', () => shape({ ...openaiFields(), message: text }, problems()))

const scimErrorSchema = named('ScimError', () =>
  shape({ schemas: listOf(text), status: text, detail: text }, { scimType: text }),
)

const protocolErrorSchema = named('McpError', () =>
  shape({
    jsonrpc: constant('2.0'),
    id: described('That of the request, where it could be read.', nullable(either(text, integer))),
    error: shape(
      { code: integer, message: text },
      { data: open(shape({}, { status: integer, code: text, retry_after_ms: integer })) },
    ),
  }),
)

/** Statuses of the table in core/errors.ts, with their names in error bodies. */
const meanings: Readonly<Record<string, string>> = {
  400: 'BadRequestError, ContextWindowExceededError, or ContentPolicyViolationError: the request was refused',
  401: 'AuthenticationError: the request has no valid key',
  403: 'PermissionDeniedError: this key may not do it',
  404: 'NotFoundError: there is no such model or object, or it belongs to another key',
  408: 'Timeout: the upstream was too slow, or the body did not come',
  409: 'ConflictError: the state of what is named does not allow it',
  413: 'PayloadTooLargeError: the body is too large',
  415: 'UnsupportedMediaTypeError: the encoding or the media type of the body is not known',
  422: 'UnprocessableEntityError: fields are wrong; every problem is named',
  429: 'RateLimitError: a limit was reached; wait for `retry-after` seconds',
  500: 'InternalServerError, or JSONSchemaValidationError: the answer does not fit the schema that was asked for',
  502: 'BadGatewayError: the upstream has answered what its protocol forbids, or refused the key of the gateway',
  503: 'APIConnectionError, or ServiceUnavailableError: the upstream, or the gateway, is away or overloaded',
  default: 'Every other failure is answered in this form',
}

type ErrorBody = Endpoint['errorBody']

interface Dialect {
  readonly name: string
  readonly schema: Schema
  /** Of status 422, where it is another. */
  readonly validationSchema?: Schema
}

const openai: Dialect = { name: 'OpenAI', schema: errorSchema, validationSchema: validationErrorSchema }

/** The dialect of an endpoint's errors, by the function that makes them; any other is OpenAI's. */
const dialects: ReadonlyMap<ErrorBody, Dialect> = new Map<ErrorBody, Dialect>([
  [anthropicErrorBody, { name: 'Anthropic', schema: anthropicErrorSchema }],
  [geminiErrorBody, { name: 'Gemini', schema: geminiErrorSchema }],
  [jinaRerank.errorBody, { name: 'Rerank', schema: rerankErrorSchema }],
  [scimErrorBody, { name: 'Scim', schema: scimErrorSchema }],
  [protocolErrorBody, { name: 'Mcp', schema: protocolErrorSchema }],
])

/** What an operation under this path must say of failures, by status. */
interface FailureContext {
  readonly hasBody: boolean
  readonly hasPathParameter: boolean
}

/** The statuses that an operation can fail with, in order. Those of the endpoint itself stand in its doc. */
export function failureStatuses({ auth, doc }: Endpoint, { hasBody, hasPathParameter }: FailureContext): number[] {
  return [
    ...(doc.failures ?? []),
    ...(auth === 'none' ? [] : [401, 429, 500, 503]),
    ...(auth === 'none' ? [] : [403]),
    ...(hasBody ? [400, 408, 413, 415, 422] : []),
    ...(doc.query && auth !== 'none' ? [422] : []),
    ...(hasPathParameter ? [404] : []),
    ...(doc.callsModel ? [400, 403, 404, 408, 422, 502] : []),
  ]
    .filter((status, at, all) => all.indexOf(status) === at)
    .sort((one, other) => one - other)
}

/** The response of a failure: its name under `#/components/responses/`, and what stands there. */
export function failureResponse(
  { errorBody, pageOfError }: Pick<Endpoint, 'errorBody' | 'pageOfError'>,
  status: string,
  headerPrefix: string,
): { name: string; response: object } {
  const { name: dialect, schema, validationSchema = schema } = dialects.get(errorBody) ?? openai
  const body = {
    [dialect === 'Scim' ? scimMediaType : 'application/json']: { schema: status === '422' ? validationSchema : schema },
  }
  const response = {
    description: meanings[status] ?? meanings.default!,
    headers: headersOfError(Number(status), { prefix: headerPrefix, isAnthropic: dialect === 'Anthropic' }),
    content: pageOfError ? { 'text/html': { schema: text } } : body,
  }
  return { name: `${pageOfError ? 'Page' : dialect}${status === 'default' ? 'Failure' : status}`, response }
}
