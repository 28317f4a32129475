/** What the endpoints of assistants, threads, messages, runs and steps have in common: bodies, changes, pages. */
import { z } from 'zod'
import { notFound, objectNames } from '../../../assistants/objects.ts'
import { jsonAnswer } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { EndpointDoc, Services } from '../../../core/endpoint.ts'
import { unprocessable } from '../../../core/errors.ts'
import { pageBytesMax } from '../../../core/objects/object-pages.ts'
import type { AssistantObject, AssistantQuery } from '../../../core/objects/assistants.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { readJsonAs, readQuery } from '../../common/checked-input.ts'
import { lazy } from '../../../lib/lazy.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'

/** Reads and checks a body, which may be as large as one of a chat. */
export function readAssistantJson<T>(request: HttpRequest, services: Services, schema: z.ZodType<T>): Promise<T> {
  return readJsonAs(request, schema, services.current.settings.bodyBytesMax, schemaNames)
}

/** Changes the public fields of an object. Throws 404 when it was deleted meanwhile. */
export async function changeBody(services: Services, object: AssistantObject, changes: Json): Promise<Answer> {
  const changed = await services.assistants.change(object.id, now => ({
    body: { ...now.body, ...defined(changes) },
    withinQuota: true,
  }))
  if (!changed) throw notFound(object.kind, object.id)
  return jsonAnswer(changed.body)
}

/** Without the fields that were not sent. */
function defined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Deletes an object and its children. Throws 404 when it was deleted meanwhile. */
export async function deleteObject(services: Services, { id, kind }: AssistantObject): Promise<Answer> {
  if (!(await services.assistants.delete(id))) throw notFound(kind, id)
  return jsonAnswer({ id, object: `${objectNames[kind].object}.deleted`, deleted: true })
}

const pageFields = lazy(() => ({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
  before: z.string().optional(),
}))

const pageQuery = lazy(() => z.object(pageFields()))
const messagesQuery = lazy(() => z.object({ ...pageFields(), run_id: z.string().optional() }))

/** The parameters of a list, for the OpenAPI document. */
export const pageParameters: NonNullable<EndpointDoc['query']> = {
  limit: {
    schema: { type: 'integer', default: 20, minimum: 1, maximum: 100 },
    description: 'How many objects a page has.',
  },
  order: {
    schema: { enum: ['asc', 'desc'], default: 'desc' },
    description: 'The list is ordered by the time of creation.',
  },
  after: { schema: { type: 'string' }, description: 'It is the `last_id` of the page before.' },
  before: { schema: { type: 'string' }, description: 'It is the `first_id` of the page behind.' },
}

type Listed = Pick<AssistantQuery, 'kind' | 'keyId' | 'parentId'>

/**
 * Answers with the page that the query asks for, or with as much of it as a page may have. `refresh` brings each object
 * up to date first.
 */
export async function listObjects(
  request: HttpRequest,
  services: Services,
  listed: Listed,
  refresh: (object: AssistantObject) => Promise<AssistantObject> = async object => object,
): Promise<Answer> {
  const isMessages = listed.kind === 'message'
  const { run_id: runId, ...page }: z.infer<ReturnType<typeof messagesQuery>> = readQuery(
    request,
    isMessages ? messagesQuery() : pageQuery(),
  )
  const bytesMax = Math.min(services.current.settings.bodyBytesMax, pageBytesMax)
  const found = await services.assistants.list({ ...listed, ...page, bytesMax, ...(runId !== undefined && { runId }) })
  if (!found) {
    const loc = ['query', page.after === undefined ? 'before' : 'after']
    throw unprocessable([{ loc, msg: `no ${objectNames[listed.kind].word} of this list has this id`, type: 'invalid' }])
  }
  request.body.hold(found.bytes)
  const data = (await Promise.all(found.objects.map(refresh))).map(object => object.body)
  const { hasMore: has_more } = found
  return jsonAnswer({ object: 'list', data, first_id: data[0]?.id ?? '', last_id: data.at(-1)?.id ?? '', has_more })
}
