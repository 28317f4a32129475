/** What the paths of assistants, threads, messages, runs and steps have in common: objects, bodies, pages. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { callableDeployments } from '../../accounts/model-access.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { EndpointDoc, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { AssistantKind, AssistantObject, AssistantQuery } from '../../core/ports.ts'
import { readJsonAs, readQuery } from '../checked-input.ts'
import { ownerOf } from '../kept-objects.ts'
import type { Fields } from '../kept-objects.ts'

/** Seconds since 1970, as all times of this dialect. */
export function nowS(services: Services): number {
  return Math.floor(services.epochMs() / 1000)
}

interface Naming {
  /** What an id begins with. */
  readonly prefix: string
  /** The field `object`. */
  readonly object: string
  /** In messages. */
  readonly word: string
  /** In paths. */
  readonly param: string
}

const namings: Record<AssistantKind, Naming> = {
  assistant: { prefix: 'asst', object: 'assistant', word: 'assistant', param: 'assistant_id' },
  thread: { prefix: 'thread', object: 'thread', word: 'thread', param: 'thread_id' },
  message: { prefix: 'msg', object: 'thread.message', word: 'message', param: 'message_id' },
  run: { prefix: 'run', object: 'thread.run', word: 'run', param: 'run_id' },
  step: { prefix: 'step', object: 'thread.run.step', word: 'run step', param: 'step_id' },
}

type Given = Pick<AssistantObject, 'kind' | 'keyId'> & Partial<Omit<AssistantObject, 'id' | 'body'>>

/**
 * An object with an id in OpenAI's manner; later ids sort behind earlier ones. `fields` = what clients see of it beside
 * id and time.
 */
export function newObject(services: Services, given: Given, fields: Fields): AssistantObject {
  const { prefix, object } = namings[given.kind]
  const id = `${prefix}_${randomUUIDv7().replaceAll('-', '')}`
  return {
    id,
    parentId: null,
    runId: null,
    active: false,
    updatedAtMs: services.epochMs(),
    hidden: {},
    ...given,
    body: { id, object, created_at: nowS(services), ...fields },
  }
}

/** Reads and checks a body, which may be as large as one of a chat. */
export function readAssistantJson<T>(request: HttpRequest, services: Services, schema: z.ZodType<T>): Promise<T> {
  return readJsonAs(request, schema, services.settings().bodyBytesMax)
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

/** 404 in OpenAI's words. */
export function notFound(kind: AssistantKind, id: string): GatewayError {
  const { word, param } = namings[kind]
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

/** Deletes an object with all that is below it. Throws 404 when it is gone meanwhile. */
export async function deleteObject(services: Services, { id, kind }: AssistantObject): Promise<Answer> {
  if (!(await services.assistants.delete(id))) throw notFound(kind, id)
  return jsonAnswer({ id, object: `${namings[kind].object}.deleted`, deleted: true })
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
  const { run_id: runId, ...page }: z.infer<typeof messagesQuery> = readQuery(
    request,
    isMessages ? messagesQuery : pageQuery,
  )
  const found = await services.assistants.list({ ...listed, ...page, ...(runId !== undefined && { runId }) })
  if (!found) {
    const loc = ['query', page.after === undefined ? 'before' : 'after']
    throw unprocessable([{ loc, msg: `no ${namings[listed.kind].word} of this list has this id`, type: 'invalid' }])
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
