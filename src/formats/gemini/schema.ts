/** Gemini's OpenAPI schemas as JSON Schema (ai.google.dev/api/caching, "Schema"). */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { camel, objectsOrOne } from './json-names.ts'
import { objectInOrder, plainKey } from '../../lib/json/exact-json.ts'

/** Google writes 64-bit integers as text. */
const integers: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])
const taken: ReadonlySet<string> = new Set([
  'type',
  'nullable',
  'properties',
  'items',
  'anyOf',
  'propertyOrdering',
  'example',
  'enum',
])

/** Fields that are not known stay as they are: hosts differ in what they read. */
export function jsonSchemaOf(value: Json): Json {
  const schema = camel(value)
  const out: Json = {}
  for (const [name, one] of Object.entries(schema)) {
    if (taken.has(name) || one === null) continue
    // Gemini's "enum" says only that `enum` follows.
    if (name === 'format' && one === 'enum') continue
    out[name] = integers.has(name) && typeof one === 'string' && /^\d{1,15}$/.test(one) ? Number(one) : one
  }
  if (schema.example !== undefined) out.examples = [schema.example]
  const nullable = schema.nullable === true
  addType(schema.type, nullable, out)
  if (Array.isArray(schema.enum))
    out.enum = nullable && !schema.enum.includes(null) ? [...schema.enum, null] : schema.enum
  if (isObject(schema.items)) out.items = jsonSchemaOf(schema.items)
  if (isObject(schema.properties)) out.properties = ordered(schema.properties, schema.propertyOrdering)
  const alternatives = objectsOrOne(schema.anyOf).map(jsonSchemaOf)
  if (alternatives.length > 0)
    out.anyOf = nullable && out.type === undefined ? [...alternatives, { type: 'null' }] : alternatives
  return out
}

function addType(type: unknown, nullable: boolean, out: Json): void {
  if (typeof type !== 'string' || type.toUpperCase() === 'TYPE_UNSPECIFIED') return
  const word = type.toLowerCase()
  out.type = nullable && word !== 'null' ? [word, 'null'] : word
}

/** JSON has no order, but models write properties as they read them. */
function ordered(properties: Json, order: unknown): Json {
  const first = (Array.isArray(order) ? order : []).filter(name => typeof name === 'string')
  const values = new Map(Object.entries(properties).map(([name, one]) => [plainKey(name), one]))
  const names = [...new Set([...first, ...values.keys()])].filter(name => values.has(name))
  return objectInOrder(
    names.map(name => {
      const one = values.get(name)
      return [name, isObject(one) ? jsonSchemaOf(one) : one]
    }),
  )
}
