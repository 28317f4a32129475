/** What the paths of assistants, threads, messages and runs have in common: bodies, ids, owners, pages. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { callableDeployments } from '../../accounts/model-access.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/call.ts'
import type { EndpointDoc, HttpRequest, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { checkEncoding, readBody } from '../../core/request.ts'
import type { AssistantKind, AssistantObject, AssistantQuery } from '../../core/ports.ts'
import { fieldsOf, problemsIn } from '../../core/schema-problems.ts'
import { readQuery } from '../admin-body.ts'

export type Fields = Record<string, unknown>

/** The paths under which clients look for it. */
export const pathsOf = (rest: string): string[] => [rest, `/v1${rest}`, `/openai/v1${rest}`]

/** An id in OpenAI's manner; later ids sort behind earlier ones. */
export function newId(prefix: 'asst' | 'thread' | 'msg' | 'run' | 'step'): string {
  return `${prefix}_${randomUUIDv7().replaceAll('-', '')}`
}

/** Seconds since 1970, as all times of this dialect. */
export function nowS(services: Services): number {
  return Math.floor(services.epochMs() / 1000)
}

/** Whose objects the caller sees; null = everybody's. */
export function ownerOf(caller: Caller): string | null {
  return caller.role === 'admin' ? null : caller.key.id
}

/** Reads and checks a JSON body; an empty one is `{}`. Throws 400 for what is not JSON, 422 for what the schema refuses. */
export async function readJson<T>({ headers, body }: HttpRequest, services: Services, schema: z.ZodType<T>): Promise<T> {
  const { bodyBytesMax } = services.settings()
  checkEncoding(headers)
  const bytes = await readBody(body, bodyBytesMax)
  let value: unknown
  try {
    value = bytes.length === 0 ? {} : JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new GatewayError('invalid-request', `the body is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  const result = schema.safeParse(value)
  if (!result.success) throw unprocessable(problemsIn(result.error.issues, value, 'body', fieldsOf(schema)))
  return result.data
}

const named: Record<AssistantKind, readonly [word: string, param: string]> = {
  assistant: ['assistant', 'assistant_id'],
  thread: ['thread', 'thread_id'],
  message: ['message', 'message_id'],
  run: ['run', 'run_id'],
  step: ['run step', 'step_id'],
}

/** 404 for what is not this caller's, whoever's it is, and for what stands in another parent than the path says. */
export async function findObject(
  services: Services,
  caller: Caller,
  asked: { kind: AssistantKind; id: string; parentId?: string },
): Promise<AssistantObject> {
  const { kind, id, parentId } = asked
  const found = await services.assistants.find(kind, id, ownerOf(caller))
  if (!found || (parentId !== undefined && found.parentId !== parentId)) throw notFound(kind, id)
  return found
}

export function notFound(kind: AssistantKind, id: string): GatewayError {
  const [word, param] = named[kind]
  return new GatewayError('not-found', `No ${word} found with id '${id.slice(0, 100)}'.`, { param })
}

/** Changes what clients see of an object. Throws 404 when it is gone meanwhile. */
export async function changeBody(services: Services, object: AssistantObject, changes: Fields): Promise<Answer> {
  const changed = await services.assistants.change(object.id, now => ({ body: { ...now.body, ...defined(changes) } }))
  if (!changed) throw notFound(object.kind, object.id)
  return jsonAnswer(changed.body)
}

/** Without what was not sent. */
function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export async function deleteObject(services: Services, object: AssistantObject, word: string): Promise<Answer> {
  if (!(await services.assistants.delete(object.id))) throw notFound(object.kind, object.id)
  return jsonAnswer({ id: object.id, object: `${word}.deleted`, deleted: true })
}

const pageFields = {
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
  before: z.string().optional(),
}
const pageQuery = z.object(pageFields)
const messagesQuery = z.object({ ...pageFields, run_id: z.string().optional() })

/** The parameters of a list, for the OpenAPI document. */
export const pageParameters: NonNullable<EndpointDoc['query']> = {
  limit: { schema: { type: 'integer', default: 20, minimum: 1, maximum: 100 }, description: 'Objects a page.' },
  order: { schema: { enum: ['asc', 'desc'], default: 'desc' }, description: 'By the time of creation.' },
  after: { schema: { type: 'string' }, description: '`last_id` of the page before.' },
  before: { schema: { type: 'string' }, description: '`first_id` of the page behind.' },
}

type Listed = Pick<AssistantQuery, 'kind' | 'keyId' | 'parentId'>

/** A page, as the query of the request asks for it. `seen` = what clients are shown of each object. */
export async function listObjects(
  request: HttpRequest,
  services: Services,
  listed: Listed,
  seen: (object: AssistantObject) => Promise<AssistantObject> = async object => object,
): Promise<Answer> {
  const isMessages = listed.kind === 'message'
  const { run_id: runId, ...page }: z.infer<typeof messagesQuery> = readQuery(request, isMessages ? messagesQuery : pageQuery)
  const found = await services.assistants.list({ ...listed, ...page, ...(runId !== undefined && { runId }) })
  if (!found) {
    const loc = ['query', page.after === undefined ? 'before' : 'after']
    throw unprocessable([{ loc, msg: `no ${named[listed.kind][0]} of this list has this id`, type: 'invalid' }])
  }
  const data = (await Promise.all(found.objects.map(seen))).map(object => object.body)
  const { hasMore: has_more } = found
  return jsonAnswer({ object: 'list', data, first_id: data[0]?.id ?? '', last_id: data.at(-1)?.id ?? '', has_more })
}

/** The JSON Schema of a body, for the OpenAPI document. */
export function schemaOf(schema: z.ZodType): object {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
}

/** The same refusals that a call of the model would meet, before anything is kept. */
export function checkModel(services: Services, caller: Caller, model: string): void {
  const found = callableDeployments(caller, model, services.models())
  if (found instanceof GatewayError) throw found
}
