/** The smallest value that a JSON Schema allows, so that simulated tool calls and structured output are valid. */

type Json = Record<string, unknown>
const depthMax = 8

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Deterministic. `root` resolves `$ref`s of the form `#/$defs/Name`. */
export function synthesise(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > depthMax) return {}
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  if (typeof schema.$ref === 'string') return synthesise(resolve(schema.$ref, root), root, depth + 1)
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const options = schema[word]
    if (Array.isArray(options) && options.length > 0)
      return word === 'allOf'
        ? options.reduce((all: unknown, one) => merged(all, synthesise(one, root, depth + 1)), {})
        : synthesise(options[0], root, depth + 1)
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? (schema.properties ? 'object' : 'string'))
  switch (type) {
    case 'object':
      return object(schema, root, depth)
    case 'array':
      return Array.from({ length: Math.min(count(schema.minItems, 0), 10) }, () => synthesise(schema.items, root, depth + 1))
    case 'integer':
      return Math.ceil(number(schema))
    case 'number':
      return number(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return text(schema)
  }
}

function object(schema: Json, root: unknown, depth: number): Json {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : Object.keys(properties)
  return Object.fromEntries(required.map(name => [name, synthesise(properties[name], root, depth + 1)]))
}

function text(schema: Json): string {
  if (schema.format === 'date') return '2026-01-01'
  if (schema.format === 'date-time') return '2026-01-01T00:00:00Z'
  if (schema.format === 'email') return 'simulated@example.com'
  if (schema.format === 'uri') return 'https://example.com/'
  if (schema.format === 'uuid') return '00000000-0000-4000-8000-000000000000'
  return 'simulated'.padEnd(count(schema.minLength, 0), '.').slice(0, count(schema.maxLength, 1000))
}

function number(schema: Json): number {
  const least = typeof schema.minimum === 'number' ? schema.minimum : typeof schema.exclusiveMinimum === 'number' ? schema.exclusiveMinimum + 1 : 1
  return typeof schema.maximum === 'number' ? Math.min(least, schema.maximum) : least
}

const count = (value: unknown, otherwise: number): number => (typeof value === 'number' ? Math.min(value, 1000) : otherwise)

function resolve(reference: string, root: unknown): unknown {
  let at: unknown = root
  for (const part of reference.replace(/^#\/?/, '').split('/').filter(Boolean))
    at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
  return at
}

function merged(one: unknown, other: unknown): unknown {
  return isObject(one) && isObject(other) ? { ...one, ...other } : other
}
