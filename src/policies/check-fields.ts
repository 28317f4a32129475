/** Checks the fields of a call by its dialect, and reads the model and options that body and headers ask for. */
import type { Call, CallInAdmission } from '../core/call.ts'
import { unprocessable } from '../core/errors.ts'
import { noOverrides } from '../core/overrides.ts'
import { isSafeId } from '../core/request.ts'
import type { RequestHeaders } from '../core/request.ts'
import type { Policy } from '../core/policy.ts'

/** Sets model, stream, end user and overrides of the call. Throws `unprocessable` with every problem. */
export function checkFields(): Policy {
  return { name: 'check-fields', stage: 'body', admit: readFields }
}

/** See `CallOptions.prepare`. A body that it has replaced is checked again. */
export function prepareCall(): Policy {
  return {
    name: 'prepare-call',
    stage: 'body',
    admit(call) {
      if (call.options.prepare) return prepare(call)
    },
  }
}

function prepare(call: Call): void | Promise<void> {
  const { body } = call
  // Read while the body still has the fields that name it: what they refer to may take their place.
  void call.sessionId
  const again = (): void => {
    if (call.body !== body) readFields(call)
  }
  const preparing = call.options.prepare?.(call)
  if (preparing) return preparing.then(again)
  again()
}

function readFields(call: CallInAdmission): void {
  const { options, body } = call
  if (!body || !call.format) return
  const format = options.formatOf?.(body) ?? call.format
  call.format = format
  const inspection = format.inspect(body)
  call.model = options.model || inspection.model || (options.defaultModel?.() ?? '')
  call.stream = options.stream ?? inspection.stream
  call.endUser = inspection.endUser
  call.misplacedMedia = inspection.misplacedMedia === true
  if (inspection.problems.length > 0) throw unprocessable(inspection.problems)
  if (!call.model)
    throw unprocessable([{ loc: ['body', 'model'], msg: 'is missing; name one of GET /v1/models', type: 'missing' }])
  if (body.has('proxy_call_id')) readCallId(call, body.get('proxy_call_id'))
  call.overrides = format.overrides?.(body) ?? noOverrides
  if (call.headers) readControlHeaders(call, call.headers)
}

/** The ledger keeps the gateway's own id: only that one is certain to be unique. */
function readCallId(call: CallInAdmission, id: unknown): void {
  if (id == null) return
  if (typeof id !== 'string' || !isSafeId(id))
    throw unprocessable([
      {
        loc: ['body', 'proxy_call_id'],
        msg: 'must be a text of 1 to 128 letters, digits and . _ : / @ = + ~ -',
        type: 'wrong_type',
      },
    ])
  call.clientCallId = id
}

const retriesMost = 10
const secondsMost = 86_400
const endUserLengthMax = 256
/** The first counts. */
const endUserHeaders = ['x-litellm-customer-id', 'x-litellm-end-user-id']

/**
 * Reads the headers by which clients control the gateway, under LiteLLM's names (its page "Request Headers"). They win
 * over the body's fields: `x-litellm-call-id`, `-timeout` and `-stream-timeout` (seconds), `-num-retries`,
 * `-customer-id` or `-end-user-id`. Throws `unprocessable` with the name of the header.
 */
function readControlHeaders(call: CallInAdmission, headers: RequestHeaders): void {
  const callId = headers.get('x-litellm-call-id')
  if (callId !== null) call.clientCallId = checkedId(callId)
  const endUser = endUserHeaderOf(headers, call.models.settings.endUserHeader)
  if (endUser !== undefined) call.endUser = checkedEndUser(headers.get(endUser)!, endUser)
  const retries = headers.get('x-litellm-num-retries')
  if (retries !== null) call.overrides = { ...call.overrides, retries: checkedRetries(retries) }
  const ofStream = call.stream ? 'x-litellm-stream-timeout' : ''
  const name = ofStream !== '' && headers.has(ofStream) ? ofStream : 'x-litellm-timeout'
  const timeout = headers.get(name)
  if (timeout !== null) call.overrides = { ...call.overrides, timeoutMs: checkedSeconds(timeout, name) * 1000 }
}

const refused = (name: string, msg: string) => unprocessable([{ loc: ['header', name], msg, type: 'invalid' }])

function checkedId(id: string): string {
  if (isSafeId(id)) return id
  throw refused('x-litellm-call-id', 'must be 1 to 128 letters, digits and . _ : / @ = + ~ -')
}

/** The header that names the end user of the call, `configured` the last; undefined = none does. */
export function endUserHeaderOf(headers: RequestHeaders, configured: string | null): string | undefined {
  const found = endUserHeaders.find(name => headers.has(name))
  return found ?? (configured !== null && headers.get(configured) ? configured : undefined)
}

function checkedEndUser(id: string, header: string): string {
  if (id.length <= endUserLengthMax) return id
  throw refused(header, `must have at most ${endUserLengthMax} characters`)
}

function checkedRetries(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) <= retriesMost) return Number(text)
  throw refused('x-litellm-num-retries', `must be a whole number from 0 to ${retriesMost}`)
}

function checkedSeconds(text: string, name: string): number {
  const seconds = /^\d{1,6}(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (seconds > 0 && seconds <= secondsMost) return seconds
  throw refused(name, `must be a number of seconds, more than 0 and at most ${secondsMost}`)
}
