/** What assistants, threads, messages, runs and steps have in common: ids, ownership, the error when one is missing. */
import { randomUUIDv7 } from 'bun'
import { callableDeployments } from '../access/models/model-access.ts'
import type { Caller } from '../core/caller.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { AssistantKind, AssistantObject } from '../core/objects/assistants.ts'
import { ownerOf } from '../core/caller.ts'
import type { Json } from '../lib/json/json-values.ts'

/** Seconds since 1970, the unit of all times of this dialect. */
export function nowS(services: Services): number {
  return Math.floor(services.clock.epochMs() / 1000)
}

interface Naming {
  /** The beginning of ids. */
  readonly prefix: string
  /** The value of the field `object`. */
  readonly object: string
  /** In error messages. */
  readonly word: string
  /** The parameter in paths. */
  readonly param: string
}

/** How each kind of object is named. */
export const objectNames: Record<AssistantKind, Naming> = {
  assistant: { prefix: 'asst', object: 'assistant', word: 'assistant', param: 'assistant_id' },
  thread: { prefix: 'thread', object: 'thread', word: 'thread', param: 'thread_id' },
  message: { prefix: 'msg', object: 'thread.message', word: 'message', param: 'message_id' },
  run: { prefix: 'run', object: 'thread.run', word: 'run', param: 'run_id' },
  step: { prefix: 'step', object: 'thread.run.step', word: 'run step', param: 'step_id' },
}

type InitialFields = Pick<AssistantObject, 'kind' | 'keyId'> & Partial<Omit<AssistantObject, 'id' | 'body'>>

/**
 * An object with an id in OpenAI's form; later ids sort after earlier ones. `fields` = its public fields beside `id`,
 * `object` and `created_at`.
 */
export function newObject(services: Services, given: InitialFields, fields: Json): AssistantObject {
  const { prefix, object } = objectNames[given.kind]
  const id = `${prefix}_${randomUUIDv7().replaceAll('-', '')}`
  return {
    id,
    parentId: null,
    runId: null,
    active: false,
    updatedAtMs: services.clock.epochMs(),
    hidden: {},
    ...given,
    body: { id, object, created_at: nowS(services), ...fields },
  }
}

/** Throws 404 for what the caller's key does not own, and for what belongs to another parent than `parentId`. */
export async function findObject(
  services: Services,
  caller: Caller,
  target: { kind: AssistantKind; id: string; parentId?: string },
): Promise<AssistantObject> {
  const { kind, id, parentId } = target
  const found = await services.assistants.find(kind, id, ownerOf(caller))
  if (!found || (parentId !== undefined && found.parentId !== parentId)) throw notFound(kind, id)
  return found
}

/** 404 with OpenAI's message. */
export function notFound(kind: AssistantKind, id: string): GatewayError {
  const { word, param } = objectNames[kind]
  return new GatewayError('not-found', `No ${word} found with id '${id.slice(0, 100)}'.`, { param })
}

/** Throws the 404 or 403 that a call of the model would get; asked before anything is stored. */
export function checkModel(services: Services, caller: Caller, model: string): void {
  const found = callableDeployments(caller, model, services.current.models.of(caller))
  if (found instanceof GatewayError) throw found
}
