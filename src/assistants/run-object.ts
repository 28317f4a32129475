/** Runs: their request bodies, their state, how they begin and end (OpenAI API reference, "Runs"). */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import type { Services } from '../core/endpoint.ts'
import { lostProcess } from '../core/objects/detached-runs.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import { newObject, nowS } from './objects.ts'
import type { Json } from '../lib/json/json-values.ts'
import {
  instructionsField,
  metadataField,
  modelField,
  samplingFields,
  toolChoiceField,
  toolResourcesField,
  toolsField,
  truncationField,
} from './fields.ts'
import { messageBody } from './message-object.ts'
import { lazy } from '../lib/lazy.ts'

/** OpenAI's lifetime of a run; afterwards it is expired, also while it waits for the outputs of tools. */
const lifeMs = 10 * 60_000

const runFields = lazy(() => ({
  assistant_id: z.string(),
  model: modelField().nullish(),
  instructions: instructionsField(),
  tools: toolsField(128),
  metadata: metadataField(),
  ...samplingFields(),
  stream: z.boolean().nullish(),
  max_prompt_tokens: z.number().int().min(256).nullish(),
  max_completion_tokens: z.number().int().min(256).nullish(),
  truncation_strategy: truncationField(),
  tool_choice: toolChoiceField(),
  parallel_tool_calls: z.boolean().nullish(),
}))

/** Body fields of a thread (OpenAI API reference, "Create thread"), created alone or together with a run. */
export const threadFields = lazy(() => ({
  messages: z.array(messageBody()).nullish(),
  tool_resources: toolResourcesField(),
  metadata: metadataField(),
}))

/** OpenAI API reference, "Create run". null = the assistant's value, or as if the field had not been sent. */
export const runBody = lazy(() =>
  z.strictObject({
    ...runFields(),
    additional_instructions: instructionsField(),
    additional_messages: z.array(messageBody()).nullish(),
  }),
)

/** OpenAI API reference, "Create thread and run". Additional messages are in `thread`. */
export const threadAndRunBody = lazy(() =>
  z.strictObject({
    ...runFields(),
    tool_resources: toolResourcesField(),
    thread: z.strictObject(threadFields()).nullish(),
  }),
)

/** The body of a run together with its thread. */
export type ThreadAndRunBody = z.infer<ReturnType<typeof threadAndRunBody>>

/** OpenAI API reference, "Submit tool outputs to run". */
export const outputsBody = lazy(() =>
  z.strictObject({
    tool_outputs: z
      .array(z.strictObject({ tool_call_id: z.string().nullish(), output: z.string().default('') }))
      .min(1),
    stream: z.boolean().nullish(),
  }),
)

/** The outputs of all the calls that a run waits for. */
export type ToolOutputs = z.infer<ReturnType<typeof outputsBody>>['tool_outputs']

/** For both paths: a run with a new thread has none of the `additional_` fields. */
export type RunBody = z.infer<ReturnType<typeof runBody>>

/**
 * A queued run, not stored yet. Fields that `requested` does not set come from the assistant; the additional
 * instructions are appended.
 */
export function newRun(
  services: Services,
  thread: Pick<AssistantObject, 'id' | 'keyId'>,
  assistant: AssistantObject,
  requested: RunBody,
): AssistantObject {
  const given = assistant.body
  const nowMs = services.clock.epochMs()
  const instructions = [requested.instructions ?? given.instructions, requested.additional_instructions]
    .filter(Boolean)
    .join('\n\n')
  const base = {
    kind: 'run',
    keyId: thread.keyId,
    parentId: thread.id,
    active: true,
    updatedAtMs: nowMs,
    hidden: newAttempt(),
  } as const
  return newObject(services, base, {
    thread_id: thread.id,
    assistant_id: assistant.id,
    status: 'queued',
    required_action: null,
    last_error: null,
    expires_at: Math.floor((services.sharedClock.epochMs() + lifeMs) / 1000),
    started_at: null,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    incomplete_details: null,
    model: requested.model ?? given.model,
    instructions,
    tools: requested.tools ?? given.tools,
    metadata: requested.metadata ?? {},
    usage: null,
    temperature: requested.temperature ?? given.temperature,
    top_p: requested.top_p ?? given.top_p,
    max_prompt_tokens: requested.max_prompt_tokens ?? null,
    max_completion_tokens: requested.max_completion_tokens ?? null,
    truncation_strategy: requested.truncation_strategy ?? { type: 'auto', last_messages: null },
    tool_choice: requested.tool_choice ?? 'auto',
    parallel_tool_calls: requested.parallel_tool_calls ?? true,
    response_format: requested.response_format ?? given.response_format,
    reasoning_effort: requested.reasoning_effort ?? given.reasoning_effort,
  })
}

/** A new id for each time that a process works on a run. */
export function newAttempt(): Json {
  return { attempt: randomUUIDv7() }
}

/** The id of the work on a run, for `DetachedRuns`. */
export function workId({ id, hidden }: AssistantObject): string {
  return `${id} ${String(hidden.attempt)}`
}

/** How a run ended. */
export type Ending =
  | { readonly status: 'completed' | 'cancelled' | 'expired' }
  | { readonly status: 'incomplete'; readonly reason: 'max_completion_tokens' | 'max_prompt_tokens' }
  | {
      readonly status: 'failed'
      readonly code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt'
      readonly message: string
    }

/** The public fields of a run that has ended. */
export function endedBody(body: AssistantObject['body'], ending: Ending, atS: number): Json {
  const { status } = ending
  const stamp = status === 'completed' || status === 'failed' || status === 'cancelled' ? { [`${status}_at`]: atS } : {}
  return {
    ...body,
    ...stamp,
    status,
    required_action: null,
    expires_at: status === 'expired' ? body.expires_at : null,
    ...(ending.status === 'failed' && { last_error: { code: ending.code, message: ending.message } }),
    ...(ending.status === 'incomplete' && { incomplete_details: { reason: ending.reason } }),
  }
}

/** A step that was in progress when its run ended. */
export function endedStep(step: AssistantObject, ending: Ending, atS: number): AssistantObject {
  const { status } = ending
  const known = status === 'incomplete' ? 'failed' : status
  const message = ending.status === 'failed' ? ending.message : `the run is ${status}`
  const last_error = known === 'failed' ? { code: 'server_error', message } : null
  return { ...step, body: { ...step.body, status: known, [`${known}_at`]: atS, last_error } }
}

/** The ending of an active run whose process has ended, or that took too long; undefined = it goes on. */
function overdue(services: Services, { active, body }: AssistantObject, isAbandoned: boolean): Ending | undefined {
  if (!active) return undefined
  if (body.status === 'requires_action')
    return services.sharedClock.epochMs() >= Number(body.expires_at) * 1000 ? { status: 'expired' } : undefined
  if (!isAbandoned) return undefined
  if (body.status === 'cancelling') return { status: 'cancelled' }
  return {
    status: 'failed',
    code: 'server_error',
    message: `the gateway process that worked on this run ${lostProcess}`,
  }
}

/** The run as it is now: one that is overdue is ended when it is read. */
export async function currentRun(services: Services, run: AssistantObject): Promise<AssistantObject> {
  const isAbandoned = run.active && run.body.status !== 'requires_action' && (await services.runWatch.isAbandoned(run))
  if (!overdue(services, run, isAbandoned)) return run
  const steps = await openSteps(services, run)
  const ended = await services.assistants.change(run.id, now => {
    // Not one that was renewed meanwhile.
    const ending = overdue(services, now, isAbandoned && now.updatedAtMs === run.updatedAtMs)
    return ending && endRun(now, steps, ending, nowS(services))
  })
  return ended ?? (await services.assistants.find('run', run.id, null)) ?? run
}

/** The changes to a run that ends between two turns; `open` = its steps in progress. */
export function endRun(run: AssistantObject, open: readonly AssistantObject[], ending: Ending, atS: number) {
  return { active: false, body: endedBody(run.body, ending, atS), put: open.map(step => endedStep(step, ending, atS)) }
}

/** A run makes at most two steps a turn. */
const stepsMax = 100_000

/** Every step of a run, in order. */
export async function stepsOf(services: Services, run: AssistantObject): Promise<AssistantObject[]> {
  const found = await services.assistants.list({
    kind: 'step',
    keyId: null,
    parentId: run.id,
    limit: stepsMax,
    order: 'asc',
  })
  return found?.objects ?? []
}

/** The stored steps in progress: the calls whose outputs a run waits for, or none. */
export async function openSteps(services: Services, run: AssistantObject): Promise<AssistantObject[]> {
  return (await stepsOf(services, run)).filter(step => step.body.status === 'in_progress')
}
