/** Several changes of SCIM in one request (RFC 7644, section 3.7), each done or not by itself. */
import { z } from 'zod'
import type { Answer } from '../../../core/answer.ts'
import type { Endpoint } from '../../../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../../../core/errors.ts'
import type { HttpRequest, RequestBody } from '../../../core/request.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import { lazy } from '../../../lib/lazy.ts'
import { readJsonAs } from '../../common/checked-input.ts'
import { bodyBytesMax, locationOf, scim, scimAnswer, scimBase } from './answers.ts'
import type { ScimRequest } from './answers.ts'
import { scimErrorBody } from './error-body.ts'
import { scimGroupEndpoints } from './groups.ts'
import { scimUserEndpoints } from './users.ts'
import { groupType, userType } from '../../../access/directory/schemas.ts'
import { anyObject, listOf, named, shape, text } from '../../openapi/schema.ts'

const scimBulkAnswerSchema = named('ScimBulkAnswer', () =>
  shape({
    schemas: listOf(text),
    Operations: listOf(
      shape({ method: text, status: text }, { bulkId: text, location: text, version: text, response: anyObject }),
    ),
  }),
)

/** What one request may hold. */
export const bulkLimits = { maxOperations: 1000, maxPayloadSize: bodyBytesMax } as const

const messages = 'urn:ietf:params:scim:api:messages:2.0'

const operation = lazy(() =>
  z.object({
    method: z
      .string()
      .transform(text => text.toUpperCase())
      .pipe(z.enum(['POST', 'PUT', 'PATCH', 'DELETE'])),
    path: z.string().max(1000).describe('It is written as in `/Users`, `/Users/ID`, `/Groups/bulkId:NAME`.'),
    bulkId: z.string().min(1).max(200).optional().describe('Of a POST: what others of the request name it by.'),
    version: z.string().max(200).optional().describe('It has the meaning of the header `If-Match`.'),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
)

const bulkBody = lazy(() =>
  z.object({
    schemas: z.array(z.string()).optional(),
    failOnErrors: z.number().int().min(1).optional().describe('It stops after so many errors.'),
    Operations: z.array(operation()).min(1),
  }),
)

type Operation = z.infer<ReturnType<typeof operation>>

/** As the answer lists it. */
interface Outcome {
  readonly method: Operation['method']
  readonly bulkId?: string | undefined
  readonly location?: string
  readonly version?: string
  readonly status: string
  /** Of a failure. */
  readonly response?: object
}

/** The endpoints that an operation may ask for. */
const changing: readonly Endpoint[] = [...scimUserEndpoints, ...scimGroupEndpoints].filter(one => one.method !== 'GET')

/** Every change of `/Users` and `/Groups`. */
export const scimBulk = scim({
  method: 'POST',
  paths: ['/Bulk'],
  operationId: 'changeScimResources',
  summary: `Up to ${bulkLimits.maxOperations} changes of users and groups, one after the other, each done or not`,
  request: bulkBody,
  answer: scimBulkAnswerSchema,
  failures: [413],
  async handle(context) {
    const { Operations: operations, failOnErrors } = await readJsonAs(context.request, bulkBody(), bodyBytesMax)
    if (operations.length > bulkLimits.maxOperations)
      throw new GatewayError(
        'too-large',
        `Operations: there are ${operations.length}, and ${bulkLimits.maxOperations} are the most in one request`,
      )
    const outcomes = await new BulkRequest(context, operations).run(failOnErrors ?? Infinity)
    return scimAnswer({ schemas: [`${messages}:BulkResponse`], Operations: outcomes })
  },
})

/** The operations of one request. */
class BulkRequest {
  readonly #context: ScimRequest
  readonly #operations: readonly Operation[]
  readonly #outcomes = new Map<Operation, Outcome>()
  /** Those that have begun: one that is requested again is part of a circle. */
  readonly #begun = new Set<Operation>()
  readonly #named = new Map<string, Operation>()
  readonly #ids = new Map<string, string>()
  #errors = 0

  constructor(context: ScimRequest, operations: readonly Operation[]) {
    this.#context = context
    this.#operations = operations
    for (const one of operations) if (one.bulkId !== undefined) this.#name(one.bulkId, one)
  }

  #name(bulkId: string, one: Operation): void {
    if (this.#named.has(bulkId))
      throw new GatewayError(
        'invalid-request',
        `bulkId: two operations have '${bulkId.slice(0, 100)}'; each needs its own`,
        {
          code: 'invalidValue',
        },
      )
    this.#named.set(bulkId, one)
  }

  /** In the order of the request; those that were not begun are missing. */
  async run(errorsMax: number): Promise<Outcome[]> {
    for (const one of this.#operations) {
      if (this.#errors >= errorsMax || this.#context.request.left) break
      await this.#do(one)
    }
    return this.#operations.flatMap(one => this.#outcomes.get(one) ?? [])
  }

  async #do(one: Operation): Promise<void> {
    if (this.#begun.has(one)) return
    this.#begun.add(one)
    const { method, bulkId } = one
    const outcome = { method, ...(bulkId !== undefined && { bulkId }) }
    try {
      this.#outcomes.set(one, { ...outcome, ...(await this.#changed(one)) })
    } catch (thrown) {
      const error = toGatewayError(thrown)
      if (error.kind === 'internal') throw thrown
      // Without the database the rest would fail the same way: what was done is reported.
      this.#errors += error.status >= 500 ? Infinity : 1
      this.#outcomes.set(one, { ...outcome, status: String(error.status), response: scimErrorBody(error) })
    }
  }

  async #changed(one: Operation): Promise<Pick<Outcome, 'status' | 'location' | 'version'>> {
    if (one.method === 'POST' && one.bulkId === undefined)
      throw new GatewayError('invalid-request', 'bulkId: is missing; a POST needs one (RFC 7644, 3.7)', {
        code: 'invalidValue',
      })
    const path = String(await this.#resolved(one.path))
    const data = one.method === 'DELETE' ? undefined : await this.#resolved(one.data ?? {})
    const { endpoint, id } = endpointOf(one.method, path)
    const request = partOf(this.#context.request, { one, path, id, data })
    const answer = await endpoint.handle(request, this.#context.services, this.#context.caller)
    return this.#outcomeOf(one, path, id, answer)
  }

  #outcomeOf(one: Operation, path: string, id: string, { status, headers, body }: Answer) {
    const made = one.method === 'POST' ? String((JSON.parse(String(body)) as { id: unknown }).id) : id
    if (one.bulkId !== undefined) this.#ids.set(one.bulkId, made)
    const type = path.startsWith('/Users') ? userType : groupType
    const version = headers.etag
    return {
      location: locationOf(this.#context, type, made),
      ...(version !== undefined && { version }),
      status: String(status),
    }
  }

  /** With ids in the place of `bulkId:NAME`. What it names is made first, also where it stands behind. */
  async #resolved(value: unknown): Promise<unknown> {
    if (typeof value === 'string') {
      const [, before = '', name] = /^(\/(?:Users|Groups)\/)?bulkId:(.+)$/s.exec(value) ?? []
      return name === undefined ? value : before + (await this.#idOf(name))
    }
    if (Array.isArray(value)) {
      const all: unknown[] = []
      for (const one of value) all.push(await this.#resolved(one))
      return all
    }
    if (!isObject(value)) return value
    const all: Record<string, unknown> = {}
    for (const [name, one] of Object.entries(value)) all[name] = await this.#resolved(one)
    return all
  }

  async #idOf(name: string): Promise<string> {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const maker = this.#named.get(name)
    const shown = `'${name.slice(0, 100)}'`
    if (!maker) throw unresolved(`there is no operation ${shown} in this request`)
    if (this.#begun.has(maker) && !this.#outcomes.has(maker))
      throw unresolved(`${shown} and this operation need each other`)
    await this.#do(maker)
    const made = this.#ids.get(name)
    if (made === undefined) throw unresolved(`the operation ${shown} has failed`)
    return made
  }
}

const unresolved = (why: string): GatewayError =>
  new GatewayError('conflict', `bulkId: ${why}`, { code: 'invalidValue' })

function endpointOf(method: string, path: string): { readonly endpoint: Endpoint; readonly id: string } {
  const [, collection, id] = /^\/(Users|Groups)(?:\/([^/?#]+))?$/.exec(path) ?? []
  const pattern = `${scimBase}/${collection}${id === undefined ? '' : '/{id}'}`
  const endpoint = changing.find(one => one.method === method && one.paths.includes(pattern))
  if (!endpoint)
    throw new GatewayError(
      'invalid-request',
      `path: there is no ${method} ${path.slice(0, 100)}; it is /Users or /Groups for a POST, else one of theirs`,
      { code: 'invalidPath' },
    )
  return { endpoint, id: decoded(id ?? '') }
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

interface Part {
  readonly one: Operation
  readonly path: string
  readonly id: string
  readonly data: unknown
}

/** The request that this operation would be by itself. */
function partOf(whole: HttpRequest, { one, path, id, data }: Part): HttpRequest {
  const ifMatch = one.version ?? null
  return {
    clientAddress: whole.clientAddress,
    peerAddress: whole.peerAddress,
    get left() {
      return whole.left
    },
    onLeft: listener => whole.onLeft(listener),
    method: one.method,
    path: scimBase + path,
    params: { id },
    query: new URLSearchParams(),
    id: whole.id,
    headers: {
      get: name => (name === 'if-match' ? ifMatch : null),
      has: name => name === 'if-match' && ifMatch !== null,
    },
    body: bodyOf(data),
  }
}

function bodyOf(data: unknown): RequestBody {
  const bytes = data === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(data))
  let rest: Uint8Array | undefined = bytes
  return {
    announcedBytes: bytes.length,
    ended: true,
    read: (_, reader) => reader.whole(bytes),
    async next() {
      const piece = rest
      rest = undefined
      return piece
    },
    keep: () => () => {},
    hold() {},
  }
}
