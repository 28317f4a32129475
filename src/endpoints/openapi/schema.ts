/**
 * Typed words for JSON Schemas (draft 2020-12, as OpenAPI 3.1 has them): the TypeScript type of a value follows from
 * its schema, so that no interface repeats it.
 */

import { recordOf } from '../../lib/record-of.ts'

declare const value: unique symbol
/** Where a reference has what makes the schema that it names; JSON leaves symbols out. */
const maker: unique symbol = Symbol('maker')

/** A JSON Schema of values of the type `T`, which exists for the compiler alone. */
export interface Schema<out T = unknown> {
  readonly [keyword: string]: unknown
  readonly [value]?: T
  readonly [maker]?: () => Schema<T>
}

/** The type of the values that fit a schema. */
export type ValueOf<S extends Schema> = S extends Schema<infer T> ? T : never

/** Properties of an object by their names. */
export type Properties = Readonly<Record<string, Schema>>

type Flat<T> = { [Name in keyof T]: T[Name] }
type ValuesOf<P extends Properties> = { readonly [Name in keyof P]: ValueOf<P[Name]> }

/** The schema allows any text. */
export const text: Schema<string> = { type: 'string' }
/** The schema allows whole numbers. */
export const integer: Schema<number> = { type: 'integer' }
/** The schema allows any number. */
export const number: Schema<number> = { type: 'number' }
/** The schema allows true and false. */
export const boolean: Schema<boolean> = { type: 'boolean' }
/** The schema allows any JSON. */
export const anything: Schema = {}
/** The schema allows objects whose fields are the upstream's or the client's own. */
export const anyObject: Schema<object> = { type: 'object', additionalProperties: true }
/** The schema allows seconds since 1970. */
export const unixSeconds: Schema<number> = {
  type: 'integer',
  description: 'The moment is given in seconds since 1970.',
}
/** The schema allows a moment as in `2026-11-21T08:00:00.000Z` (RFC 3339). */
export const dateTime: Schema<string> = { type: 'string', format: 'date-time' }
/** The schema allows bytes: what is in them JSON Schema does not describe. */
export const bytes: Schema<string> = { type: 'string', contentMediaType: 'application/octet-stream' }

/**
 * A reference to a schema that stands under this name in `#/components/schemas/`. `make` runs when the document is
 * made: until then the schema costs a function.
 */
export const named = <T>(name: string, make: () => Schema<T>): Schema<T> => ({
  $ref: `#/components/schemas/${name}`,
  [maker]: make,
})

/** Refers to a schema of this name whose maker stands elsewhere in the document. */
export const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** Every schema that is named somewhere in the value, made, by its name. */
export function namedIn(value: unknown, found: Record<string, Schema> = {}): Readonly<Record<string, Schema>> {
  if (typeof value !== 'object' || value === null) return found
  for (const part of Object.values(value)) namedIn(part, found)
  const { [maker]: make, $ref } = value as Schema
  const name = String($ref).split('/').at(-1)!
  if (make !== undefined && !(name in found)) namedIn((found[name] = make()), found)
  return found
}

/** The schema allows one value and no other. */
export const constant = <const T extends string | boolean>(only: T): Schema<T> => ({ const: only })
/** The schema allows one of these texts. */
export const oneOf = <const T extends string>(...values: readonly T[]): Schema<T> => ({ type: 'string', enum: values })

/** The schema allows what this one does, or null. */
export const nullable = <T>(schema: Schema<T>): Schema<T | null> =>
  typeof schema.type === 'string' && schema.enum === undefined
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }

/** The schema allows a list of any length, empty ones included. */
export const listOf = <T>(items: Schema<T>): Schema<readonly T[]> => ({ type: 'array', items })

/** The schema allows objects with names that are not fixed. */
export const mapOf = <T>(values: Schema<T>): Schema<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
})

/** The schema allows what fits at least one of the schemas. */
export const either = <S extends readonly Schema[]>(...schemas: S): Schema<ValueOf<S[number]>> => ({ anyOf: schemas })
/** The schema with an explanation that can be read alone. */
export const described = <T>(description: string, schema: Schema<T>): Schema<T> => ({ ...schema, description })

/** The same schema under each of the names. */
export const each = <const Name extends string, T>(names: readonly Name[], schema: Schema<T>) =>
  recordOf(names, () => schema)

/** An object: fields that are always there, and fields that may be absent. Further ones are not described. */
export function shape<R extends Properties, O extends Properties = Record<never, never>>(
  required: R,
  optional?: O,
): Schema<Flat<ValuesOf<R> & Partial<ValuesOf<O>>>> {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

/** The same object with further fields that may be absent; of a named one, `suffix` ends the name of the new one. */
export function extended<T, O extends Properties>(
  schema: Schema<T>,
  optional: O,
  suffix: string,
): Schema<T & Partial<ValuesOf<O>>> {
  const { [maker]: make, $ref } = schema
  if (make !== undefined)
    return named(String($ref).split('/').at(-1)! + suffix, () => extended(make(), optional, suffix))
  const properties = { ...(schema.properties as Properties), ...optional }
  return { ...schema, properties } as Schema<T & Partial<ValuesOf<O>>>
}

/** The same object, which usually has fields that are not listed. */
export const open = <T>(schema: Schema<T>): Schema<T> => ({ ...schema, additionalProperties: true })

/** The schema allows a text that is none of these: kinds that newer upstreams add to a union pass through. */
export const otherThan = (...values: readonly string[]): Schema<string> => ({ type: 'string', not: { enum: values } })

/** A page of a list in OpenAI's manner. `edge` = `first_id` and `last_id`. */
export const pageOf = <T, Edge = string>(items: Schema<T>, edge: Schema<Edge> = text as Schema<Edge>) =>
  shape({ object: constant('list'), data: listOf(items), first_id: edge, last_id: edge, has_more: boolean })

/** Bodies of a success by their media types (see EndpointDoc). */
export type Success = Readonly<Record<string, Schema>>

/** A success in JSON. */
export const json = (schema: Schema): Success => ({ 'application/json': schema })

/** A success in JSON, or as server-sent events where the client asks for a stream. */
export const jsonOrEvents = (schema: Schema, event: Schema): Success => ({
  ...json(schema),
  'text/event-stream': event,
})
