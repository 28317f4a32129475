/**
 * The subset of JSON Schema that Claude's structured outputs take: objects need `additionalProperties: false`, and
 * keywords that bound values are refused with 400 (docs.claude.com, "Structured outputs", "JSON Schema limitations").
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { ExactNumber, plainKey } from '../../lib/json/exact-json.ts'

interface OutputSchema {
  readonly schema: Json
  /** Keywords that constrain values and were removed, so that they are not enforced. */
  readonly lost: readonly string[]
}

/** Keywords that do not constrain values and are removed without a report. */
const annotations: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
])
const kept: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'enum',
  'const',
  'default',
  'required',
  '$ref',
])
const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

/** A copy of the schema; the given one is not changed. Bedrock takes the same subset. */
export function outputSchema(schema: Json): OutputSchema {
  const lost = new Set<string>()
  return { schema: clean(schema, lost), lost: [...lost] }
}

function clean(value: unknown, lost: Set<string>): Json {
  if (!isObject(value)) return {}
  const out: Json = {}
  for (const [key, one] of Object.entries(value)) {
    if (kept.has(key)) out[key] = one
    else if (key === 'properties' || key === '$defs' || key === 'definitions') out[key] = mapOf(one, lost)
    else if (key === 'items' && isObject(one)) out.items = clean(one, lost)
    else if (key === 'anyOf' || key === 'oneOf' || key === 'allOf')
      out[key === 'oneOf' ? 'anyOf' : key] = listOf(one, lost)
    else if ((key === 'minItems' && isAtMostOne(one)) || (key === 'format' && formats.has(one))) out[key] = one
    // Set below for all objects; only a schema for further properties is lost.
    else if (key === 'additionalProperties') isObject(one) && lost.add(key)
    else if (!annotations.has(key)) lost.add(plainKey(key))
  }
  const { type } = value
  if (type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(value.properties))
    out.additionalProperties = false
  return out
}

const isAtMostOne = (count: unknown): boolean => {
  const number = count instanceof ExactNumber ? count.valueOf() : count
  return number === 0 || number === 1
}

const listOf = (value: unknown, lost: Set<string>): Json[] =>
  Array.isArray(value) ? value.map(one => clean(one, lost)) : []

function mapOf(value: unknown, lost: Set<string>): Json {
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, lost)])) : {}
}
