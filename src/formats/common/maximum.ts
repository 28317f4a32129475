import { JsonBody } from '../../lib/json/json-body.ts'

/** The body with a number in a field, and without other names of it. */
export function withNumber(body: JsonBody, field: string, value: number, names: readonly string[] = []): JsonBody {
  const others = names.filter(name => name !== field).map(name => ({ remove: name }))
  return withEdits(body, [...others, { set: field, json: String(value) }])
}

/** What is edited, as a body of its own. */
export function withEdits(body: JsonBody, edits: Parameters<JsonBody['edited']>[0]): JsonBody {
  return JsonBody.read(Buffer.concat(body.edited(edits)))
}
