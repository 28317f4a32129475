/** JSON bodies and queries checked by a schema: strict, no duplicates, all problems reported at once. */
import type { z } from 'zod'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import { fieldsOf, numbersOf, problemsIn } from '../../core/schema-problems.ts'
import { JsonBody, JsonBodyError } from '../../lib/json/json-body.ts'
import type { ExactNames } from '../../lib/json/exact-json.ts'

/** For administration; endpoints that take prompts pass the configured limit. */
const bytesMaxDefault = 1024 * 1024

/**
 * Reads and checks a JSON body; no body counts as an empty object. `exactNames` = inside of which it keeps its digits
 * (`parseExact`). Throws 400 unless it is one JSON object, 422 for
 * what the schema refuses.
 */
export async function readJsonAs<T>(
  { body }: HttpRequest,
  schema: z.ZodType<T>,
  bytesMax = bytesMaxDefault,
  exactNames: ExactNames = [],
): Promise<T> {
  const bytes = await readBody(body, bytesMax)
  return check(schema, bytes.length === 0 ? {} : parsed(bytes, exactNames), 'body')
}

/** Reads a JSON body that is not checked yet; no body counts as an empty object. Throws 400 unless it is one object. */
export async function readJson({ body }: HttpRequest): Promise<Record<string, unknown>> {
  const bytes = await readBody(body, bytesMaxDefault)
  return bytes.length === 0 ? {} : parsed(bytes)
}

/** Checks a body that was read. Throws 400 unless it is one JSON object, 422 for what the schema refuses. */
export function checkJson<T>(body: JsonBody, schema: z.ZodType<T>): T {
  return check(schema, parsed(body.bytes), 'body')
}

function parsed(bytes: Uint8Array, exactNames: ExactNames = []): Record<string, unknown> {
  try {
    const body = JsonBody.read(bytes)
    const fields = body.parse()
    if (exactNames.length === 0) return fields
    const exact = (field: string): unknown => body.exact(field, exactNames) ?? fields[field]
    return Object.fromEntries(Object.keys(fields).map(field => [field, exact(field)]))
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('invalid-request', cause.message, { cause })
  }
}

/**
 * Checks query parameters. Throws 422, also for one that the schema knows and that is given twice, and for an empty
 * number, which would count as 0.
 */
export function readQuery<T>(request: HttpRequest, schema: z.ZodType<T>): T {
  const empty = numbersOf(schema).filter(name => request.query.get(name)?.trim() === '')
  if (empty.length > 0)
    throw unprocessable(
      empty.map(name => ({ loc: ['query', name], msg: 'is empty; send a number, or leave it out', type: 'invalid' })),
    )
  const doubled = fieldsOf(schema).filter(name => request.query.getAll(name).length > 1)
  if (doubled.length > 0)
    throw unprocessable(
      doubled.map(name => ({ loc: ['query', name], msg: 'is given more than once; send it once', type: 'invalid' })),
    )
  return check(schema, Object.fromEntries(request.query), 'query')
}

function check<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw unprocessable(problemsIn(result.error.issues, value, where, fieldsOf(schema)))
}
