/**
 * Makes a small value for a JSON Schema, for simulated tool calls and structured output. `pattern`, `multipleOf`,
 * `exclusiveMaximum`, `not` and conditions are not considered, so a schema with them may not match the value.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { LocalRefusal } from './refusal.ts'

/** Bounds on the value: a small recursive schema could otherwise fill the memory. */
const nodesMax = 2000
const charactersMax = 16 * 1024
const depthMax = 64
/** From this depth on optional properties are left out and scalar alternatives preferred, so that recursion ends. */
const depthOfOptions = 4
const referenceLengthMax = 1000
const alternativesMax = 100

/** Deterministic. Throws LocalRefusal where the value would exceed the bounds above. */
export function synthesise(schema: unknown): unknown {
  return new Synthesis(schema).value(schema, 0)
}

class Synthesis {
  readonly #root: unknown
  #nodes = 0
  #characters = 0

  /** `root` resolves `$ref`s of the form `#/$defs/Name`. */
  constructor(root: unknown) {
    this.#root = root
  }

  value(schema: unknown, depth: number): unknown {
    if (++this.#nodes > nodesMax || depth > depthMax) throw tooLarge()
    if (!isObject(schema)) return {}
    for (const keyword of ['const', 'default']) if (Object.hasOwn(schema, keyword)) return this.#given(schema[keyword])
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return this.#given(schema.enum[0])
    if (typeof schema.$ref === 'string') return this.value(this.#resolve(schema.$ref), depth + 1)
    if (Array.isArray(schema.allOf) && schema.allOf.length > 0) return this.#all(schema.allOf, depth)
    for (const keyword of ['anyOf', 'oneOf']) {
      const options = schema[keyword]
      if (Array.isArray(options) && options.length > 0) return this.value(this.#choose(options, depth), depth + 1)
    }
    return this.#ofType(schema, depth)
  }

  #ofType(schema: Json, depth: number): unknown {
    const type = Array.isArray(schema.type)
      ? schema.type[0]
      : (schema.type ?? (schema.properties ? 'object' : 'string'))
    switch (type) {
      case 'object':
        return this.#object(schema, depth)
      case 'array':
        return Array.from({ length: Math.min(count(schema.minItems, 0), 10) }, () =>
          this.value(schema.items, depth + 1),
        )
      case 'integer':
        return Math.ceil(number(schema))
      case 'number':
        return number(schema)
      case 'boolean':
        return true
      case 'null':
        return null
      default:
        return this.#counted(text(schema))
    }
  }

  #object(schema: Json, depth: number): Json {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const required = Array.isArray(schema.required) ? schema.required.filter(one => typeof one === 'string') : undefined
    const names = required ?? (depth < depthOfOptions ? Object.keys(properties) : [])
    if (names.length > nodesMax) throw tooLarge()
    return Object.fromEntries(
      names.map(name => [
        this.#counted(name),
        this.value(Object.hasOwn(properties, name) ? properties[name] : {}, depth + 1),
      ]),
    )
  }

  #all(options: readonly unknown[], depth: number): unknown {
    if (options.length > alternativesMax) throw tooLarge()
    return options.reduce((all: unknown, one) => merged(all, this.value(one, depth + 1)), {})
  }

  /** The first alternative; from `depthOfOptions` on, the first scalar one. */
  #choose(options: readonly unknown[], depth: number): unknown {
    if (depth < depthOfOptions) return options[0]
    return options.slice(0, alternativesMax).find(isLeaf) ?? options[0]
  }

  #given(value: unknown): unknown {
    this.#spend(typeof value === 'object' ? (JSON.stringify(value) ?? '').length : String(value).length)
    return value
  }

  #counted(text: string): string {
    this.#spend(text.length)
    return text
  }

  #spend(characters: number): void {
    this.#characters += characters
    if (this.#characters > charactersMax) throw tooLarge()
  }

  #resolve(reference: string): unknown {
    if (reference.length > referenceLengthMax) throw tooLarge()
    let at: unknown = this.#root
    for (const part of reference.replace(/^#\/?/, '').split('/').filter(Boolean))
      at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
    return at
  }
}

function tooLarge(): LocalRefusal {
  return new LocalRefusal(
    'schema',
    `the built-in model writes values of at most ${nodesMax} parts and ${charactersMax} characters, and the smallest ` +
      'value of this JSON schema is larger or has no end; use a smaller schema, or a real model',
  )
}

function isLeaf(schema: unknown): boolean {
  if (!isObject(schema)) return false
  if ('const' in schema || 'enum' in schema) return true
  return ['null', 'string', 'integer', 'number', 'boolean'].includes(schema.type as string)
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
  const least =
    typeof schema.minimum === 'number'
      ? schema.minimum
      : typeof schema.exclusiveMinimum === 'number'
        ? schema.exclusiveMinimum + 1
        : 1
  return typeof schema.maximum === 'number' ? Math.min(least, schema.maximum) : least
}

const count = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), 1000) : otherwise

function merged(one: unknown, other: unknown): unknown {
  return isObject(one) && isObject(other) ? { ...one, ...other } : other
}
