/**
 * JSON Schema for Gemini. Models from 2.5 on take a subset of JSON Schema (`responseJsonSchema`,
 * `parametersJsonSchema`); older ones take OpenAPI 3.0 schemas (`responseSchema`, `parameters`) without references.
 * Source: ai.google.dev/api/generate-content, "GenerationConfig", and ai.google.dev/api/caching, "Schema".
 */
import { GatewayError } from '../../core/errors.ts'
import { isObject, listOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { plainKey } from '../../lib/json/exact-json.ts'

const nodesMax = 2000
const depthMax = 32
/** Keywords and list entries (`enum`, `required`, ...) of all visited nodes. */
const entriesMax = 100_000

/** A copy in the form that Gemini takes; the given schema is not changed. */
export interface CleanSchema {
  readonly schema: Json
  /** Keywords that constrain values but are unknown to Gemini; reported as dropped. */
  readonly lost: readonly string[]
}

/** Keywords that may be removed without a report: they do not constrain values, or Gemini enforces them anyway. */
const annotations: ReadonlySet<string> = new Set([
  '$schema',
  '$comment',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'title',
  'strict',
  'additionalProperties',
  '$id',
  '$anchor',
  'discriminator',
])
const plainKeywords: ReadonlySet<string> = new Set([
  '$id',
  '$anchor',
  'type',
  'format',
  'title',
  'description',
  'enum',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'required',
  'propertyOrdering',
])

/** The subset of JSON Schema that Gemini 2.5 and later read. */
export function jsonSchema(schema: Json): CleanSchema {
  const lost = new Set<string>()
  return { schema: subset(schema, lost), lost: [...lost] }
}

function subset(value: unknown, lost: Set<string>): Json {
  if (!isObject(value)) return {}
  // With `$ref` no other keyword is allowed, except `$defs`.
  if (typeof value.$ref === 'string')
    return { $ref: value.$ref.replace(/^#\/definitions\//, '#/$defs/'), ...definitions(value, lost) }
  const out: Json = {}
  for (const [key, one] of Object.entries(value)) {
    if (plainKeywords.has(key)) out[key] = one
    else if (key === 'properties') out.properties = mapOf(one, lost)
    else if (key === 'items' && !Array.isArray(one)) out.items = subset(one, lost)
    else if (key === 'anyOf' || key === 'oneOf' || key === 'prefixItems')
      out[key] = listOf(one).map(each => subset(each, lost))
    // Before draft 2020-12, a list in `items` described a tuple.
    else if (key === 'items') out.prefixItems = listOf(one).map(each => subset(each, lost))
    else if (key === 'additionalProperties') out[key] = isObject(one) ? subset(one, lost) : one
    else if (key === 'const') out.enum = [one]
    else if (key !== 'allOf' && key !== '$defs' && key !== 'definitions' && !annotations.has(key))
      lost.add(plainKey(key))
  }
  const all = objectsOf(value.allOf).map(each => subset(each, lost))
  return { ...merged(out, all), ...definitions(value, lost) }
}

function definitions(schema: Json, lost: Set<string>): Json {
  const all = { ...mapOf(schema.definitions, lost), ...mapOf(schema.$defs, lost) }
  return Object.keys(all).length > 0 ? { $defs: all } : {}
}

function mapOf(value: unknown, lost: Set<string>): Json {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, subset(one, lost)]))
    : {}
}

/** Merges `allOf` into one schema: the union of properties and required fields; of other keywords the first counts. */
function merged(base: Json, all: readonly Json[]): Json {
  if (all.length === 0) return base
  // In place: a copy per part would take quadratic time with thousands of parts.
  const out = new Map(Object.entries(base))
  const properties = new Map<string, unknown>()
  const lists = new Map<string, Set<unknown>>()
  for (const one of [base, ...all])
    for (const [key, value] of Object.entries(one)) {
      if (key === 'properties' && isObject(value)) addMissing(properties, value)
      else if ((key === 'required' || key === 'propertyOrdering') && Array.isArray(value)) {
        const list = lists.get(key) ?? new Set()
        for (const name of value) list.add(name)
        lists.set(key, list)
      }
      if (!out.has(key)) out.set(key, value)
    }
  if (isObject(out.get('properties'))) out.set('properties', Object.fromEntries(properties))
  for (const [key, names] of lists) if (Array.isArray(out.get(key))) out.set(key, [...names])
  return Object.fromEntries(out)
}

function addMissing(into: Map<string, unknown>, values: Json): void {
  for (const [name, value] of Object.entries(values)) if (!into.has(name)) into.set(name, value)
}

interface SchemaWalk {
  readonly root: Json
  readonly lost: Set<string>
  /** For the error message and its `param`. */
  readonly where: string
  nodes: number
  /** Keywords and list entries visited so far, repeated visits included. */
  entries: number
}

const formats: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<readonly string[]>({
    STRING: ['enum', 'date-time'],
    NUMBER: ['float', 'double'],
    INTEGER: ['int32', 'int64'],
  }),
)
const openapiKeywords = [
  'description',
  'title',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
] as const
const handled: ReadonlySet<string> = new Set([
  ...openapiKeywords,
  'type',
  'properties',
  'required',
  'items',
  'enum',
  'const',
  'format',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  '$defs',
  'definitions',
  'nullable',
  'propertyOrdering',
  'minProperties',
  'maxProperties',
])

/** An OpenAPI 3.0 schema for older models. Throws `invalid-request` where expanding references makes it too large. */
export function openapiSchema(schema: Json, where: string): CleanSchema {
  const walk: SchemaWalk = { root: schema, lost: new Set(), where, nodes: 0, entries: 0 }
  const out = openapi(schema, walk, [])
  return { schema: out, lost: [...walk.lost] }
}

/** `trail` = the references followed so far; a circular one is replaced by an object without properties. */
function openapi(value: unknown, walk: SchemaWalk, trail: readonly string[], depth = 0): Json {
  walk.entries += entriesIn(value)
  if (++walk.nodes > nodesMax || walk.entries > entriesMax || depth > depthMax)
    throw new GatewayError(
      'invalid-request',
      `the JSON schema in ${walk.where} is too large for this model once its $refs are written out; ` +
        `keep it under ${nodesMax} parts and ${depthMax} levels, or use a Gemini model from 2.5 on`,
      { param: walk.where },
    )
  if (!isObject(value)) return {}
  if (typeof value.$ref === 'string') {
    const found = trail.includes(value.$ref) ? undefined : resolved(value.$ref, walk.root)
    if (found) return openapi(found, walk, [...trail, value.$ref], depth + 1)
    walk.lost.add('$ref')
    return { type: 'OBJECT', ...(textOf(value.description) && { description: value.description }) }
  }
  const below = (one: unknown) => openapi(one, walk, trail, depth + 1)
  for (const key of Object.keys(value)) if (!handled.has(key) && !annotations.has(key)) walk.lost.add(plainKey(key))
  // `additionalProperties: false` is what Gemini does anyway; a schema for free names cannot be expressed.
  if (isObject(value.additionalProperties)) walk.lost.add('additionalProperties')
  const out: Json = {}
  for (const key of openapiKeywords) if (value[key] !== undefined) out[key] = value[key]
  typeOf(value, out, below)
  if (out.type === 'ARRAY') out.items = isObject(value.items) ? below(value.items) : { type: 'STRING' }
  if (isObject(value.properties)) objectOf(value, out, below)
  enumOf(value, out, walk.lost)
  if (formats.get(textOf(out.type))?.includes(textOf(value.format))) out.format = value.format
  else if (value.format !== undefined) walk.lost.add('format')
  return merged(withAlternatives(value, out, below), objectsOf(value.allOf).map(below))
}

function entriesIn(value: unknown): number {
  if (!isObject(value)) return 0
  const lists = [value.enum, value.type, value.required, value.anyOf, value.oneOf, value.allOf]
  return lists.reduce<number>((sum, list) => sum + listOf(list).length, Object.keys(value).length)
}

function resolved(pointer: string, root: Json): unknown {
  if (pointer === '#') return root
  if (!pointer.startsWith('#/')) return undefined
  let at: unknown = root
  for (const step of pointer.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at
}

function typeOf(value: Json, out: Json, below: (one: unknown) => Json): void {
  const types = (Array.isArray(value.type) ? value.type : [value.type]).filter(one => typeof one === 'string')
  const real = types.filter(type => type !== 'null')
  if (real.length < types.length || value.nullable === true) out.nullable = true
  if (real.length > 1)
    out.anyOf = real.map(type => below({ ...value, type, nullable: undefined, description: undefined }))
  else if (real.length === 1) out.type = real[0]!.toUpperCase()
  else if (isObject(value.properties)) out.type = 'OBJECT'
  else if (value.items !== undefined) out.type = 'ARRAY'
}

function objectOf(value: Json, out: Json, below: (one: unknown) => Json): void {
  if (out.anyOf !== undefined) return
  const properties = Object.fromEntries(
    Object.entries(value.properties as Json).map(([name, one]) => [name, below(one)]),
  )
  const names = Object.keys(properties).map(plainKey)
  if (names.length === 0) return
  out.properties = properties
  out.propertyOrdering = names
  // Gemini refuses `required` names that are not properties.
  const required = listOf(value.required).filter(name => names.includes(textOf(name)))
  if (required.length > 0) out.required = required
}

/** `enum` and `const`: in Gemini's OpenAPI schemas only strings are allowed. */
function enumOf(value: Json, out: Json, lost: Set<string>): void {
  const choices = value.const !== undefined ? [value.const] : value.enum
  if (!Array.isArray(choices)) return
  const texts = choices.filter(one => typeof one === 'string')
  if (choices.includes(null)) out.nullable = true
  if (texts.length === 0 || texts.length < choices.filter(one => one !== null).length)
    lost.add(value.const !== undefined ? 'const' : 'enum')
  else {
    out.type ??= 'STRING'
    out.enum = texts
  }
}

/** `anyOf` and `oneOf`; the alternative of type null becomes `nullable`. */
function withAlternatives(value: Json, out: Json, below: (one: unknown) => Json): Json {
  const alternatives = [...objectsOf(value.anyOf), ...objectsOf(value.oneOf)]
  if (alternatives.length === 0) return out
  const real = alternatives.filter(one => one.type !== 'null')
  if (real.length < alternatives.length) out.nullable = true
  const clean = real.map(below)
  if (clean.length === 1) return { ...clean[0], ...out }
  return clean.length === 0 ? out : { ...out, anyOf: clean }
}
