/** The paths of runs and their steps. */
import { findObject } from '../../assistants/objects.ts'
import { currentRun, outputsBody, runBody, threadAndRunBody } from '../../assistants/run-object.ts'
import { cancelRun, continueRun, findRun, startRun, startThreadAndRun } from '../../assistants/start-run.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { jsonOrEvents, reference } from '../openapi/schema.ts'
import { docUnder, findThread, metadataEndpoint, retrieveEndpoint } from './common/object-endpoints.ts'
import type { FindObject, ObjectPath } from './common/object-endpoints.ts'
import { listObjects, pageParameters, readAssistantJson } from './common/object-requests.ts'
import { pathsOf } from './common/paths.ts'

const paths = (rest: string) => pathsOf(`/threads/{thread_id}/runs${rest}`)
const doc = docUnder('Threads')
const runOrEvents = { success: jsonOrEvents(reference('Run'), reference('RunStream')), headers: ['x-request-id'] }

const create: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: doc(
    {
      operationId: 'createRun',
      summary: 'Run an assistant on a thread; `stream: true` = server-sent events',
      answer: reference('Run'),
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
      answer: reference('Run'),
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
    { operationId: 'listRuns', summary: 'The runs of a thread', answer: reference('RunList') },
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
  doc: doc({ operationId: 'cancelRun', summary: 'Cancel a run', answer: reference('Run') }, { failures: [400] }),
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
      answer: reference('Run'),
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
    { operationId: 'listRunSteps', summary: 'The steps of a run', answer: reference('RunStepList') },
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
  retrieveEndpoint(one, { operationId: 'getRun', summary: 'A run', answer: reference('Run') }),
  metadataEndpoint(one, {
    operationId: 'updateRun',
    summary: 'Change the metadata of a run',
    answer: reference('Run'),
  }),
  cancel,
  submitToolOutputs,
  steps,
  retrieveEndpoint(oneStep, { operationId: 'getRunStep', summary: 'A step of a run', answer: reference('RunStep') }),
]
