/** Threads, and how they grow. */
import type { Caller } from '../../core/call.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { AssistantObject } from '../../core/ports.ts'
import { newId, notFound, nowS } from '../assistants/common.ts'
import type { Fields } from '../assistants/common.ts'
import { currentRun } from './run-object.ts'

export function newThread(services: Services, caller: Caller, metadata: Fields | null | undefined): AssistantObject {
  const id = newId('thread')
  return {
    id,
    kind: 'thread',
    keyId: caller.key.id,
    parentId: null,
    runId: null,
    active: false,
    updatedAtMs: services.epochMs(),
    hidden: {},
    body: { id, object: 'thread', created_at: nowS(services), metadata: metadata ?? {}, tool_resources: null },
  }
}

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
