/** Headers of answers, as components of the document. */
import type { Endpoint } from '../../core/endpoint.ts'
import { integer, number, oneOf, text } from './schema.ts'
import type { Schema } from './schema.ts'

interface HeaderDoc {
  readonly description: string
  readonly schema: Schema
}

/** Those that carry the prefix of `general_settings.header_prefix`, without it. */
const ofCall: Readonly<Record<string, HeaderDoc>> = {
  'call-id': { description: 'The id that the call has in the ledger and in the log.', schema: text },
  'model-id': { description: 'The deployment that has answered (`model_info.id`).', schema: text },
  'model-group': { description: 'The name of the model that the client has asked for.', schema: text },
  'attempted-retries': { description: 'How many attempts were made after the first of a deployment.', schema: integer },
  'attempted-fallbacks': { description: 'Other models that were tried.', schema: integer },
  'overhead-ms': {
    description: "The part of the duration that is the gateway's own, in milliseconds.",
    schema: number,
  },
  'response-cost': {
    description: 'Dollars as decimal text; absent where the price is not known, and in streams.',
    schema: text,
  },
  'usage-source': {
    description:
      'Absent where the upstream counted; else its usage, and so its cost, is estimated in whole or in part.',
    schema: oneOf('estimated', 'mixed'),
  },
  'applied-guardrails': { description: 'The guardrails that hold for the call, with commas between.', schema: text },
  'dropped-params': {
    description: 'Fields that the upstream did not get, or got with another value, with commas between.',
    schema: text,
  },
}

const limits: Readonly<Record<string, HeaderDoc>> = Object.fromEntries(
  ['requests', 'tokens'].flatMap(what => [
    [`x-ratelimit-limit-${what}`, { description: `How many ${what} a minute the key may make.`, schema: integer }],
    [`x-ratelimit-remaining-${what}`, { description: `How many ${what} are left in this minute.`, schema: integer }],
    [`x-ratelimit-reset-${what}`, { description: 'When all of them are there again, such as `12.5s`.', schema: text }],
  ]),
)

const others: Readonly<Record<string, HeaderDoc>> = {
  'x-request-id': {
    description:
      "The client's own `x-request-id` (up to 128 letters, digits and . _ : / @ = + ~ -), else the id of the call.",
    schema: text,
  },
  'request-id': { description: "It is the same as `x-request-id`, for Anthropic's clients.", schema: text },
  'x-warnings': {
    description: 'A JSON list of what of the request was passed over, one sentence a field; absent = nothing.',
    schema: text,
  },
  'retry-after': { description: 'Seconds to wait before the next attempt.', schema: integer },
  'retry-after-ms': { description: 'It is `retry-after` in milliseconds.', schema: integer },
  'x-should-retry': { description: '`false`: the same request will fail again.', schema: oneOf('false') },
  'www-authenticate': { description: 'How to send a key.', schema: text },
  'x-token-count-source': {
    description: 'Absent where the provider counted.',
    schema: oneOf('estimate'),
  },
  'x-accel-buffering': { description: 'With a stream: proxies must not collect it.', schema: text },
  'content-disposition': { description: 'It has the name of the file.', schema: text },
  'set-cookie': { description: 'It is the cookie of a form, of a sign-in or of a session.', schema: text },
  'mcp-session-id': { description: 'The session that `initialize` has begun; later requests send it.', schema: text },
  etag: { description: 'Clients send it back as `if-none-match`.', schema: text },
  location: { description: 'The address of what was made, or where a browser goes on.', schema: text },
}

const refer = (names: readonly string[], prefix = ''): Record<string, object> =>
  Object.fromEntries(names.map(name => [prefix + name, { $ref: `#/components/headers/${name}` }]))

/** By their names under `#/components/headers/`. */
export const headerComponents: Readonly<Record<string, HeaderDoc>> = { ...ofCall, ...limits, ...others }

const headersOfCall = (prefix: string): Record<string, object> => refer(Object.keys(ofCall), `${prefix}-`)

interface SuccessContext {
  /** What headers about a call begin with (Settings.headerPrefix). */
  readonly prefix: string
  readonly canStream: boolean
}

/** Of an answer with status 200. */
export function headersOfSuccess(
  { auth, doc }: Pick<Endpoint, 'auth' | 'doc'>,
  { prefix, canStream }: SuccessContext,
): Record<string, object> {
  return {
    ...((doc.callsModel || doc.callsObjects) && { ...refer(['x-request-id']), ...headersOfCall(prefix) }),
    ...(auth !== 'none' && refer(Object.keys(limits))),
    ...(doc.callsModel && canStream && refer(['x-accel-buffering'])),
    ...refer(doc.headers ?? []),
  }
}

interface ErrorContext {
  /** What headers about a call begin with. */
  readonly prefix: string
  /** Under the paths of Anthropic's dialect. */
  readonly isAnthropic: boolean
}

/** Of a failure with this status. Those about a call are there when there was one. */
export function headersOfError(status: number, { prefix, isAnthropic }: ErrorContext): Record<string, object> {
  return {
    ...refer(isAnthropic ? ['x-request-id', 'request-id'] : ['x-request-id']),
    ...(status === 401 && refer(['www-authenticate', 'x-should-retry'])),
    ...((status === 429 || status === 503) && refer(['retry-after', 'retry-after-ms'])),
    ...(status !== 401 && { ...headersOfCall(prefix), ...refer(Object.keys(limits)) }),
  }
}
