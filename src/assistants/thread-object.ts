/** Threads: made, and appended to. */
import { storingIdOf } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import { newObject, notFound } from './objects.ts'
import type { Json } from '../lib/json/json-values.ts'
import { currentRun } from './run-object.ts'

/** A thread of the caller's key, not stored yet. */
export function newThread(services: Services, caller: Caller, metadata: Json | null | undefined): AssistantObject {
  return newObject(
    services,
    { kind: 'thread', keyId: storingIdOf(caller) },
    { metadata: metadata ?? {}, tool_resources: null },
  )
}

/** Throws 400 with `refusal` while a run is active on the thread, and 404 when the thread was deleted. */
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
    // A run whose process has ended is ended here, which frees the thread.
    if ((await currentRun(services, result)).active) throw new GatewayError('invalid-request', refusal(result.id))
  }
}
