/** What the endpoints of SCIM share: bodies, errors, versions, lists and their pages. */
import { z } from 'zod'
import { actorOf } from '../../../access/actor.ts'
import { conditionOf } from '../../../access/directory/search.ts'
import type { Answer } from '../../../core/answer.ts'
import type { Endpoint, EndpointContext, EndpointDoc } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { ChangeActor } from '../../../core/tenancy/change-actor.ts'
import type { Page, PageQuery, TenancyTransaction, TenantCondition } from '../../../core/tenancy/tenancy-store.ts'
import { ScimError } from '../../../lib/scim/error.ts'
import type { Operation } from '../../../lib/scim/patch.ts'
import { parseFilter } from '../../../lib/scim/path.ts'
import { projection } from '../../../lib/scim/projection.ts'
import type { ResourceType, Values } from '../../../lib/scim/schema.ts'
import { readJsonAs, readQuery } from '../../common/checked-input.ts'
import type { Schema } from '../../openapi/schema.ts'
import { nextCursor, pageOf } from '../../common/answers.ts'
import { scimErrorBody, scimMediaType } from './error-body.ts'
import { lazy } from '../../../lib/lazy.ts'
import { constant, dateTime, integer, listOf, shape, text } from '../../openapi/schema.ts'

/** What SCIM says of a resource. */
export const resourceMeta = (resourceType: string) =>
  shape({
    resourceType: constant(resourceType),
    created: dateTime,
    lastModified: dateTime,
    location: text,
    version: text,
  })

/** What every resource has. */
export const resourceFields = { schemas: listOf(text), id: text }

/** Resources of one kind, a page of them. */
export const resourceList = (items: Schema) =>
  shape(
    { schemas: listOf(text), totalResults: integer, itemsPerPage: integer, Resources: listOf(items) },
    { startIndex: integer, nextCursor: text },
  )

/** Where the resources stand. */
export const scimBase = '/scim/v2'
/** The schema of lists. */
export const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
/** Of a request: a group of some ten thousand members. */
export const bodyBytesMax = 4 * 1024 * 1024
/** Resources on one page. */
export const pageMax = 200
const pageDefault = 100

/** What an endpoint of SCIM works with. */
export interface ScimRequest extends EndpointContext {
  readonly actor: ChangeActor
  /** What stands in the path; empty = nothing does. */
  readonly id: string
}

interface ScimEndpoint extends Pick<Endpoint, 'method' | 'paths'> {
  readonly operationId: string
  readonly summary: string
  /** What a success is; absent = no content. */
  readonly answer?: Schema
  readonly status?: 201
  readonly query?: () => z.ZodObject
  readonly request?: () => z.ZodType
  readonly failures?: EndpointDoc['failures']
  readonly headers?: readonly string[]
  handle(context: ScimRequest): Promise<Answer> | Answer
}

/** For administrators, and for keys of directories, which may ask for these paths alone. */
export function scim({ method, paths, handle, answer, status, request: body, ...about }: ScimEndpoint): Endpoint {
  return {
    method,
    paths: paths.map(path => scimBase + path),
    auth: 'directory',
    errorBody: scimErrorBody,
    doc: {
      ...about,
      tag: 'Directory',
      ...(body && { request: body, requestType: scimMediaType }),
      success: answer === undefined ? {} : { [scimMediaType]: answer },
      ...(answer === undefined ? { successStatus: 204 as const } : status && { successStatus: status }),
    },
    async handle(request, services, caller) {
      const id = request.params.id ?? ''
      try {
        return await handle({ services, caller: caller!, actor: actorOf(caller!), request, id })
      } catch (thrown) {
        throw explained(thrown)
      }
    },
  }
}

/** Requests that do not fit a schema are answered with 400, as SCIM has no 422. */
function explained(thrown: unknown): unknown {
  if (thrown instanceof ScimError)
    return new GatewayError(thrown.scimType === 'uniqueness' ? 'conflict' : 'invalid-request', thrown.message, {
      code: thrown.scimType,
    })
  if (thrown instanceof GatewayError && thrown.kind === 'unprocessable')
    return new GatewayError('invalid-request', thrown.message, {
      code: 'invalidValue',
      param: thrown.param ?? undefined,
    })
  return thrown
}

/** One transaction. Errors of SCIM become those of the gateway within it: others would be failures of the database. */
export function changing<Result>(
  { services, actor }: Pick<ScimRequest, 'services' | 'actor'>,
  work: (tx: TenancyTransaction) => Promise<Result>,
): Promise<Result> {
  return services.tenancy.change(actor, tx =>
    work(tx).catch((thrown: unknown) => {
      throw explained(thrown)
    }),
  )
}

/** An answer in SCIM's JSON. */
export function scimAnswer(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'content-type': scimMediaType, ...headers }, body: JSON.stringify(value) }
}

/** Done, and nothing to show. */
export const noContent = (headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 204,
  headers: { ...headers },
  body: null,
})

/** A resource that is sent. */
export const resourceBody = lazy(() => z.record(z.string(), z.unknown()))

/** The body of a PATCH. Entra ID writes operations with a capital. */
export const patchBody = lazy(() =>
  z.object({
    schemas: z.array(z.string()).optional(),
    Operations: z
      .array(
        z.object({
          op: z
            .string()
            .transform(text => text.toLowerCase())
            .pipe(z.enum(['add', 'replace', 'remove'])),
          path: z.string().nullable().optional(),
          value: z.unknown().optional(),
        }),
      )
      .min(1)
      .max(1000),
  }),
)

/** Reads a JSON object. */
export const readResourceBody = (request: HttpRequest): Promise<Values> =>
  readJsonAs(request, resourceBody(), bodyBytesMax)

/** Reads the operations of a PATCH. An empty path is none. */
export async function readOperations(request: HttpRequest): Promise<Operation[]> {
  const { Operations: sent } = await readJsonAs(request, patchBody(), bodyBytesMax)
  return sent.map(({ op, path, value }) => ({ op, path: path || undefined, value }))
}

/** Which attributes are shown. */
export const shownQuery = lazy(() =>
  z.object({
    attributes: z.string().max(4000).optional().describe('Only these are listed or shown, with commas between.'),
    excludedAttributes: z.string().max(4000).optional().describe('All but these are shown, with commas between.'),
  }),
)

/** The parameters of a list. Others, such as `sortBy`, are ignored. */
export const listQuery = lazy(() =>
  shownQuery().extend({
    filter: z
      .string()
      .max(4000)
      .optional()
      .describe('Resources that it fits are listed: `userName eq "ada@example.com"`.'),
    startIndex: z.coerce
      .number()
      .int()
      .max(1e9)
      .default(1)
      .describe('The number of the first resource, which is counted from 1.'),
    count: z.coerce
      .number()
      .int()
      .default(pageDefault)
      .describe(`How many resources a page has, at most ${pageMax}; 0 = the total alone.`),
    cursor: z.string().max(500).optional().describe('It is empty for the first page, then `nextCursor` (RFC 9865).'),
  }),
)

/** Leaves out what the query does not ask for. */
function shownBy(type: ResourceType, request: HttpRequest): (resource: Values) => Values {
  const { attributes, excludedAttributes } = readQuery(request, shownQuery())
  return projection(type, { attributes, excludedAttributes })
}

interface Stamped {
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

interface ListingOptions<Item> {
  readonly type: ResourceType
  readonly request: HttpRequest
  list(condition: TenantCondition | undefined, page: PageQuery): Promise<Page<Item>>
  show(items: readonly Item[]): Promise<Values[]>
}

/** One page of a list, oldest first: by number, or by cursor, which stays right while resources are added. */
export async function listAnswer<Item extends Stamped>(listing: ListingOptions<Item>): Promise<Answer> {
  const { type, request } = listing
  const { filter, startIndex, count, cursor } = readQuery(request, listQuery())
  const condition = filter ? conditionOf(type, parseFilter(filter)) : undefined
  const limit = Math.min(Math.max(count, 0), pageMax)
  const first = Math.max(startIndex, 1)
  const page = cursor ? pageOf(1, limit, cursor) : { limit, offset: cursor === undefined ? first - 1 : 0 }
  const { items, total } = await listing.list(condition, { ...page, ascending: true })
  const shown = shownBy(type, request)
  const next = cursor === undefined || limit === 0 ? null : nextCursor(items, limit)
  return scimAnswer({
    schemas: [listSchema],
    totalResults: total,
    itemsPerPage: items.length,
    ...(cursor === undefined && { startIndex: first }),
    ...(next !== null && { nextCursor: next }),
    Resources: (await listing.show(items)).map(shown),
  })
}

/** The address of a resource, whole where the gateway knows its own. */
export function locationOf({ services }: Pick<ScimRequest, 'services'>, type: ResourceType, id: string): string {
  const { baseUrl, rootPath } = services.current.settings.signIn
  return `${baseUrl ?? rootPath}${scimBase}${type.endpoint}/${encodeURIComponent(id)}`
}

interface ShownParts {
  readonly context: Pick<ScimRequest, 'services'>
  readonly type: ResourceType
  readonly of: Stamped
  readonly version: string
}

/** A resource with what the server adds to it. */
export function shownResource(resource: Values, { context, type, of, version }: ShownParts): Values {
  const extensions = type.extensions.filter(one => one.id in resource).map(one => one.id)
  return {
    schemas: [type.schema.id, ...extensions],
    id: of.id,
    ...resource,
    meta: {
      resourceType: type.name,
      created: new Date(of.createdAtMs).toISOString(),
      lastModified: new Date(of.updatedAtMs).toISOString(),
      location: locationOf(context, type, of.id),
      version,
    },
  }
}

/** One resource, or 304 for a client that has this version. */
export function oneAnswer(type: ResourceType, request: HttpRequest, resource: Values, status = 200): Answer {
  const { version, location } = resource.meta as { version: string; location: string }
  const headers = { etag: version, ...(status === 201 && { location }) }
  if (request.method === 'GET' && names(request.headers.get('if-none-match'), version))
    return { status: 304, headers, body: null }
  return scimAnswer(shownBy(type, request)(resource), status, headers)
}

/** Throws 412 where the request was made for another version. */
export function checkVersion({ headers }: HttpRequest, version: string): void {
  const ifMatch = headers.get('if-match')
  if (ifMatch === null || names(ifMatch, version)) return
  throw new GatewayError('conflict', `it was changed meanwhile: its version is ${version}; read it again`, {
    status: 412,
  })
}

const names = (header: string | null, version: string): boolean =>
  (header ?? '').split(',').some(one => one.trim() === '*' || weak(one.trim()) === weak(version))

const weak = (version: string): string => version.replace(/^W\//, '')

/** There is no resource of this id. */
export function absentResource(type: ResourceType, id: string): GatewayError {
  return new GatewayError('not-found', `there is no ${type.name.toLowerCase()} '${id.slice(0, 100)}'`)
}
