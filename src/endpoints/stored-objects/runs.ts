/** The paths of runs and their steps. */
import { errorSchema } from '../openapi/errors.ts'
import { findObject } from '../../assistants/objects.ts'
import { currentRun, outputsBody, runBody, threadAndRunBody } from '../../assistants/run-object.ts'
import { cancelRun, continueRun, findRun, startRun, startThreadAndRun } from '../../assistants/start-run.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  jsonOrEvents,
  listOf,
  named,
  nullable,
  oneOf,
  pageOf,
  shape,
  text,
  unixSeconds,
} from '../openapi/schema.ts'
import {
  docUnder,
  findThread,
  kept,
  metadata,
  metadataEndpoint,
  retrieveEndpoint,
  sampling,
  tools,
} from './common/object-endpoints.ts'
import type { FindObject, ObjectPath } from './common/object-endpoints.ts'
import { listObjects, pageParameters, readAssistantJson } from './common/object-requests.ts'
import { pathsOf } from './common/paths.ts'
import type { Properties } from '../openapi/schema.ts'
import { threadMessageSchema, threadSchema } from './threads.ts'

const failure = nullable(shape({ code: text, message: text }))
const functionCall = { id: text, type: constant('function') }
const calledFunction = { name: text, arguments: text }

const runUsageSchema = named('RunUsage', () =>
  shape({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
)

const runSchema = named('Run', () =>
  shape(
    {
      ...kept('thread.run'),
      thread_id: text,
      assistant_id: text,
      status: oneOf(
        'queued',
        'in_progress',
        'requires_action',
        'cancelling',
        'cancelled',
        'failed',
        'completed',
        'incomplete',
        'expired',
      ),
      required_action: nullable(
        shape({
          type: constant('submit_tool_outputs'),
          submit_tool_outputs: shape({
            tool_calls: listOf(shape({ ...functionCall, function: shape(calledFunction) })),
          }),
        }),
      ),
      last_error: failure,
      expires_at: nullable(unixSeconds),
      started_at: nullable(unixSeconds),
      cancelled_at: nullable(unixSeconds),
      failed_at: nullable(unixSeconds),
      completed_at: nullable(unixSeconds),
      incomplete_details: nullable(shape({ reason: oneOf('max_completion_tokens', 'max_prompt_tokens') })),
      model: text,
      instructions: text,
      tools,
      metadata,
      usage: nullable(runUsageSchema),
      ...sampling,
      max_prompt_tokens: nullable(integer),
      max_completion_tokens: nullable(integer),
      truncation_strategy: shape({ type: oneOf('auto', 'last_messages') }, { last_messages: nullable(integer) }),
      tool_choice: either(oneOf('none', 'auto', 'required'), anyObject),
      parallel_tool_calls: boolean,
    },
    { dropped_params: described('Fields that the upstream did not get.', listOf(text)) },
  ),
)

const runListSchema = named('RunList', () => pageOf(runSchema))

const runStepSchema = named('RunStep', () =>
  shape({
    ...kept('thread.run.step'),
    assistant_id: text,
    thread_id: text,
    run_id: text,
    type: oneOf('message_creation', 'tool_calls'),
    status: oneOf('in_progress', 'cancelled', 'failed', 'completed', 'expired'),
    step_details: either(
      shape({ type: constant('message_creation'), message_creation: shape({ message_id: text }) }),
      shape({
        type: constant('tool_calls'),
        tool_calls: listOf(shape({ ...functionCall, function: shape({ ...calledFunction, output: nullable(text) }) })),
      }),
    ),
    last_error: failure,
    expired_at: nullable(unixSeconds),
    cancelled_at: nullable(unixSeconds),
    failed_at: nullable(unixSeconds),
    completed_at: nullable(unixSeconds),
    metadata,
    usage: nullable(runUsageSchema),
  }),
)

const runStepListSchema = named('RunStepList', () => pageOf(runStepSchema))

const delta = (object: string, fields: Properties) =>
  shape({ id: text, object: constant(object), delta: shape(fields) })

const index = { index: integer }

const messageDelta = delta('thread.message.delta', {
  content: listOf(
    either(
      shape({ ...index, type: constant('text'), text: shape({ value: text }, { annotations: listOf(anyObject) }) }),
      shape({ ...index, type: constant('image_url'), image_url: shape({ url: text }) }),
      shape({ ...index, type: constant('refusal'), refusal: text }),
    ),
  ),
})

const stepDelta = delta('thread.run.step.delta', {
  step_details: shape({
    type: constant('tool_calls'),
    tool_calls: listOf(
      shape(
        {
          ...index,
          type: constant('function'),
          function: shape({ arguments: text }, { name: text, output: nullable(text) }),
        },
        { id: text },
      ),
    ),
  }),
})

const runStreamSchema = named('RunStream', () =>
  described(
    'The `event:` line names what has happened, such as `thread.run.created`; the last event is `done`.',
    either(
      threadSchema,
      runSchema,
      runStepSchema,
      threadMessageSchema,
      messageDelta,
      stepDelta,
      errorSchema,
      constant('[DONE]'),
    ),
  ),
)

const paths = (rest: string) => pathsOf(`/threads/{thread_id}/runs${rest}`)
const doc = docUnder('Threads')
const runOrEvents = { success: jsonOrEvents(runSchema, runStreamSchema), headers: ['x-request-id'] }

const create: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: doc(
    {
      operationId: 'createRun',
      summary: 'Run an assistant on a thread; `stream: true` = server-sent events',
      answer: runSchema,
    },
    { ...runOrEvents, request: runBody, failures: [403] },
  ),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    const body = await readAssistantJson(request, services, runBody())
    return startRun({ request, services, caller: caller! }, thread, body)
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
      answer: runSchema,
    },
    { ...runOrEvents, request: threadAndRunBody, failures: [403, 404] },
  ),
  async handle(request, services, caller) {
    const body = await readAssistantJson(request, services, threadAndRunBody())
    return startThreadAndRun({ request, services, caller: caller! }, body)
  },
}

/** The run that the path names, as it is now. */
const runOf: FindObject = ({ params }, services, caller) =>
  findRun(services, caller, { runId: params.run_id!, threadId: params.thread_id! })

const list: Endpoint = {
  method: 'GET',
  paths: paths(''),
  auth: 'key',
  doc: doc(
    { operationId: 'listRuns', summary: 'The runs of a thread', answer: runListSchema },
    { query: pageParameters },
  ),
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
  doc: doc({ operationId: 'cancelRun', summary: 'Cancel a run', answer: runSchema }, { failures: [400] }),
  async handle(request, services, caller) {
    const run = await runOf(request, services, caller!)
    return jsonAnswer((await cancelRun(services, run)).body)
  },
}

const submitToolOutputs: Endpoint = {
  method: 'POST',
  paths: paths('/{run_id}/submit_tool_outputs'),
  auth: 'key',
  doc: doc(
    {
      operationId: 'submitToolOutputs',
      summary: 'Give a run the outputs of all the tools that it waits for; `stream: true` = server-sent events',
      answer: runSchema,
    },
    { ...runOrEvents, request: outputsBody },
  ),
  async handle(request, services, caller) {
    const waiting = await runOf(request, services, caller!)
    const { tool_outputs: outputs, stream } = await readAssistantJson(request, services, outputsBody())
    return continueRun({ request, services, caller: caller! }, waiting, { outputs, stream: stream === true })
  },
}

const steps: Endpoint = {
  method: 'GET',
  paths: paths('/{run_id}/steps'),
  auth: 'key',
  doc: doc(
    { operationId: 'listRunSteps', summary: 'The steps of a run', answer: runStepListSchema },
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
 * 404 for runs of other keys and threads. 400 for a thread on which another run is active and for what the status of a
 * run does not allow; 429 when this process works on the key's share of runs, 503 when on the maximum number of all.
 */
export const runEndpoints: readonly Endpoint[] = [
  create,
  createWithThread,
  list,
  retrieveEndpoint(one, { operationId: 'getRun', summary: 'A run', answer: runSchema }),
  metadataEndpoint(one, {
    operationId: 'updateRun',
    summary: 'Change the metadata of a run',
    answer: runSchema,
  }),
  cancel,
  submitToolOutputs,
  steps,
  retrieveEndpoint(oneStep, { operationId: 'getRunStep', summary: 'A step of a run', answer: runStepSchema }),
]
