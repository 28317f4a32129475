/** Short words for JSON Schemas (draft 2020-12, as OpenAPI 3.1 has them). */

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>

/** Properties of an object by their names. */
export type Properties = Readonly<Record<string, Schema>>

/** Any text. */
export const text: Schema = { type: 'string' }
/** A whole number. */
export const integer: Schema = { type: 'integer' }
/** Any number. */
export const number: Schema = { type: 'number' }
/** true or false. */
export const boolean: Schema = { type: 'boolean' }
/** An object whose fields are the upstream's or the client's own. */
export const anyObject: Schema = { type: 'object', additionalProperties: true }
/** Seconds since 1970. */
export const unixSeconds: Schema = { type: 'integer', description: 'Seconds since 1970.' }
/** A moment as in `2026-11-21T08:00:00.000Z` (RFC 3339). */
export const dateTime: Schema = { type: 'string', format: 'date-time' }

/** The schema of this name under `#/components/schemas/`. */
export const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
/** One value and no other. */
export const constant = (value: string | boolean): Schema => ({ const: value })
/** One of these texts. */
export const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
/** The schema, or null. */
export const nullable = (schema: Schema): Schema =>
  typeof schema.type === 'string' && schema.enum === undefined
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
/** A list of any length, empty ones included. */
export const listOf = (items: Schema): Schema => ({ type: 'array', items })
/** An object with names that are not fixed. */
export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })
/** A value that fits at least one of the schemas. */
export const either = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas })
/** The schema with an explanation. */
export const described = (description: string, schema: Schema): Schema => ({ ...schema, description })

/** An object: fields that are always there, and fields that may be absent. Further ones are allowed. */
export function shape(required: Properties, optional: Properties = {}): Schema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

/** The same object, which usually has fields that are not listed. */
export const open = (schema: Schema): Schema => ({ ...schema, additionalProperties: true })

/** A text that is none of these: kinds that newer upstreams add to a union pass through. */
export const otherThan = (...values: readonly string[]): Schema => ({ type: 'string', not: { enum: values } })

/** A page of a list in OpenAI's manner. `edge` = `first_id` and `last_id`. */
export function pageOf(items: Schema, edge: Schema = text): Schema {
  return shape({ object: constant('list'), data: listOf(items), first_id: edge, last_id: edge, has_more: boolean })
}

/** Bodies of a success by their media types (see EndpointDoc). */
export type Success = Readonly<Record<string, Schema>>

/** A success in JSON, by the name of its schema. */
export const json = (name: string): Success => ({ 'application/json': reference(name) })
/** A success in JSON, or as server-sent events where the client asks for a stream. */
export const jsonOrEvents = (name: string, eventName: string): Success => ({
  ...json(name),
  'text/event-stream': reference(eventName),
})
/** Bytes: what is in them JSON Schema does not describe. */
export const bytes: Schema = { type: 'string', contentMediaType: 'application/octet-stream' }
