/**
 * Tables of request fields: one row a field, from which its check, its place in the hub, the report of its loss, the
 * list of supported parameters and its schema in `/openapi.json` follow.
 */

/** What a check can be made of without further words. `format: 'int64'` = any integer of 64 bits. */
export type PlainSchema =
  | { readonly type: 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'integer'; readonly minimum?: number; readonly maximum?: number; readonly format?: 'int64' }
  | { readonly type: 'boolean' }
  | { readonly type: 'string'; readonly minLength?: 1; readonly enum?: readonly string[] }
  | { readonly type: 'array'; readonly items: { readonly type: 'string' } }
  | { readonly type: 'object'; readonly additionalProperties?: { readonly type: 'string' } }

/** Any other JSON Schema: the dialect checks the field in its own code. `{}` is not checked at all. */
export type OtherSchema = Readonly<Record<string, unknown>>

/** One field of a body. `Request` is the hub's type that the body is decoded into. */
export interface Field<Request = object> {
  readonly name: string
  /** JSON Schema of its value (draft 2020-12, as OpenAPI 3.1 has it); null always means the same as absent. */
  readonly schema: PlainSchema | OtherSchema
  /** true = the dialect's code says what is missing; a text = what the error asks the client to send. */
  readonly required?: true | string
  /** For people who read `/openapi.json`. */
  readonly description?: string
  /** The property of the hub that says the same. */
  readonly property?: keyof Request
  /** The dialect's code computes the property; else the value is the property's value. */
  readonly converted?: true
  /** Not in the hub: it goes along as it is, to upstreams of the same dialect. */
  readonly extra?: true
}

/** Both ends belong to the range. */
export const number = (minimum: number, maximum: number): PlainSchema => ({ type: 'number', minimum, maximum })

/** `maximum` left out = only the minimum is checked. */
export const integer = (minimum: number, maximum?: number): PlainSchema =>
  maximum === undefined ? { type: 'integer', minimum } : { type: 'integer', minimum, maximum }

/** Any integer of 64 bits. */
export const int64: PlainSchema = { type: 'integer', format: 'int64' }
/** `true` or `false`. */
export const boolean: PlainSchema = { type: 'boolean' }
/** Any string, also an empty one. */
export const text: PlainSchema = { type: 'string' }
/** A string of at least one character. */
export const filledText: PlainSchema = { type: 'string', minLength: 1 }
/** A list, perhaps empty, of strings. */
export const texts: PlainSchema = { type: 'array', items: { type: 'string' } }
/** An object with anything in it. */
export const object: PlainSchema = { type: 'object' }
/** An object whose values are strings. */
export const textMap: PlainSchema = { type: 'object', additionalProperties: { type: 'string' } }
/** Any value: nothing is checked. */
export const anything: OtherSchema = {}

/** One of these values. */
export const oneOf = (...values: readonly string[]): PlainSchema => ({ type: 'string', enum: values })

/** One of several shapes. */
export const anyOf = (...schemas: readonly object[]): OtherSchema => ({ anyOf: schemas })

/** A list of objects, whose shape the dialect's code checks. */
export const objects: OtherSchema = { type: 'array', items: { type: 'object' } }

/** The JSON Schema of a body with these fields. `nullable` = null is taken for absent (JSON, not forms). */
export function bodySchema(fields: readonly Field<never>[], { nullable = true } = {}): OtherSchema {
  const properties = fields.map(({ name, schema, required, description }) => [
    name,
    { ...(nullable && !required ? orNull(schema) : schema), ...(description !== undefined && { description }) },
  ])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: fields.filter(field => field.required).map(field => field.name),
  }
}

function orNull(schema: OtherSchema): OtherSchema {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
  if (schema.type === undefined) return schema
  return {
    ...schema,
    type: [schema.type, 'null'],
    ...(Array.isArray(schema.enum) && { enum: [...schema.enum, null] }),
  }
}
