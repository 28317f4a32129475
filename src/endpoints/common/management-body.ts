/**
 * Bodies of management requests. Clients of LiteLLM's send fields that are not known here, and null where they mean
 * nothing: such a body is taken, and the answer names what was passed over. What would narrow or widen rights, limits
 * or spending is refused instead, also where it is a slip in the name of such a field.
 */
import type { z } from 'zod'
import { speaksOfRights, unusedFields } from '../../access/fields/unused-fields.ts'
import { unprocessable } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { fieldsOf, problemsIn } from '../../core/schema-problems.ts'
import { closestMatch, isMisspelt } from '../../lib/closest-match.ts'
import { valueAt } from '../../lib/json/json-values.ts'
import { readJson } from './checked-input.ts'

/** A body that was understood, and what of it was passed over, one sentence a field. */
interface ManagementBody<T> {
  readonly input: T
  readonly warnings: readonly string[]
}

/** Unknown fields beyond which a body is refused as a whole: it is meant for something else. */
const unknownMax = 100

/** Reads and checks a body; no body counts as an empty object. Throws 400 unless it is one JSON object, else 422. */
export async function readManagementBody<T>(request: HttpRequest, schema: z.ZodType<T>): Promise<ManagementBody<T>> {
  const body = structuredClone(await readJson(request))
  const warnings: string[] = []
  const refused: Problem[] = []
  let passedOver = 0
  for (;;) {
    const result = schema.safeParse(body)
    const problems = result.success ? [] : problemsIn(result.error.issues, body, 'body', fieldsOf(schema))
    const unknown = problems.filter(one => one.type === 'unknown_field' || isNullField(body, one.loc.slice(1)))
    passedOver += unknown.length
    if (unknown.length === 0 || passedOver > unknownMax) {
      if (result.success && refused.length === 0) return { input: result.data, warnings }
      throw unprocessable([...refused, ...problems].slice(0, unknownMax))
    }
    for (const problem of unknown) {
      const value = taken(body, problem.loc.slice(1))
      if (isEmpty(value)) continue
      const verdict = verdictOn(problem, problem.loc.length === 2 ? fieldsOf(schema) : [])
      const isUnused = typeof verdict === 'string' || unusedFields.has(String(problem.loc.at(-1)))
      if (isUnused && asksForNothing(value)) continue
      if (typeof verdict === 'string') warnings.push(verdict)
      else refused.push(verdict)
    }
  }
}

/** A sentence where the field is passed over, a problem where it is refused. */
function verdictOn(problem: Problem, known: readonly string[]): string | Problem {
  const path = problem.loc.slice(1).join('.')
  const name = String(problem.loc.at(-1))
  const unused = unusedFields.get(name)
  if (unused?.isRefused) return { ...problem, msg: `has no meaning here; ${unused.instead}` }
  if (unused) return `${path}: has no meaning here, and was passed over; ${unused.instead}`
  const near = closestMatch(name, known)
  const isSlip = known.some(one => speaksOfRights(one) && (isMisspelt(name, [one]) || one === `${name}_id`))
  if (isSlip || speaksOfRights(name)) return problem
  const remedy = near === undefined ? '' : `; did you mean \`${near}\`?`
  return `${path}: is not a known field here, and was passed over${remedy}`
}

/** Clients send null for what they leave out; where null means something, the schema takes it. */
const isNullField = (body: unknown, path: Problem['loc']): boolean =>
  typeof path.at(-1) === 'string' && valueAt(body, path) === null

/** Takes the value at the path out of the body, and returns it. */
function taken(body: unknown, path: Problem['loc']): unknown {
  const parent = valueAt(body, path.slice(0, -1)) as Record<string, unknown>
  const name = String(path.at(-1))
  const value = parent[name]
  delete parent[name]
  return value
}

/** Null, and an empty text, list or object. Not 0 and false: a slip such as `max_budgt: 0` means something. */
const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)

/** The same, 0, false, and lists and objects of nothing else: so clients send fields of LiteLLM left unused. */
function asksForNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(asksForNothing)
  return isEmpty(value) || value === false || value === 0
}
