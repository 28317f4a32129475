/** Messages for values that a schema refuses: what is wrong, and what to send instead. */
import type { z } from 'zod'
import { closestMatch } from '../lib/closest-match.ts'
import type { Problem } from './errors.ts'
import { valueAt } from '../lib/json/json-values.ts'

type Issue = z.core.$ZodIssue
type RequestPart = 'body' | 'query'

const problemsMax = 20
const shownLengthMax = 60
/** The beginnings of the library's default messages. */
const defaultMessages = /^(?:Invalid|Too|Unrecognized)\b/

/**
 * One entry per problem, as 422 answers list them. `value` = what the schema was given, `known` = its outermost fields.
 */
export function problemsIn(
  issues: readonly Issue[],
  value: unknown,
  requestPart: RequestPart,
  known: readonly string[] = [],
): Problem[] {
  const problems = issues.slice(0, problemsMax).flatMap(issue => problemsOf(issue, value, requestPart))
  return problems.map(problem =>
    problem.type === 'unknown_field' && problem.loc.length === 2 ? withNearest(problem, known) : problem,
  )
}

/** The outermost fields of a schema, for `problemsIn`. */
export function fieldsOf(schema: z.ZodType): string[] {
  return 'shape' in schema ? Object.keys(schema.shape as object) : []
}

interface Wrapped {
  readonly def: { readonly type: string; readonly innerType?: Wrapped }
}

/** Those of them that are numbers, be they optional or not. */
export function numbersOf(schema: z.ZodType): string[] {
  const isNumber = ({ def }: Wrapped): boolean =>
    def.innerType === undefined ? def.type === 'number' : isNumber(def.innerType)
  const shape = 'shape' in schema ? (schema.shape as Record<string, Wrapped>) : {}
  return Object.keys(shape).filter(name => isNumber(shape[name]!))
}

const guessedLengthMax = 40

function withNearest(problem: Problem, known: readonly string[]): Problem {
  const field = String(problem.loc[1])
  const near = field.length <= guessedLengthMax ? closestMatch(field, known) : undefined
  return near === undefined ? problem : { ...problem, msg: `is not a known field here, did you mean \`${near}\`?` }
}

function problemsOf(issue: Issue, value: unknown, requestPart: RequestPart): Problem[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  const kinds = issue.code === 'invalid_union' ? kindsWanted(issue.errors) : undefined
  if (kinds !== undefined) {
    const given = valueAt(value, path)
    return [
      {
        loc: [requestPart, ...path],
        msg: problemText(kinds, given),
        type: given === undefined ? 'missing' : 'invalid_type',
      },
    ]
  }
  const closest = issue.code === 'invalid_union' ? closestOf(issue.errors) : undefined
  if (closest)
    return closest.flatMap(one => problemsOf({ ...one, path: [...issue.path, ...one.path] }, value, requestPart))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => ({
      loc: [requestPart, ...path, key],
      msg: 'is not a known field here; leave it out',
      type: 'unknown_field',
    }))
  const given = valueAt(value, path)
  const msg = defaultMessages.test(issue.message) ? problemText(typeWanted(issue), given) : issue.message
  return [{ loc: [requestPart, ...path], msg, type: given === undefined ? 'missing' : issue.code }]
}

/**
 * The accepted types of a field that has none of them: `a string or an array`. undefined = the type is accepted, and
 * something else is wrong.
 */
function kindsWanted(branches: readonly Issue[][]): string | undefined {
  const wanted = branches.map(([issue, ...more]) => {
    const isKind =
      issue &&
      more.length === 0 &&
      issue.path.length === 0 &&
      (issue.code === 'invalid_type' || issue.code === 'invalid_value')
    return isKind ? wantedBy(issue) : undefined
  })
  return wanted.length > 0 && wanted.every(one => one !== undefined) ? wanted.join(' or ') : undefined
}

/**
 * For a field that may be a string or an object: the alternative that the client meant is one with an inner problem,
 * or at least with the right type.
 */
function closestOf(branches: readonly Issue[][]): Issue[] | undefined {
  const inside = branches.find(issues => issues.every(issue => issue.path.length > 0))
  const wrongType = (issue: Issue) => issue.path.length === 0 && issue.code === 'invalid_type'
  return inside ?? branches.find(issues => !issues.some(wrongType)) ?? branches.at(-1)
}

/**
 * The expected value, such as `a number of at least 1`; undefined where the schema does not provide a short one.
 */
export function wantedBy(issue: Issue): string | undefined {
  return defaultMessages.test(issue.message) ? typeWanted(issue) : undefined
}

function problemText(wanted: string | undefined, given: unknown): string {
  if (wanted === undefined) return `has a form that is not taken; got ${shown(given)}`
  return given === undefined ? `is missing; send ${wanted}` : `must be ${wanted}; got ${shown(given)}`
}

const types: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

function typeWanted(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return types[issue.expected] ?? `a value of the type ${issue.expected}`
    case 'too_small':
      return sized(issue.origin, `at least ${issue.minimum}`, Number(issue.minimum))
    case 'too_big':
      return sized(issue.origin, `at most ${issue.maximum}`, Number(issue.maximum))
    case 'invalid_value':
      return issue.values.length === 1
        ? JSON.stringify(issue.values[0])
        : `one of ${issue.values.map(value => JSON.stringify(value)).join(', ')}`
    default:
      return undefined
  }
}

function sized(origin: string, bound: string, size: number): string {
  const many = (one: string, more: string) => `${bound} ${size === 1 ? one : more}`
  if (origin === 'string') return `a string of ${many('character', 'characters')}`
  if (origin === 'array') return `an array of ${many('entry', 'entries')}`
  return `${origin === 'int' ? 'an integer' : 'a number'} of ${bound}`
}

/** Short, and without the contents of objects, which may be secret. */
function shown(value: unknown): string {
  if (typeof value === 'string') {
    if (value.length <= shownLengthMax) return JSON.stringify(value)
    return `a string of ${value.length} characters`
  }
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
