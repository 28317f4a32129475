/**
 * Checks a value against the JSON Schemas of `type-shapes.ts`. Where none of several types fits, the problems are those
 * of the nearest one: with all branches at once, as validators report them, the cause is not to be found.
 */
import { isObject } from '../../src/lib/json/json-values.ts'
import type { Schema } from './type-shapes.ts'

/** One deviation. `isTag` = the value of a field that tells types apart: it belongs to another type altogether. */
interface Problem {
  readonly path: string
  readonly text: string
  readonly isTag: boolean
}

type Definitions = Readonly<Record<string, Schema>>

/** How `value` deviates from `schema`, as `path text`; empty = it does not. */
export function shapeDeviations(schema: Schema, $defs: Definitions, value: unknown): string[] {
  return problemsOf(schema, { $defs, path: '' }, value).map(({ path, text }) => `${path || '/'} ${text}`)
}

interface Place {
  readonly $defs: Definitions
  readonly path: string
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'object' ? 'object' : typeof value

function problemsOf(schema: Schema, place: Place, value: unknown): Problem[] {
  const { path, $defs } = place
  const one = (text: string, isTag = false): Problem[] => [{ path, text, isTag }]
  if (typeof schema.$ref === 'string') return problemsOf($defs[schema.$ref.slice('#/$defs/'.length)]!, place, value)
  if ('not' in schema) return one('must not be there')
  if ('const' in schema) return value === schema.const ? [] : one(`must be ${JSON.stringify(schema.const)}`, true)
  if (Array.isArray(schema.enum))
    return schema.enum.includes(value) ? [] : one(`${JSON.stringify(value)?.slice(0, 60)} is none of the values`, true)
  if (Array.isArray(schema.anyOf)) return nearest(schema.anyOf as Schema[], place, value)
  if (schema.type === undefined) return []
  if (schema.type !== typeOf(value)) return one(`must be ${String(schema.type)}, is ${typeOf(value)}`)
  if (Array.isArray(value))
    return value.flatMap((item, at) => problemsOf(schema.items as Schema, { $defs, path: `${path}/${at}` }, item))
  return isObject(value) ? fieldProblems(schema, place, value) : []
}

function fieldProblems(schema: Schema, { $defs, path }: Place, value: Record<string, unknown>): Problem[] {
  const {
    required = [],
    properties = {},
    additionalProperties: rest,
  } = schema as {
    required?: string[]
    properties?: Record<string, Schema>
    additionalProperties?: Schema | false
  }
  const missing = required
    .filter(name => value[name] === undefined)
    .map(name => ({ path: `${path}/${name}`, text: 'is missing', isTag: 'const' in properties[name]! }))
  const wrong = Object.entries(value).flatMap(([name, one]): Problem[] => {
    const place = { $defs, path: `${path}/${name}` }
    const own = Object.hasOwn(properties, name) ? properties[name] : rest
    if (own === false) return [{ path: place.path, text: 'is not known', isTag: false }]
    return own === undefined ? [] : problemsOf(own, place, one)
  })
  return [...missing, ...wrong]
}

/**
 * The problems of the type that the value was meant to be: first by the fields that tell types apart, then by number.
 */
function nearest(schemas: readonly Schema[], place: Place, value: unknown): Problem[] {
  let best: Problem[] | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const schema of schemas) {
    const problems = problemsOf(schema, place, value)
    if (problems.length === 0) return []
    const distance = distanceOf(problems, place.path)
    if (distance >= bestDistance) continue
    best = problems
    bestDistance = distance
  }
  return best ?? []
}

function distanceOf(problems: readonly Problem[], path: string): number {
  const depth = path.split('/').length
  let sum = 0
  for (const problem of problems) {
    const below = problem.path.split('/').length - depth
    sum += below === 0 ? 10_000 : below === 1 && problem.isTag ? 1000 : 1
  }
  return sum
}
