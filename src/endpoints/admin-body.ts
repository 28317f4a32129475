/** Bodies of administrative operations: small, strict, every problem named at once. */
import { z } from 'zod'
import type { HttpRequest } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import { readBody } from '../core/request.ts'

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

function check<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw unprocessable(
    result.error.issues.flatMap(issue =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map(key => ({ loc: [where, ...path(issue.path), key], msg: 'is not a known field here; leave it out', type: 'unknown_field' }))
        : [{ loc: [where, ...path(issue.path)], msg: issue.message, type: issue.code }],
    ),
  )
}

function path(parts: readonly PropertyKey[]): (string | number)[] {
  return parts.map(part => (typeof part === 'number' ? part : String(part)))
}
