/** The request of a call in hub types: for policies, and for each attempt of a call that they have changed. */
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { inputFiles } from '../core/hub/input-files.ts'
import type { CallInput } from '../core/hub/input.ts'
import type { ModerationPart, ModerationsRequest } from '../core/hub/moderations.ts'
import type { Operation } from '../core/hub/operation.ts'
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

/**
 * What policies have changed in a body whose texts stand in few fields, as edits of these: such a call stays on the
 * forward lane. undefined = only a translation can say it.
 */
export function changedFields(call: Call, body: JsonBody): Edit[] | undefined {
  const input = call.input()
  const set = (name: string, value: unknown): Edit => ({ set: name, json: JSON.stringify(value) })
  switch (input.kind) {
    case 'images':
      return [set('prompt', input.request.prompt), ...extraFields(input.request, body)]
    case 'speech': {
      const { input: text, instructions } = input.request
      const spoken = instructions === undefined ? [] : [set('instructions', instructions)]
      return [set('input', text), ...spoken, ...extraFields(input.request, body)]
    }
    case 'moderations':
      return [set('input', judgedTexts(body.get('input'), input.request)), ...extraFields(input.request, body)]
    default:
      return undefined
  }
}

function extraFields({ extra }: Decoded, body: JsonBody): Edit[] {
  return Object.entries(extra.fields).flatMap(([name, value]): Edit[] => {
    const json = JSON.stringify(value)
    return body.has(name) && JSON.stringify(body.get(name)) !== json ? [{ set: name, json }] : []
  })
}

/** In the form in which they were sent: one text, texts, or parts. */
function judgedTexts(given: unknown, { inputs }: ModerationsRequest): unknown {
  const textOf = (part: ModerationPart | undefined): string => (part?.type === 'text' ? part.text : '')
  if (!Array.isArray(given)) return textOf(inputs[0]?.[0])
  if (typeof given[0] === 'string') return inputs.map(([part]) => textOf(part))
  return (given as { type?: unknown }[]).map((part, at) =>
    part.type === 'text' ? { ...part, text: textOf(inputs[0]?.[at]) } : part,
  )
}
