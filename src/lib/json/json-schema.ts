/**
 * Validates a value against a JSON Schema: the assertion keywords of draft 2020-12
 * (https://json-schema.org/draft/2020-12/json-schema-validation), `dependencies` of the drafts before, and references
 * within the schema. `format` is an annotation, as in the draft. What of a schema cannot be checked,
 * `json-schema-faults.ts` says before.
 */
import { isObject } from './json-values.ts'
import type { Json } from './json-values.ts'
import { schemaPattern, schemaReferences } from './json-schema-parts.ts'
import type { SchemaPattern, SchemaReferences } from './json-schema-parts.ts'

const problemsMax = 5
/** Bound on the work of one validation, in visits of a schema node. */
const stepsMax = 200_000
const depthMax = 128
/** How much other work counts as one step: characters compared, and read by patterns. */
const charactersPerStep = 32
/** How much a pattern costs beside its length, for each check that uses it: it may have to be compiled. */
const patternSteps = 400

/**
 * What is wrong, at most five entries such as "`$.age` must be of type integer". Empty = the value matches. A value
 * that takes too much work to check does not match.
 */
export function schemaProblems(schema: Json, value: unknown): string[] {
  const check = new SchemaCheck(schema)
  try {
    check.run(schema, value, { path: '$', depth: 0, seen: undefined })
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    return check.problems.length > 0 && !check.isProbing ? check.problems : ['`$` takes too much work to check']
  }
  return check.problems
}

class TooMuchWork extends Error {}

/** Which properties and items some schema has looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
class Seen {
  readonly names = new Set<string>()
  readonly items = new Set<number>()

  add({ names, items }: Seen): void {
    for (const name of names) this.names.add(name)
    for (const item of items) this.items.add(item)
  }
}

/** Where a value stands. `seen` is undefined where no schema around it asks. */
interface Place {
  readonly path: string
  readonly depth: number
  readonly seen: Seen | undefined
}

class SchemaCheck {
  readonly problems: string[] = []
  readonly #references: SchemaReferences
  /** Canonical texts of the members of each `enum`. */
  readonly #choices = new Map<readonly unknown[], ReadonlySet<string>>()
  readonly #patterns = new Map<string, SchemaPattern>()
  /** Above 0 only whether the value matches is needed, not the texts of the problems. */
  #probes = 0
  #steps = 0

  constructor(root: Json) {
    this.#references = schemaReferences(root)
  }

  get isProbing(): boolean {
    return this.#probes > 0
  }

  run(schema: unknown, value: unknown, place: Place): void {
    if (this.problems.length >= problemsMax) return
    this.#spend(1)
    if (place.depth > depthMax) throw new TooMuchWork()
    if (schema === false) return this.#problem(place.path, 'must not be there')
    if (!isObject(schema)) return
    const asks = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
    // What others have seen of the value does not count for this schema, but what it has seen does for them.
    const own = asks ? { ...place, seen: new Seen() } : place
    if (typeof schema.$ref === 'string') this.run(this.#references.resolve(schema.$ref), value, deeper(own))
    this.#values(schema, value, own.path)
    if (typeof value === 'number') this.#number(schema, value, own.path)
    else if (typeof value === 'string') this.#text(schema, value, own.path)
    else if (Array.isArray(value)) this.#list(schema, value, own)
    else if (isObject(value)) this.#object(schema, value, own)
    this.#combinations(schema, value, own)
    if (asks) this.#unevaluated(schema, value, own)
    if (own !== place) place.seen?.add(own.seen!)
  }

  #problem(path: string, what: string | (() => string)): void {
    if (this.problems.length >= problemsMax) return
    if (this.#probes > 0) this.problems.push('')
    else this.problems.push(`\`${path}\` ${typeof what === 'string' ? what : what()}`)
  }

  /** Throws where the bound on the work is reached. */
  #spend(steps: number): void {
    this.#steps += Math.ceil(steps)
    if (this.#steps > stepsMax) throw new TooMuchWork()
  }

  #canonical(value: unknown): string {
    const text = canonical(value)
    this.#spend(text.length / charactersPerStep)
    return text
  }

  /** Whether the pattern matches; undefined = it is one that cannot be run, which was said before. */
  #fits(pattern: string, text: string): boolean | undefined {
    this.#spend(1 + text.length / charactersPerStep)
    const compiled = this.#compiled(pattern)
    if ('fault' in compiled) return undefined
    const fits = compiled.test(text)
    if (fits === undefined) throw new TooMuchWork()
    return fits
  }

  #compiled(pattern: string): SchemaPattern {
    let compiled = this.#patterns.get(pattern)
    if (!compiled) {
      this.#spend(patternSteps + pattern.length)
      this.#patterns.set(pattern, (compiled = schemaPattern(pattern)))
    }
    return compiled
  }

  #textsOf(choices: readonly unknown[]): ReadonlySet<string> {
    let texts = this.#choices.get(choices)
    if (!texts) this.#choices.set(choices, (texts = new Set(choices.map(one => this.#canonical(one)))))
    return texts
  }

  /** What a schema that does not match has seen does not count. */
  #matches(schema: unknown, value: unknown, { depth, seen }: Place): boolean {
    const found = this.problems.splice(0)
    const own = seen && new Seen()
    this.#probes++
    this.run(schema, value, { path: '$', depth: depth + 1, seen: own })
    this.#probes--
    const matches = this.problems.length === 0
    this.problems.length = 0
    this.problems.push(...found)
    if (matches && own) seen.add(own)
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
      const isMultiple = Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
      // So many times that the number of them has no digits behind the point any more: the rest says it exactly.
      if (Number.isFinite(times) ? !isMultiple : value % multipleOf !== 0)
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
    if (typeof pattern === 'string' && this.#fits(pattern, value) === false)
      this.#problem(path, `must match the pattern ${pattern}`)
  }

  #list(schema: Json, value: readonly unknown[], place: Place): void {
    const { path, seen } = place
    const { minItems, maxItems, prefixItems, items, contains, minContains, maxContains } = schema
    if (typeof minItems === 'number' && value.length < minItems)
      this.#problem(path, `must have at least ${minItems} items`)
    if (typeof maxItems === 'number' && value.length > maxItems)
      this.#problem(path, `must have at most ${maxItems} items`)
    if (schema.uniqueItems === true && new Set(value.map(one => this.#canonical(one))).size < value.length)
      this.#problem(path, 'must not repeat an item')
    const heads = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const rest = Array.isArray(items) ? schema.additionalItems : items
    for (const [at, item] of value.entries()) {
      const one = at < heads.length ? heads[at] : rest
      if (one === undefined) continue
      seen?.items.add(at)
      this.run(one, item, inside(place, `[${at}]`))
    }
    if (contains === undefined) return
    let found = 0
    for (const [at, item] of value.entries())
      if (this.#matches(contains, item, inside(place, `[${at}]`))) {
        found++
        seen?.items.add(at)
      }
    const least = typeof minContains === 'number' ? minContains : 1
    if (found < least) this.#problem(path, `must have at least ${least} items of the kind that \`contains\` says`)
    if (typeof maxContains === 'number' && found > maxContains)
      this.#problem(path, `must have at most ${maxContains} items of the kind that \`contains\` says`)
  }

  #object(schema: Json, value: Json, place: Place): void {
    const { path } = place
    const keys = Object.keys(value)
    const { minProperties, maxProperties, required, dependentRequired, dependentSchemas, dependencies } = schema
    if (typeof minProperties === 'number' && keys.length < minProperties)
      this.#problem(path, `must have at least ${minProperties} properties`)
    if (typeof maxProperties === 'number' && keys.length > maxProperties)
      this.#problem(path, `must have at most ${maxProperties} properties`)
    this.#required(required, value, path)
    for (const [key, needed] of this.#entries(dependentRequired))
      if (Object.hasOwn(value, key)) this.#required(needed, value, path)
    for (const [key, dependent] of this.#entries(dependentSchemas))
      if (Object.hasOwn(value, key)) this.run(dependent, value, deeper(place))
    for (const [key, one] of this.#entries(dependencies))
      if (!Object.hasOwn(value, key)) continue
      else if (Array.isArray(one)) this.#required(one, value, path)
      else this.run(one, value, deeper(place))
    for (const key of keys) {
      this.#spend(1)
      this.#property(schema, key, value[key], place)
      if (schema.propertyNames !== undefined) this.run(schema.propertyNames, key, inside(place, `.${key}`))
    }
  }

  #entries(map: unknown): [string, unknown][] {
    const entries = Object.entries(isObject(map) ? map : {})
    this.#spend(entries.length)
    return entries
  }

  #required(names: unknown, value: Json, path: string): void {
    if (!Array.isArray(names)) return
    this.#spend(names.length / charactersPerStep)
    for (const name of names)
      if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#problem(`${path}.${name}`, 'is missing')
  }

  #property(schema: Json, key: string, value: unknown, place: Place): void {
    const { properties, patternProperties, additionalProperties } = schema
    const location = inside(place, `.${key}`)
    let isKnown = false
    if (isObject(properties) && Object.hasOwn(properties, key)) {
      isKnown = true
      this.run(properties[key], value, location)
    }
    for (const [pattern, one] of this.#entries(patternProperties)) {
      const fits = this.#fits(pattern, key)
      // A pattern that cannot be run may match this property, which then must not be reported as unknown.
      if (fits !== false) isKnown = true
      if (fits === true) this.run(one, value, location)
    }
    if (isKnown || additionalProperties !== undefined) place.seen?.names.add(key)
    if (isKnown) return
    if (additionalProperties === false) this.#problem(location.path, 'is not a property of the schema')
    else this.run(additionalProperties, value, location)
  }

  #combinations(schema: Json, value: unknown, place: Place): void {
    const { allOf, anyOf, oneOf } = schema
    const { path, seen } = place
    for (const one of Array.isArray(allOf) ? allOf : []) this.run(one, value, deeper(place))
    if (Array.isArray(anyOf)) {
      // All that match have seen something; otherwise the first one is enough.
      const matching = seen
        ? anyOf.filter(one => this.#matches(one, value, place)).length > 0
        : anyOf.some(one => this.#matches(one, value, place))
      if (!matching) this.#problem(path, `must match one of the ${anyOf.length} schemas of \`anyOf\``)
    }
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter(one => this.#matches(one, value, place)).length
      if (count !== 1)
        this.#problem(path, `must match exactly one of the ${oneOf.length} schemas of \`oneOf\`, and matches ${count}`)
    }
    if (schema.not !== undefined && this.#matches(schema.not, value, { ...place, seen: undefined }))
      this.#problem(path, 'must not match the schema of `not`')
    if (schema.if === undefined) return
    this.run(this.#matches(schema.if, value, place) ? schema.then : schema.else, value, deeper(place))
  }

  /** After all others: what none of them has looked at. */
  #unevaluated({ unevaluatedItems, unevaluatedProperties }: Json, value: unknown, place: Place): void {
    const { names, items } = place.seen!
    if (Array.isArray(value) && unevaluatedItems !== undefined)
      for (const [at, item] of value.entries()) {
        if (items.has(at)) continue
        items.add(at)
        this.run(unevaluatedItems, item, inside(place, `[${at}]`))
      }
    if (!Array.isArray(value) && isObject(value) && unevaluatedProperties !== undefined)
      for (const [key, one] of Object.entries(value)) {
        if (names.has(key)) continue
        names.add(key)
        this.run(unevaluatedProperties, one, inside(place, `.${key}`))
      }
  }
}

/** The same value, for another schema about it. */
const deeper = (place: Place): Place => ({ ...place, depth: place.depth + 1 })
/** A value in the value. */
const inside = ({ path, depth }: Place, step: string): Place => ({
  path: path + step,
  depth: depth + 1,
  seen: undefined,
})

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
