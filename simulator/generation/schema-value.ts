/** Generates a value that is valid against a JSON Schema, for tool arguments and structured output. */

type Schema = Record<string, unknown>

interface Context {
  readonly root: Schema
  readonly random: () => number
}

/** Limit for recursive schemas: deeper, optional properties and items are left out. */
const depthMax = 6
/** Limit for required properties: a schema that recurses through them has no finite value. */
const depthLimit = 40

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

/** Resolves `#/...` inside the document; other references accept anything. */
function dereference(reference: string, root: Schema): unknown {
  let node: unknown = root
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    node = isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined
  }
  return node
}

/** Merges `$ref` and `allOf` into one schema. */
function flatten(schema: Schema, context: Context, depth: number): Schema {
  if (depth > depthLimit) return {}
  let flat: Schema = { ...schema }
  if (typeof schema.$ref === 'string') {
    const target = dereference(schema.$ref, context.root)
    flat = { ...(isObject(target) ? flatten(target, context, depth + 1) : {}), ...flat }
    delete flat.$ref
  }
  for (const part of listOf(schema.allOf)) {
    if (!isObject(part)) continue
    const more = flatten(part, context, depth + 1)
    const properties = { ...(flat.properties as Schema), ...(more.properties as Schema) }
    flat = { ...flat, ...more, properties, required: [...listOf(flat.required), ...listOf(more.required)] }
  }
  return flat
}

function typeOf(schema: Schema): string {
  const named = Array.isArray(schema.type) ? (schema.type.find(type => type !== 'null') ?? 'null') : schema.type
  if (typeof named === 'string') return named
  if (isObject(schema.properties)) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number'
  return 'string'
}

const formats: Record<string, string> = {
  date: '2025-01-31',
  'date-time': '2025-01-31T12:00:00Z',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/a',
  url: 'https://example.com/a',
  uuid: '6ba7b810-9dad-41d1-80b4-00c04fd430c8',
}

const names = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heron']

function textFor(schema: Schema, context: Context): string {
  if (typeof schema.format === 'string' && Object.hasOwn(formats, schema.format)) return formats[schema.format]!
  const text = names[Math.floor(context.random() * names.length)]!
  const atLeast = text.padEnd(Math.min(numberOf(schema.minLength, 0), 100_000), 'x')
  return atLeast.slice(0, Math.max(numberOf(schema.maxLength, atLeast.length), 0))
}

function numberFor(schema: Schema, context: Context, isInteger: boolean): number {
  const step = numberOf(schema.multipleOf, isInteger ? 1 : 0.5)
  const above = numberOf(schema.exclusiveMinimum, -Infinity)
  const below = numberOf(schema.exclusiveMaximum, Infinity)
  const lowest = Math.max(numberOf(schema.minimum, -Infinity), above)
  const highest = Math.min(numberOf(schema.maximum, Infinity), below)
  const start = lowest === -Infinity ? (highest === Infinity ? 0 : highest - 10 * step) : lowest
  let value = Math.ceil((start + Math.floor(context.random() * 10) * step) / step) * step
  if (value > highest || value >= below) value = Math.ceil(start / step) * step
  if (value <= above) value += step
  return value > highest || value >= below ? (start + highest) / 2 : value
}

function objectFor(schema: Schema, context: Context, depth: number): Schema {
  const made: [string, unknown][] = []
  const required = new Set(listOf(schema.required))
  const properties = isObject(schema.properties) ? schema.properties : {}
  for (const [name, property] of Object.entries(properties))
    if (required.has(name) || depth < depthMax) made.push([name, valueFor(property, context, depth + 1)])
  for (const name of required)
    if (typeof name === 'string' && !Object.hasOwn(properties, name))
      made.push([name, valueFor(schema.additionalProperties, context, depth + 1)])
  return Object.fromEntries(made)
}

function arrayFor(schema: Schema, context: Context, depth: number): unknown[] {
  const first = listOf(schema.prefixItems).map(item => valueFor(item, context, depth + 1))
  const wanted = depth < depthMax ? Math.min(1, numberOf(schema.maxItems, 1)) : 0
  const length = Math.max(numberOf(schema.minItems, 0), schema.items === false ? 0 : wanted)
  for (let at = first.length; at < Math.min(length, 1000); at++) first.push(valueFor(schema.items, context, depth + 1))
  return first
}

function valueFor(given: unknown, context: Context, depth: number): unknown {
  if (!isObject(given) || depth > depthLimit) return textFor({}, context)
  const schema = flatten(given, context, 0)
  if (Object.hasOwn(schema, 'const')) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0)
    return schema.enum[Math.floor(context.random() * schema.enum.length)]
  const options = [...listOf(schema.anyOf), ...listOf(schema.oneOf)]
  if (options.length > 0) {
    const { anyOf: _any, oneOf: _one, ...shared } = schema
    const isNull = (option: unknown) => isObject(option) && option.type === 'null'
    const option = depth >= depthMax ? (options.find(isNull) ?? options.at(-1)) : options.find(one => !isNull(one))
    return valueFor(isObject(option) ? { ...shared, ...option } : options[0], context, depth + 1)
  }
  const type = typeOf(schema)
  if (type === 'object') return objectFor(schema, context, depth)
  if (type === 'array') return arrayFor(schema, context, depth)
  if (type === 'integer' || type === 'number') return numberFor(schema, context, type === 'integer')
  if (type === 'boolean') return context.random() < 0.5
  return type === 'null' ? null : textFor(schema, context)
}

/**
 * A value valid against `schema`, chosen by `random`. `pattern`, `not`, `if` and `dependent*` are not evaluated. A
 * schema that is missing or not an object gives an empty object, as models call tools without parameters.
 */
export function sampleValue(schema: unknown, random: () => number): unknown {
  return isObject(schema) ? valueFor(schema, { root: schema, random }, 0) : {}
}
