/** The paths of runs and their steps. */
import { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { AssistantObject } from '../../core/ports.ts'
import {
  checkModel,
  findObject,
  listObjects,
  nowS,
  pageParameters,
  readAssistantJson,
  schemaOf,
} from '../assistants/common.ts'
import { docUnder, metadataEndpoint, retrieveEndpoint } from '../assistants/object-endpoints.ts'
import type { ObjectPath } from '../assistants/object-endpoints.ts'
import { pathsOf } from '../kept-objects.ts'
import type { Fields } from '../kept-objects.ts'
import { jsonOrEvents } from '../openapi/schema.ts'
import { originOf } from './ask.ts'
import { EventSink } from './event-sink.ts'
import { reserve } from './execute.ts'
import { newMessage } from './message-object.ts'
import { currentRun, endRun, newAttempt, newRun, openSteps, runBody, threadAndRunBody, workId } from './run-object.ts'
import type { RunBody } from './run-object.ts'
import { appendToThread, findThread, newThread } from './thread-object.ts'

const paths = (rest: string) => pathsOf(`/threads/{thread_id}/runs${rest}`)
const doc = docUnder('Threads')
const runOrEvents = { success: jsonOrEvents('Run', 'RunStream'), headers: ['x-request-id'] }

interface Beginning {
  readonly request: HttpRequest
  readonly services: Services
  readonly caller: Caller
  readonly run: AssistantObject
  readonly stream: boolean
  /** What a listener is told first. */
  readonly events: readonly (readonly [event: string, data: object])[]
  /** Stores the run as it is when it is queued. */
  keep(): Promise<void>
}

/** Stores a queued run and begins with it; answers with the run, or with the stream of its events. */
async function begin({ request, services, caller, run, stream, events, keep }: Beginning): Promise<Answer> {
  const origin = originOf(request)
  const place = reserve(services, run)
  try {
    await keep()
  } catch (error) {
    place.release()
    throw error
  }
  const sink = stream ? new EventSink() : undefined
  for (const [event, data] of events) sink?.emit(event, data)
  place.go({ services, caller, origin, run, sink })
  return sink ? sink.answer(request.id) : jsonAnswer(run.body, 200, { 'x-request-id': request.id })
}

/** The assistant, once the model that will be asked is known to be within reach. */
async function assistantFor(services: Services, caller: Caller, asked: RunBody): Promise<AssistantObject> {
  const assistant = await findObject(services, caller, { kind: 'assistant', id: asked.assistant_id })
  checkModel(services, caller, asked.model ?? String(assistant.body.model))
  return assistant
}

const create: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: doc(
    {
      operationId: 'createRun',
      summary: 'Run an assistant on a thread; `stream: true` = server-sent events',
      answer: 'Run',
    },
    { ...runOrEvents, request: schemaOf(runBody), failures: [403] },
  ),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    const asked = await readAssistantJson(request, services, runBody)
    const run = newRun(services, thread, await assistantFor(services, caller!, asked), asked)
    const messages = (asked.additional_messages ?? []).map(body => newMessage(services, thread, body))
    return begin({
      request,
      services,
      caller: caller!,
      run,
      stream: asked.stream === true,
      events: [
        ['thread.run.created', run.body],
        ['thread.run.queued', run.body],
      ],
      keep: () =>
        appendToThread(
          services,
          thread,
          [...messages, run],
          busy => `Thread ${thread.id} already has an active run ${busy}.`,
        ),
    })
  },
}

const createWithThread: Endpoint = {
  method: 'POST',
  paths: pathsOf('/threads/runs'),
  auth: 'key',
  doc: doc(
    {
      operationId: 'createThreadAndRun',
      summary: 'Create a thread and run an assistant on it; `stream: true` = server-sent events',
      answer: 'Run',
    },
    { ...runOrEvents, request: schemaOf(threadAndRunBody), failures: [403, 404] },
  ),
  async handle(request, services, caller) {
    const { thread: wanted, ...asked } = await readAssistantJson(request, services, threadAndRunBody)
    const assistant = await assistantFor(services, caller!, asked)
    const thread = newThread(services, caller!, wanted?.metadata)
    const messages = (wanted?.messages ?? []).map(body => newMessage(services, thread, body))
    const run = newRun(services, thread, assistant, asked)
    return begin({
      request,
      services,
      caller: caller!,
      run,
      stream: asked.stream === true,
      events: [
        ['thread.created', thread.body],
        ['thread.run.created', run.body],
        ['thread.run.queued', run.body],
      ],
      keep: () => services.assistants.insert([thread, ...messages, run]),
    })
  },
}

/** The run of the path, as it is now. */
async function runOf({ params }: HttpRequest, services: Services, caller: Caller): Promise<AssistantObject> {
  const run = await findObject(services, caller, { kind: 'run', id: params.run_id!, parentId: params.thread_id! })
  return currentRun(services, run)
}

const list: Endpoint = {
  method: 'GET',
  paths: paths(''),
  auth: 'key',
  doc: doc({ operationId: 'listRuns', summary: 'The runs of a thread', answer: 'RunList' }, { query: pageParameters }),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    return listObjects(request, services, { kind: 'run', keyId: null, parentId: thread.id }, run =>
      currentRun(services, run),
    )
  },
}

const one: ObjectPath = { paths: paths('/{run_id}'), tag: 'Threads', find: runOf }

const cancel: Endpoint = {
  method: 'POST',
  paths: paths('/{run_id}/cancel'),
  auth: 'key',
  doc: doc({ operationId: 'cancelRun', summary: 'Cancel a run', answer: 'Run' }, { failures: [400] }),
  async handle(request, services, caller) {
    const run = await runOf(request, services, caller!)
    const steps = await openSteps(services, run)
    const cancelled = await services.assistants.change(run.id, now => {
      const { status } = now.body
      if (!now.active) return undefined
      // Whoever works on it keeps what there is of the answer, and ends it.
      if (status === 'in_progress' || status === 'cancelling') return { body: { ...now.body, status: 'cancelling' } }
      return endRun(now, steps, { status: 'cancelled' }, nowS(services))
    })
    if (!cancelled) {
      const { body } = await runOf(request, services, caller!)
      throw new GatewayError('invalid-request', `Cannot cancel run with status '${String(body.status)}'.`)
    }
    services.detached.cancel(workId(cancelled))
    return jsonAnswer(cancelled.body)
  },
}

const outputsBody = z.strictObject({
  tool_outputs: z.array(z.strictObject({ tool_call_id: z.string(), output: z.string().default('') })).min(1),
  stream: z.boolean().nullish(),
})
type Outputs = z.infer<typeof outputsBody>['tool_outputs']

const submitToolOutputs: Endpoint = {
  method: 'POST',
  paths: paths('/{run_id}/submit_tool_outputs'),
  auth: 'key',
  doc: doc(
    {
      operationId: 'submitToolOutputs',
      summary: 'Give a run the outputs of all the tools that it waits for; `stream: true` = server-sent events',
      answer: 'Run',
    },
    { ...runOrEvents, request: schemaOf(outputsBody) },
  ),
  async handle(request, services, caller) {
    const waiting = await runOf(request, services, caller!)
    const { tool_outputs: outputs, stream } = await readAssistantJson(request, services, outputsBody)
    if (waiting.body.status !== 'requires_action') throw notWaiting(waiting)
    const open = (await openSteps(services, waiting)).find(step => step.body.type === 'tool_calls')
    if (!open) throw notWaiting(await runOf(request, services, caller!))
    const step = withOutputs(open, outputs, nowS(services))
    const run: AssistantObject = {
      ...waiting,
      hidden: newAttempt(),
      updatedAtMs: services.epochMs(),
      body: { ...waiting.body, status: 'queued', required_action: null },
    }
    const { hidden, updatedAtMs, body } = run
    return begin({
      request,
      services,
      caller: caller!,
      run,
      stream: stream === true,
      events: [
        ['thread.run.step.completed', step.body],
        ['thread.run.queued', body],
      ],
      async keep() {
        const queued = await services.assistants.change(run.id, now =>
          now.body.status === 'requires_action'
            ? { hidden, updatedAtMs, body: { ...body, metadata: now.body.metadata }, put: [step] }
            : undefined,
        )
        if (!queued) throw notWaiting(await runOf(request, services, caller!))
      },
    })
  },
}

function notWaiting({ body }: AssistantObject): GatewayError {
  return new GatewayError('invalid-request', `Runs in status "${String(body.status)}" do not accept tool outputs.`)
}

/** Each call gets its output. Throws 422 for one that is missing, unknown, or there twice. */
function withOutputs(step: AssistantObject, outputs: Outputs, atS: number): AssistantObject {
  const { tool_calls: calls } = step.body.step_details as { tool_calls: { id: string; function: Fields }[] }
  const byId = new Map(outputs.map(one => [one.tool_call_id, one.output]))
  const expected = calls.map(call => call.id)
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

const steps: Endpoint = {
  method: 'GET',
  paths: paths('/{run_id}/steps'),
  auth: 'key',
  doc: doc(
    { operationId: 'listRunSteps', summary: 'The steps of a run', answer: 'RunStepList' },
    { query: pageParameters },
  ),
  async handle(request, services, caller) {
    const run = await runOf(request, services, caller!)
    return listObjects(request, services, { kind: 'step', keyId: null, parentId: run.id })
  },
}

const oneStep: ObjectPath = {
  paths: paths('/{run_id}/steps/{step_id}'),
  tag: 'Threads',
  async find(request, services, caller) {
    const run = await runOf(request, services, caller)
    return findObject(services, caller, { kind: 'step', id: request.params.step_id!, parentId: run.id })
  },
}

/**
 * 404 for runs of other keys and threads. 400 for a thread that another run holds and for what the status of a run does
 * not allow; 503 when this process works on too many.
 */
export const runEndpoints: readonly Endpoint[] = [
  create,
  createWithThread,
  list,
  retrieveEndpoint(one, { operationId: 'getRun', summary: 'A run', answer: 'Run' }),
  metadataEndpoint(one, { operationId: 'updateRun', summary: 'Change the metadata of a run', answer: 'Run' }),
  cancel,
  submitToolOutputs,
  steps,
  retrieveEndpoint(oneStep, { operationId: 'getRunStep', summary: 'A step of a run', answer: 'RunStep' }),
]
