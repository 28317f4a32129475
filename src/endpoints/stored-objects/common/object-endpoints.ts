/** Endpoints that all kinds of objects share: read one object, change its metadata, delete it. */
import { z } from 'zod'
import { jsonAnswer } from '../../../core/answer.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../../core/endpoint.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { AssistantObject } from '../../../core/objects/assistants.ts'
import { findObject } from '../../../assistants/objects.ts'
import {
  anyObject,
  boolean,
  constant,
  either,
  json,
  listOf,
  mapOf,
  nullable,
  number,
  shape,
  text,
  unixSeconds,
} from '../../openapi/schema.ts'
import { changeBody, deleteObject, readAssistantJson } from './object-requests.ts'
import { metadataField } from '../../../assistants/fields.ts'
import { lazy } from '../../../lib/lazy.ts'
import type { Schema } from '../../openapi/schema.ts'

/** Names and texts that clients keep with an object. */
export const metadata = mapOf(text)

/** Functions that a model may call. */
export const tools = listOf(
  shape({
    type: constant('function'),
    function: shape({ name: text }, { description: text, parameters: anyObject, strict: nullable(boolean) }),
  }),
)

/** How a model chooses its words. */
export const sampling = {
  temperature: nullable(number),
  top_p: nullable(number),
  response_format: nullable(either(constant('auto'), shape({ type: text }, { json_schema: anyObject }))),
  reasoning_effort: nullable(text),
}

/** What every object that is kept begins with. */
export const kept = (object: string) => ({ id: text, object: constant(object), created_at: unixSeconds })

/** An object is gone. */
export const deleted = (object: string) =>
  shape({ id: text, object: constant(`${object}.deleted`), deleted: constant(true) })

/** Finds the object that a request's path names. Throws 404. */
export type FindObject = (request: HttpRequest, services: Services, caller: Caller) => Promise<AssistantObject>

/** The thread that `thread_id` names. */
export const findThread: FindObject = ({ params }, services, caller) =>
  findObject(services, caller, { kind: 'thread', id: params.thread_id! })

/** The paths of one kind of object. */
export interface ObjectPath {
  readonly paths: readonly string[]
  /** In the OpenAPI document. */
  readonly tag: string
  readonly find: FindObject
}

/** What the OpenAPI document says of one endpoint; `answer` = the name of its answer's schema. */
interface ObjectDoc extends Pick<EndpointDoc, 'operationId' | 'summary'> {
  readonly answer: Schema
}

/** What the OpenAPI document says of an endpoint under this tag. */
export const docUnder =
  (tag: string) =>
  ({ answer, ...about }: ObjectDoc, more: Partial<EndpointDoc> = {}): EndpointDoc => ({
    ...about,
    tag,
    success: json(answer),
    ...more,
  })

/** 404 as `find` says. */
export function retrieveEndpoint({ paths, tag, find }: ObjectPath, about: ObjectDoc): Endpoint {
  return {
    method: 'GET',
    paths,
    auth: 'key',
    doc: docUnder(tag)(about),
    handle: async (request, services, caller) => jsonAnswer((await find(request, services, caller!)).body),
  }
}

const metadataBody = lazy(() => z.strictObject({ metadata: metadataField() }))

/** `schema` allows further fields in the body, which are ignored. */
export function metadataEndpoint(
  { paths, tag, find }: ObjectPath,
  about: ObjectDoc,
  schema: typeof metadataBody = metadataBody,
): Endpoint {
  return {
    method: 'POST',
    paths,
    auth: 'key',
    takesRequest: true,
    doc: docUnder(tag)(about, { request: schema, requestOptional: true }),
    async handle(request, services, caller) {
      const object = await find(request, services, caller!)
      const { metadata } = await readAssistantJson(request, services, schema())
      return changeBody(services, object, { metadata: metadata === null ? {} : metadata })
    },
  }
}

/** Deletes the object with its children. 404 as `find` says, and when it was deleted meanwhile. */
export function deleteEndpoint({ paths, tag, find }: ObjectPath, about: ObjectDoc): Endpoint {
  return {
    method: 'DELETE',
    paths,
    auth: 'key',
    doc: docUnder(tag)(about),
    handle: async (request, services, caller) => deleteObject(services, await find(request, services, caller!)),
  }
}
