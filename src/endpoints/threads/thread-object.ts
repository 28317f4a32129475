/** Threads, and how they grow. */
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { AssistantObject } from '../../core/ports.ts'
import { findObject, newObject, notFound } from '../assistants/common.ts'
import type { FindObject } from '../assistants/object-endpoints.ts'
import type { Fields } from '../kept-objects.ts'
import { currentRun } from './run-object.ts'

/** Of the caller's key; not stored yet. */
export function newThread(services: Services, caller: Caller, metadata: Fields | null | undefined): AssistantObject {
  return newObject(
    services,
    { kind: 'thread', keyId: caller.key.id },
    { metadata: metadata ?? {}, tool_resources: null },
  )
}

/** The thread of the path. */
export const findThread: FindObject = ({ params }, services, caller) =>
  findObject(services, caller, { kind: 'thread', id: params.thread_id! })

/** Throws 400 with `refusal` while a run holds the thread, and 404 when the thread is gone. */
export async function appendToThread(
  services: Services,
  thread: AssistantObject,
  objects: readonly AssistantObject[],
  refusal: (runId: string) => string,
): Promise<void> {
  for (;;) {
    const result = await services.assistants.append(thread.id, objects)
    if (result === 'added') return
    if (result === 'gone') throw notFound('thread', thread.id)
    // One that nobody works on any more is ended here, and the thread is free.
    if ((await currentRun(services, result)).active) throw new GatewayError('invalid-request', refusal(result.id))
  }
}
