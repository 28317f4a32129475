/**
 * Validates a value against a JSON Schema: the assertion keywords of draft 2020-12
 * (https://json-schema.org/draft/2020-12/json-schema-validation) and references within the schema. `format` is an
 * annotation, as in the draft.
 */
import { isObject } from './json-values.ts'
import type { Json } from './json-values.ts'

const problemsMax = 5
/** Bound on the work of one validation, in visits of a schema node; beyond it a value counts as matching. */
const stepsMax = 200_000
const depthMax = 128
/** Regular expressions come from clients and must not stall the process: only simple ones run, on short texts. */
const patternCharactersMax = 200
const matchedCharactersMax = 200
/** Bound on the characters that a backtracking engine may have to compare for one pattern (`comparisonsOf`). */
const comparisonsMax = 16_000_000
/** How much other work counts as one step: characters compared, in plain code and by the engine of patterns. */
const charactersPerStep = 32
const comparisonsPerStep = 200

/** What is wrong, at most five entries such as "`$.age` must be of type integer". Empty = the value matches. */
export function schemaProblems(schema: Json, value: unknown): string[] {
  const check = new SchemaCheck(schema)
  check.run(schema, value, '$', 0)
  return check.problems
}

/** A `$ref` that cannot be resolved within the schema; undefined = there is none. Other documents are never fetched. */
export function unknownReference(schema: Json): string | undefined {
  const references = new References(schema)
  const open: unknown[] = [schema]
  for (let steps = 0; open.length > 0 && steps < stepsMax; steps++) {
    const node = open.pop()
    if (isObject(node) && typeof node.$ref === 'string' && !isSchema(references.resolve(node.$ref))) return node.$ref
    if (typeof node === 'object' && node !== null) for (const one of Object.values(node)) open.push(one)
  }
  return undefined
}

const isSchema = (value: unknown): value is Json | boolean => typeof value === 'boolean' || isObject(value)

/** Resolves references, each once: a schema may refer to one place thousands of times. */
class References {
  readonly #root: Json
  readonly #known = new Map<string, unknown>()
  #anchors: Map<unknown, unknown> | undefined

  constructor(root: Json) {
    this.#root = root
  }

  /** A JSON pointer (RFC 6901) into the schema, or an anchor. */
  resolve(reference: string): unknown {
    if (!this.#known.has(reference)) this.#known.set(reference, this.#find(reference))
    return this.#known.get(reference)
  }

  #find(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined
    const pointer = decode(reference.slice(1))
    if (pointer !== '' && !pointer.startsWith('/')) return this.#anchored(pointer)
    let node: unknown = this.#root
    for (const step of pointer.split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
      node = (node as Json)[key]
    }
    return node
  }

  #anchored(name: string): unknown {
    const { $defs } = this.#root
    // Of equal anchors the first counts: a Map keeps the last entry, hence `reverse`.
    this.#anchors ??= new Map(
      Object.values(isObject($defs) ? $defs : {})
        .filter(isObject)
        .reverse()
        .map(one => [one.$anchor, one]),
    )
    return this.#anchors.get(name)
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

class SchemaCheck {
  readonly problems: string[] = []
  readonly #references: References
  /** Canonical texts of the members of each `enum`. */
  readonly #choices = new Map<readonly unknown[], ReadonlySet<string>>()
  /** Above 0 only whether the value matches is needed, not the texts of the problems. */
  #probes = 0
  #steps = 0

  constructor(root: Json) {
    this.#references = new References(root)
  }

  run(schema: unknown, value: unknown, path: string, depth: number): void {
    if (this.problems.length >= problemsMax || ++this.#steps > stepsMax || depth > depthMax) return
    if (schema === false) return this.#problem(path, 'must not be there')
    if (!isObject(schema)) return
    if (typeof schema.$ref === 'string') this.run(this.#references.resolve(schema.$ref), value, path, depth + 1)
    this.#values(schema, value, path)
    if (typeof value === 'number') this.#number(schema, value, path)
    else if (typeof value === 'string') this.#text(schema, value, path)
    else if (Array.isArray(value)) this.#list(schema, value, path, depth)
    else if (isObject(value)) this.#object(schema, value, path, depth)
    this.#combinations(schema, value, path, depth)
  }

  #problem(path: string, what: string | (() => string)): void {
    if (this.problems.length >= problemsMax || this.#steps > stepsMax) return
    if (this.#probes > 0) this.problems.push('')
    else this.problems.push(`\`${path}\` ${typeof what === 'string' ? what : what()}`)
  }

  /** false = the bound on the work is reached, and no further problem is reported. */
  #spend(steps: number): boolean {
    this.#steps += Math.ceil(steps)
    return this.#steps <= stepsMax
  }

  #canonical(value: unknown): string {
    const text = canonical(value)
    this.#spend(text.length / charactersPerStep)
    return text
  }

  /** Whether the pattern matches; undefined = not run, because it is too expensive or invalid. */
  #tries(pattern: string, text: string): boolean | undefined {
    if (pattern.length > patternCharactersMax || text.length > matchedCharactersMax) return undefined
    const comparisons = comparisonsOf(pattern, text.length)
    if (comparisons > comparisonsMax || !this.#spend(1 + comparisons / comparisonsPerStep)) return undefined
    return patternMatches(pattern, text)
  }

  #textsOf(choices: readonly unknown[]): ReadonlySet<string> {
    let texts = this.#choices.get(choices)
    if (!texts) this.#choices.set(choices, (texts = new Set(choices.map(one => this.#canonical(one)))))
    return texts
  }

  #matches(schema: unknown, value: unknown, depth: number): boolean {
    const found = this.problems.splice(0)
    this.#probes++
    this.run(schema, value, '$', depth + 1)
    this.#probes--
    const matches = this.problems.length === 0
    this.problems.length = 0
    this.problems.push(...found)
    return matches
  }

  #values(schema: Json, value: unknown, path: string): void {
    const { type } = schema
    const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : undefined
    if (types && !types.some(one => isOfType(value, one))) this.#problem(path, `must be of type ${types.join(' or ')}`)
    if (Array.isArray(schema.enum) && !this.#textsOf(schema.enum).has(this.#canonical(value)))
      this.#problem(path, () => `must be one of ${shown(schema.enum)}`)
    if ('const' in schema && this.#canonical(schema.const) !== this.#canonical(value))
      this.#problem(path, () => `must be ${shown(schema.const)}`)
  }

  #number(schema: Json, value: number, path: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    if (typeof minimum === 'number' && value < minimum) this.#problem(path, `must be at least ${minimum}`)
    if (typeof maximum === 'number' && value > maximum) this.#problem(path, `must be at most ${maximum}`)
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
      this.#problem(path, `must be greater than ${exclusiveMinimum}`)
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
      this.#problem(path, `must be less than ${exclusiveMaximum}`)
    if (typeof multipleOf === 'number' && multipleOf > 0) {
      // With a tolerance: in binary floating point 0.3 / 0.1 is 2.9999999999999996.
      const times = value / multipleOf
      if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
        this.#problem(path, `must be a multiple of ${multipleOf}`)
    }
  }

  #text(schema: Json, value: string, path: string): void {
    const { minLength, maxLength, pattern } = schema
    if (typeof minLength === 'number' || typeof maxLength === 'number') {
      this.#spend(value.length / charactersPerStep)
      const length = charactersIn(value)
      if (typeof minLength === 'number' && length < minLength)
        this.#problem(path, `must have at least ${minLength} characters`)
      if (typeof maxLength === 'number' && length > maxLength)
        this.#problem(path, `must have at most ${maxLength} characters`)
    }
    if (typeof pattern === 'string' && this.#tries(pattern, value) === false)
      this.#problem(path, `must match the pattern ${pattern}`)
  }

  #list(schema: Json, value: readonly unknown[], path: string, depth: number): void {
    const { minItems, maxItems, prefixItems, items, contains, minContains, maxContains } = schema
    if (typeof minItems === 'number' && value.length < minItems)
      this.#problem(path, `must have at least ${minItems} items`)
    if (typeof maxItems === 'number' && value.length > maxItems)
      this.#problem(path, `must have at most ${maxItems} items`)
    if (schema.uniqueItems === true && new Set(value.map(one => this.#canonical(one))).size < value.length)
      this.#problem(path, 'must not repeat an item')
    const heads = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const rest = Array.isArray(items) ? schema.additionalItems : items
    value.forEach((item, at) => this.run(at < heads.length ? heads[at] : rest, item, `${path}[${at}]`, depth + 1))
    if (contains === undefined) return
    const found = value.filter(item => this.#spend(1) && this.#matches(contains, item, depth)).length
    const least = typeof minContains === 'number' ? minContains : 1
    if (found < least) this.#problem(path, `must have at least ${least} items of the kind that \`contains\` says`)
    if (typeof maxContains === 'number' && found > maxContains)
      this.#problem(path, `must have at most ${maxContains} items of the kind that \`contains\` says`)
  }

  #object(schema: Json, value: Json, path: string, depth: number): void {
    const keys = Object.keys(value)
    const { minProperties, maxProperties, required, dependentRequired, dependentSchemas } = schema
    if (typeof minProperties === 'number' && keys.length < minProperties)
      this.#problem(path, `must have at least ${minProperties} properties`)
    if (typeof maxProperties === 'number' && keys.length > maxProperties)
      this.#problem(path, `must have at most ${maxProperties} properties`)
    this.#required(required, value, path)
    for (const [key, needed] of this.#entries(dependentRequired))
      if (Object.hasOwn(value, key)) this.#required(needed, value, path)
    for (const [key, dependent] of this.#entries(dependentSchemas))
      if (Object.hasOwn(value, key)) this.run(dependent, value, path, depth + 1)
    for (const key of keys) {
      if (!this.#spend(1)) return
      this.#property(schema, key, value[key], { path: `${path}.${key}`, depth: depth + 1 })
      if (schema.propertyNames !== undefined) this.run(schema.propertyNames, key, `${path}.${key}`, depth + 1)
    }
  }

  #entries(map: unknown): [string, unknown][] {
    const entries = Object.entries(isObject(map) ? map : {})
    return this.#spend(entries.length) ? entries : []
  }

  #required(names: unknown, value: Json, path: string): void {
    if (!Array.isArray(names) || !this.#spend(names.length / charactersPerStep)) return
    for (const name of names)
      if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#problem(`${path}.${name}`, 'is missing')
  }

  #property(schema: Json, key: string, value: unknown, location: { path: string; depth: number }): void {
    const { properties, patternProperties, additionalProperties } = schema
    let isKnown = false
    if (isObject(properties) && Object.hasOwn(properties, key)) {
      isKnown = true
      this.run(properties[key], value, location.path, location.depth)
    }
    for (const [pattern, one] of this.#entries(patternProperties)) {
      const matches = this.#tries(pattern, key)
      // A pattern that was not run may match this property, which then must not be reported as unknown.
      if (matches !== false) isKnown = true
      if (matches === true) this.run(one, value, location.path, location.depth)
    }
    if (!isKnown && additionalProperties === false) this.#problem(location.path, 'is not a property of the schema')
    else if (!isKnown) this.run(additionalProperties, value, location.path, location.depth)
  }

  #combinations(schema: Json, value: unknown, path: string, depth: number): void {
    const { allOf, anyOf, oneOf } = schema
    for (const one of Array.isArray(allOf) ? allOf : []) this.run(one, value, path, depth + 1)
    if (Array.isArray(anyOf) && !anyOf.some(one => !this.#spend(1) || this.#matches(one, value, depth)))
      this.#problem(path, `must match one of the ${anyOf.length} schemas of \`anyOf\``)
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter(one => this.#spend(1) && this.#matches(one, value, depth)).length
      if (count !== 1)
        this.#problem(path, `must match exactly one of the ${oneOf.length} schemas of \`oneOf\`, and matches ${count}`)
    }
    if (schema.not !== undefined && this.#matches(schema.not, value, depth))
      this.#problem(path, 'must not match the schema of `not`')
    if (schema.if === undefined) return
    this.run(this.#matches(schema.if, value, depth) ? schema.then : schema.else, value, path, depth + 1)
  }
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
    default:
      return typeof value === type
  }
}

/** JSON text with sorted keys: equal values have equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text
}

/** The number of code points, counted without allocating an array. */
function charactersIn(text: string): number {
  let count = 0
  for (const _character of text) count++
  return count
}

/**
 * Estimates how many characters a backtracking engine may compare on a text of this length; Infinity = not estimated
 * (repeated groups, back references, lookaround). Each optional part or alternative doubles the paths through the
 * pattern, each unbounded repetition may take any length, and a pattern without `^` may start at any position. On each
 * path every part may be compared, those with a fixed count as often as that.
 */
function comparisonsOf(pattern: string, textLength: number): number {
  const plain = pattern.replace(/\\[^1-9k]/g, 'x').replace(/\[[^\]]*\]/g, 'x')
  if (/\)[*+?{]|\\[1-9k]|\(\?<?[=!]/.test(plain)) return Infinity
  const repeated = (plain.match(/[*+]|\{\d*,/g) ?? []).length + (plain.startsWith('^') ? 0 : 1)
  const optional = (plain.match(/(?<!\()\?|\|/g) ?? []).length
  let comparisons = plain.length
  for (const [, times] of plain.matchAll(/\{(\d+)/g)) comparisons += Math.min(Number(times), textLength)
  comparisons *= 2 ** optional
  for (let at = 1; at <= repeated; at++) comparisons *= (textLength + at) / at
  return comparisons
}

/** Undefined = not a valid pattern: ignored, like one that is too expensive. */
function patternMatches(pattern: string, text: string): boolean | undefined {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return undefined
  }
}
