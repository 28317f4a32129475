/**
 * Checks a value against a JSON Schema: the keywords of draft 2020-12 that say something about values (specification
 * "JSON Schema Validation"), references within the schema included. `format` is a remark, as the draft has it.
 */
type Json = Record<string, unknown>

const problemsMax = 5
/** More work than any honest schema costs; beyond it a value counts as matching. */
const stepsMax = 200_000
const depthMax = 128
/** A client's pattern must not stall the process: only simple ones are tried, on short texts. */
const patternCharactersMax = 200
const matchedCharactersMax = 200

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong, for a model or a person: "`$.age` must be of type integer". Empty = the value matches. */
export function schemaProblems(schema: Json, value: unknown): string[] {
  const check = new SchemaCheck(schema)
  check.run(schema, value, '$', 0)
  return check.problems
}

/** The first reference that leads nowhere in the schema; undefined = all are known. Other documents are never fetched. */
export function unknownReference(schema: Json): string | undefined {
  const open: unknown[] = [schema]
  for (let steps = 0; open.length > 0 && steps < stepsMax; steps++) {
    const node = open.pop()
    if (isObject(node) && typeof node.$ref === 'string' && !isSchema(resolve(schema, node.$ref))) return node.$ref
    if (typeof node === 'object' && node !== null) open.push(...Object.values(node).slice(0, stepsMax))
  }
  return undefined
}

const isSchema = (value: unknown): value is Json | boolean => typeof value === 'boolean' || isObject(value)

/** A JSON pointer (RFC 6901) into the schema, or an anchor. */
function resolve(root: Json, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  const pointer = decode(reference.slice(1))
  if (pointer !== '' && !pointer.startsWith('/')) return anchored(root, pointer)
  let node: unknown = root
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    node = (node as Json)[key]
  }
  return node
}

function anchored(root: Json, name: string): unknown {
  return Object.values(isObject(root.$defs) ? root.$defs : {}).find(one => isObject(one) && one.$anchor === name)
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
  readonly #root: Json
  #steps = 0

  constructor(root: Json) {
    this.#root = root
  }

  run(schema: unknown, value: unknown, path: string, depth: number): void {
    if (this.problems.length >= problemsMax || ++this.#steps > stepsMax || depth > depthMax) return
    if (schema === false) return this.#problem(path, 'must not be there')
    if (!isObject(schema)) return
    if (typeof schema.$ref === 'string') this.run(resolve(this.#root, schema.$ref), value, path, depth + 1)
    this.#values(schema, value, path)
    if (typeof value === 'number') this.#number(schema, value, path)
    else if (typeof value === 'string') this.#text(schema, value, path)
    else if (Array.isArray(value)) this.#list(schema, value, path, depth)
    else if (isObject(value)) this.#object(schema, value, path, depth)
    this.#combinations(schema, value, path, depth)
  }

  #problem(path: string, what: string): void {
    if (this.problems.length < problemsMax) this.problems.push(`\`${path}\` ${what}`)
  }

  #matches(schema: unknown, value: unknown, depth: number): boolean {
    const found = this.problems.splice(0)
    this.run(schema, value, '$', depth + 1)
    const matches = this.problems.length === 0
    this.problems.length = 0
    this.problems.push(...found)
    return matches
  }

  #values(schema: Json, value: unknown, path: string): void {
    const { type } = schema
    const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : undefined
    if (types && !types.some(one => isOfType(value, one))) this.#problem(path, `must be of type ${types.join(' or ')}`)
    if (Array.isArray(schema.enum) && !schema.enum.some(one => canonical(one) === canonical(value)))
      this.#problem(path, `must be one of ${shown(schema.enum)}`)
    if ('const' in schema && canonical(schema.const) !== canonical(value)) this.#problem(path, `must be ${shown(schema.const)}`)
  }

  #number(schema: Json, value: number, path: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    if (typeof minimum === 'number' && value < minimum) this.#problem(path, `must be at least ${minimum}`)
    if (typeof maximum === 'number' && value > maximum) this.#problem(path, `must be at most ${maximum}`)
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) this.#problem(path, `must be greater than ${exclusiveMinimum}`)
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) this.#problem(path, `must be less than ${exclusiveMaximum}`)
    if (typeof multipleOf === 'number' && multipleOf > 0) {
      // 0.3 / 0.1 is not quite 3.
      const times = value / multipleOf
      if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
        this.#problem(path, `must be a multiple of ${multipleOf}`)
    }
  }

  #text(schema: Json, value: string, path: string): void {
    const { minLength, maxLength, pattern } = schema
    if (typeof minLength === 'number' || typeof maxLength === 'number') {
      const length = [...value].length
      if (typeof minLength === 'number' && length < minLength) this.#problem(path, `must have at least ${minLength} characters`)
      if (typeof maxLength === 'number' && length > maxLength) this.#problem(path, `must have at most ${maxLength} characters`)
    }
    if (typeof pattern === 'string' && patternMatches(pattern, value) === false) this.#problem(path, `must match the pattern ${pattern}`)
  }

  #list(schema: Json, value: readonly unknown[], path: string, depth: number): void {
    const { minItems, maxItems, prefixItems, items, contains, minContains, maxContains } = schema
    if (typeof minItems === 'number' && value.length < minItems) this.#problem(path, `must have at least ${minItems} items`)
    if (typeof maxItems === 'number' && value.length > maxItems) this.#problem(path, `must have at most ${maxItems} items`)
    if (schema.uniqueItems === true && new Set(value.map(canonical)).size < value.length) this.#problem(path, 'must not repeat an item')
    const heads = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const rest = Array.isArray(items) ? schema.additionalItems : items
    value.forEach((item, at) => this.run(at < heads.length ? heads[at] : rest, item, `${path}[${at}]`, depth + 1))
    if (contains === undefined) return
    const found = value.filter(item => this.#matches(contains, item, depth)).length
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
    for (const [key, needed] of Object.entries(isObject(dependentRequired) ? dependentRequired : {}))
      if (Object.hasOwn(value, key)) this.#required(needed, value, path)
    for (const [key, dependent] of Object.entries(isObject(dependentSchemas) ? dependentSchemas : {}))
      if (Object.hasOwn(value, key)) this.run(dependent, value, path, depth + 1)
    for (const key of keys) {
      this.#property(schema, key, value[key], { path: `${path}.${key}`, depth: depth + 1 })
      if (schema.propertyNames !== undefined) this.run(schema.propertyNames, key, `${path}.${key}`, depth + 1)
    }
  }

  #required(names: unknown, value: Json, path: string): void {
    for (const name of Array.isArray(names) ? names : [])
      if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#problem(`${path}.${name}`, 'is missing')
  }

  #property(schema: Json, key: string, value: unknown, place: { path: string; depth: number }): void {
    const { properties, patternProperties, additionalProperties } = schema
    let isKnown = false
    if (isObject(properties) && Object.hasOwn(properties, key)) {
      isKnown = true
      this.run(properties[key], value, place.path, place.depth)
    }
    for (const [pattern, one] of Object.entries(isObject(patternProperties) ? patternProperties : {})) {
      const matches = patternMatches(pattern, key)
      // A pattern that cannot be tried may have meant this property.
      if (matches !== false) isKnown = true
      if (matches === true) this.run(one, value, place.path, place.depth)
    }
    if (!isKnown && additionalProperties === false) this.#problem(place.path, 'is not a property of the schema')
    else if (!isKnown) this.run(additionalProperties, value, place.path, place.depth)
  }

  #combinations(schema: Json, value: unknown, path: string, depth: number): void {
    const { allOf, anyOf, oneOf } = schema
    for (const one of Array.isArray(allOf) ? allOf : []) this.run(one, value, path, depth + 1)
    if (Array.isArray(anyOf) && !anyOf.some(one => this.#matches(one, value, depth)))
      this.#problem(path, `must match one of the ${anyOf.length} schemas of \`anyOf\``)
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter(one => this.#matches(one, value, depth)).length
      if (count !== 1) this.#problem(path, `must match exactly one of the ${oneOf.length} schemas of \`oneOf\`, and matches ${count}`)
    }
    if (schema.not !== undefined && this.#matches(schema.not, value, depth)) this.#problem(path, 'must not match the schema of `not`')
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

/** Equal values have equal texts: keys are sorted. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text
}

/**
 * Undefined = not tried. Backtracking explodes where a group is repeated or refers back, so that such patterns are
 * left to the model; at most three open repetitions on a short text are quick whatever they are.
 */
function patternMatches(pattern: string, text: string): boolean | undefined {
  if (pattern.length > patternCharactersMax || text.length > matchedCharactersMax) return undefined
  const plain = pattern.replace(/\\[^1-9k]/g, 'x').replace(/\[[^\]]*\]/g, 'x')
  if (/\)[*+?{]|\\[1-9k]|\(\?<?[=!]/.test(plain) || (plain.match(/[*+]|\{\d*,/g) ?? []).length > 3) return undefined
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return undefined
  }
}
