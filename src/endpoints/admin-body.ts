/** Bodies of administrative operations: small, strict, every problem named at once. */
import { z } from 'zod'
import type { HttpRequest } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import { readBody } from '../core/request.ts'
import { problemsIn } from '../core/schema-problems.ts'

const bytesMax = 1024 * 1024

/** Reads and checks a JSON body. Throws 400 for what is not JSON, 422 for what the schema refuses. */
export async function readAdminBody<T>(request: HttpRequest, schema: z.ZodType<T>): Promise<T> {
  const bytes = await readBody(request.body, bytesMax)
  let value: unknown
  try {
    value = bytes.length === 0 ? {} : JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new GatewayError('invalid-request', `the body is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  return check(schema, value, 'body')
}

/** Checks query parameters. Throws 422. */
export function readQuery<T>(request: HttpRequest, schema: z.ZodType<T>): T {
  return check(schema, Object.fromEntries(request.query), 'query')
}

function check<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw unprocessable(problemsIn(result.error.issues, value, where))
}
