/** The request of a call in hub types: for policies, and for each attempt of a call that they have changed. */
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { inputFiles } from '../core/input.ts'
import type { CallInput } from '../core/input.ts'
import type { Operation } from '../core/operation.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import type { Edit } from '../lib/json/json-body.ts'

/** The call's input for policies, without their changes. Throws GatewayError for problems that only decoding finds. */
export function decodeInput(call: Call, body: JsonBody | undefined): CallInput {
  const { format, upload } = call
  if (format && !('multipart' in format)) {
    if (!body) throw new GatewayError('internal', 'the input of a call was asked for before its body was read')
    const request: Decoded = format.decode(body)
    request.model = call.model
    if ('stream' in request) request.stream = call.stream
    return inputOf(call.operation, request)
  }
  const fields = structuredClone(body?.parse() ?? {})
  if (!upload) return { kind: 'object', fields }
  const files = inputFiles(upload)
  // In the JSON view of a form a file is represented by its name and size.
  for (const { field } of files) delete fields[field]
  return { kind: 'form', fields, files }
}

type Decoded = Extract<CallInput, { request: unknown }>['request']

/**
 * The request of one attempt with the changes of all policies. `body` may name files as the deployment does, and is
 * decoded by `decode`, the format's own.
 */
export function editedRequest<Request extends Decoded>(
  call: Call,
  body: JsonBody,
  decode: (body: JsonBody) => Request,
): Request {
  const request = decode(call.edits.length === 0 ? body : ownBody(body))
  request.model = call.model
  if ('stream' in request) request.stream = call.stream
  if (call.edits.length === 0) return request
  const input = inputOf(call.operation, request)
  for (const edit of call.edits) edit(input)
  return request
}

/** The same body, parsed anew: what is decoded of it may be changed in place, and `body` stays as it was sent. */
export function ownBody(body: JsonBody): JsonBody {
  return JsonBody.read(body.bytes)
}

/** The operation says of which kind the request is: TypeScript cannot follow that through the format's union. */
function inputOf(operation: Operation, request: Decoded): CallInput {
  const chats = operation === 'chat' || operation === 'completions' || operation === 'count-tokens'
  return { kind: chats ? 'chat' : operation, request } as CallInput
}

/** The fields of a form that the policies have changed, as edits of the form. */
export function formEdits(call: Call): Edit[] {
  if (call.edits.length === 0) return []
  const before = decodeInput(call, call.body)
  const after = call.input()
  if (before.kind !== 'form' || after.kind !== 'form') return []
  const names = new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])
  return [...names].flatMap((name): Edit[] => {
    const value = after.fields[name]
    if (value === undefined) return [{ remove: name }]
    const json = JSON.stringify(value)
    return json === JSON.stringify(before.fields[name]) ? [] : [{ set: name, json }]
  })
}
