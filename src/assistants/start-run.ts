/** Starts the work on runs: new ones, and ones that were given the outputs of their tools. */
import type { Answer } from '../core/answer.ts'
import { jsonAnswer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { EndpointContext, Services } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import type { Json } from '../lib/json/json-values.ts'
import { EventStream } from '../formats/openai/event-stream.ts'
import { reserveWork } from './execute-run.ts'
import { newMessage } from './message-object.ts'
import { originOf } from './model-call.ts'
import { checkModel, findObject, notFound, nowS } from './objects.ts'
import { currentRun, endRun, newAttempt, newRun, openSteps, workId } from './run-object.ts'
import type { RunBody, ThreadAndRunBody, ToolOutputs } from './run-object.ts'
import { appendToThread, newThread } from './thread-object.ts'

interface QueuedRun extends EndpointContext {
  readonly run: AssistantObject
  readonly stream: boolean
  /** The first events of a stream. */
  readonly events: readonly (readonly [event: string, data: object])[]
  /** Stores the run with the status `queued`. */
  store(): Promise<void>
}

/** Stores a queued run and starts the work on it; answers with the run, or with the stream of its events. */
async function start({ request, services, caller, run, stream, events, store }: QueuedRun): Promise<Answer> {
  const origin = originOf(request)
  const reservation = reserveWork(services, run)
  try {
    await store()
  } catch (error) {
    reservation.release()
    throw error
  }
  const listener = stream ? new EventStream() : undefined
  for (const [event, data] of events) listener?.emit(event, data)
  reservation.start({ services, caller, origin, run, listener })
  return listener ? listener.answer(origin.requestId) : jsonAnswer(run.body, 200, { 'x-request-id': origin.requestId })
}

/** Throws 404 or 403 also for a model that the key cannot call. */
async function assistantFor(services: Services, caller: Caller, body: RunBody): Promise<AssistantObject> {
  const assistant = await findObject(services, caller, { kind: 'assistant', id: body.assistant_id })
  checkModel(services, caller, body.model ?? String(assistant.body.model))
  return assistant
}

/** Runs an assistant on a thread. Throws 400 while another run is active on it. */
export async function startRun(context: EndpointContext, thread: AssistantObject, body: RunBody): Promise<Answer> {
  const { services, caller } = context
  const run = newRun(services, thread, await assistantFor(services, caller, body), body)
  const messages = (body.additional_messages ?? []).map(one => newMessage(services, thread, one))
  const refusal = (activeId: string) => `Thread ${thread.id} already has an active run ${activeId}.`
  return start({
    ...context,
    run,
    stream: body.stream === true,
    events: [
      ['thread.run.created', run.body],
      ['thread.run.queued', run.body],
    ],
    store: () => appendToThread(services, thread, [...messages, run], refusal),
  })
}

/** Creates a thread and runs an assistant on it. */
export async function startThreadAndRun(context: EndpointContext, body: ThreadAndRunBody): Promise<Answer> {
  const { services, caller } = context
  const { thread: threadBody, ...runBody } = body
  const assistant = await assistantFor(services, caller, runBody)
  const thread = newThread(services, caller, threadBody?.metadata)
  const messages = (threadBody?.messages ?? []).map(one => newMessage(services, thread, one))
  const run = newRun(services, thread, assistant, runBody)
  return start({
    ...context,
    run,
    stream: body.stream === true,
    events: [
      ['thread.created', thread.body],
      ['thread.run.created', run.body],
      ['thread.run.queued', run.body],
    ],
    store: () => services.assistants.insert([thread, ...messages, run]),
  })
}

/** The run of this id in this thread, as it is now. Throws 404. */
export async function findRun(
  services: Services,
  caller: Caller,
  ids: { runId: string; threadId: string },
): Promise<AssistantObject> {
  const run = await findObject(services, caller, { kind: 'run', id: ids.runId, parentId: ids.threadId })
  return currentRun(services, run)
}

/** The run as it is stored now. Throws 404 when it was deleted meanwhile. */
async function latestOf(services: Services, { id }: AssistantObject): Promise<AssistantObject> {
  const run = await services.assistants.find('run', id, null)
  if (!run) throw notFound('run', id)
  return currentRun(services, run)
}

/** Cancels an active run; returns it as it is then. Throws 400 for one that has ended. */
export async function cancelRun(services: Services, run: AssistantObject): Promise<AssistantObject> {
  const steps = await openSteps(services, run)
  const cancelled = await services.assistants.change(run.id, now => {
    const { status } = now.body
    if (!now.active) return undefined
    // The process that works on it keeps the part of the answer that has come, and ends the run.
    if (status === 'in_progress' || status === 'cancelling') return { body: { ...now.body, status: 'cancelling' } }
    return endRun(now, steps, { status: 'cancelled' }, nowS(services))
  })
  if (!cancelled) {
    const { body } = await latestOf(services, run)
    throw new GatewayError('invalid-request', `Cannot cancel run with status '${String(body.status)}'.`)
  }
  services.detached.cancel(workId(cancelled))
  return cancelled
}

/** Continues a run that waits for the outputs of its tools. Throws 400 when it does not wait. */
export async function continueRun(
  context: EndpointContext,
  waiting: AssistantObject,
  { outputs, stream }: { outputs: ToolOutputs; stream: boolean },
): Promise<Answer> {
  const { services } = context
  if (waiting.body.status !== 'requires_action') throw notWaiting(waiting)
  const open = (await openSteps(services, waiting)).find(step => step.body.type === 'tool_calls')
  if (!open) throw notWaiting(await latestOf(services, waiting))
  const step = withOutputs(open, outputs, nowS(services))
  const hidden = newAttempt()
  const updatedAtMs = services.clock.epochMs()
  const body = { ...waiting.body, status: 'queued', required_action: null }
  return start({
    ...context,
    run: { ...waiting, hidden, updatedAtMs, body },
    stream,
    events: [
      ['thread.run.step.completed', step.body],
      ['thread.run.queued', body],
    ],
    async store() {
      const queued = await services.assistants.change(waiting.id, now =>
        now.body.status === 'requires_action'
          ? { hidden, updatedAtMs, body: { ...body, metadata: now.body.metadata }, put: [step], withinQuota: true }
          : undefined,
      )
      if (!queued) throw notWaiting(await latestOf(services, waiting))
    },
  })
}

function notWaiting({ body }: AssistantObject): GatewayError {
  return new GatewayError('invalid-request', `Runs in status "${String(body.status)}" do not accept tool outputs.`)
}

/**
 * Adds its output to each call; outputs without an id answer the calls that none names, in order. Throws 422 for one
 * that is missing, unknown or given twice.
 */
function withOutputs(step: AssistantObject, outputs: ToolOutputs, atS: number): AssistantObject {
  const { tool_calls: calls } = step.body.step_details as { tool_calls: { id: string; function: Json }[] }
  const expected = calls.map(call => call.id)
  const named = new Set(outputs.map(one => one.tool_call_id))
  const open = expected.filter(id => !named.has(id))
  const byId = new Map(outputs.map(one => [one.tool_call_id ?? open.shift(), one.output]))
  if (byId.size !== outputs.length || byId.size !== expected.length || !expected.every(id => byId.has(id)))
    throw unprocessable([
      {
        loc: ['body', 'tool_outputs'],
        msg: `must hold one output for each of the calls ${expected.join(', ')}`,
        type: 'invalid',
      },
    ])
  const answered = calls.map(call => ({ ...call, function: { ...call.function, output: byId.get(call.id)! } }))
  return {
    ...step,
    body: {
      ...step.body,
      status: 'completed',
      completed_at: atS,
      step_details: { type: 'tool_calls', tool_calls: answered },
    },
  }
}
