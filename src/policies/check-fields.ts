/** Checks the fields of a call by its dialect, and reads the model and options that it asks for. */
import type { Call } from '../core/call.ts'
import { unprocessable } from '../core/errors.ts'
import { noOverrides } from '../core/overrides.ts'
import { isSafeId } from '../core/request.ts'
import type { Policy } from '../core/policy.ts'
import { readControlHeaders } from './control/control-headers.ts'

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
  const again = (): void => {
    if (call.body !== body) readFields(call)
  }
  const preparing = call.options.prepare?.(call)
  if (preparing) return preparing.then(again)
  again()
}

function readFields(call: Call): void {
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
function readCallId(call: Call, id: unknown): void {
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
