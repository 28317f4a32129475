/** Runs: how they are asked for, how they begin and how they end (OpenAI API reference, "Runs"). */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import type { Services } from '../../core/endpoint.ts'
import type { AssistantObject } from '../../core/ports.ts'
import { newObject, nowS } from '../assistants/common.ts'
import type { Fields } from '../kept-objects.ts'
import {
  instructionsField,
  metadataField,
  modelField,
  samplingFields,
  toolChoiceField,
  toolResourcesField,
  toolsField,
  truncationField,
} from '../assistants/fields.ts'
import { staleMs } from '../responses/background.ts'
import { messageBody } from './message-object.ts'

/** OpenAI's: what takes longer is expired, also when it waits for the outputs of tools. */
const lifeMs = 10 * 60_000

const runFields = {
  assistant_id: z.string(),
  model: modelField.nullish(),
  instructions: instructionsField,
  tools: toolsField(128),
  metadata: metadataField,
  ...samplingFields,
  stream: z.boolean().nullish(),
  max_prompt_tokens: z.number().int().min(256).nullish(),
  max_completion_tokens: z.number().int().min(256).nullish(),
  truncation_strategy: truncationField,
  tool_choice: toolChoiceField,
  parallel_tool_calls: z.boolean().nullish(),
}

/** What a thread is made of (OpenAI API reference, "Create thread"), by itself or together with a run. */
export const threadFields = {
  messages: z.array(messageBody).nullish(),
  tool_resources: toolResourcesField,
  metadata: metadataField,
}

/** OpenAI API reference, "Create run". null = as the assistant says, or as if it had not been sent. */
export const runBody = z.strictObject({
  ...runFields,
  additional_instructions: instructionsField,
  additional_messages: z.array(messageBody).nullish(),
})

/** OpenAI API reference, "Create thread and run". What would be added to a thread stands in `thread` itself. */
export const threadAndRunBody = z.strictObject({
  ...runFields,
  tool_resources: toolResourcesField,
  thread: z.strictObject(threadFields).nullish(),
})

/** Of either path: a run with a new thread has none of the `additional_` fields. */
export type RunBody = z.infer<typeof runBody>

/**
 * Queued and not stored yet. What `asked` leaves open the assistant says; its additional instructions are added to
 * either.
 */
export function newRun(
  services: Services,
  thread: Pick<AssistantObject, 'id' | 'keyId'>,
  assistant: AssistantObject,
  asked: RunBody,
): AssistantObject {
  const given = assistant.body
  const nowMs = services.epochMs()
  const instructions = [asked.instructions ?? given.instructions, asked.additional_instructions]
    .filter(Boolean)
    .join('\n\n')
  const place = {
    kind: 'run',
    keyId: thread.keyId,
    parentId: thread.id,
    active: true,
    updatedAtMs: nowMs,
    hidden: newAttempt(),
  } as const
  return newObject(services, place, {
    thread_id: thread.id,
    assistant_id: assistant.id,
    status: 'queued',
    required_action: null,
    last_error: null,
    expires_at: Math.floor((nowMs + lifeMs) / 1000),
    started_at: null,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    incomplete_details: null,
    model: asked.model ?? given.model,
    instructions,
    tools: asked.tools ?? given.tools,
    metadata: asked.metadata ?? {},
    usage: null,
    temperature: asked.temperature ?? given.temperature,
    top_p: asked.top_p ?? given.top_p,
    max_prompt_tokens: asked.max_prompt_tokens ?? null,
    max_completion_tokens: asked.max_completion_tokens ?? null,
    truncation_strategy: asked.truncation_strategy ?? { type: 'auto', last_messages: null },
    tool_choice: asked.tool_choice ?? 'auto',
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    response_format: asked.response_format ?? given.response_format,
    reasoning_effort: asked.reasoning_effort ?? given.reasoning_effort,
  })
}

/** Each time that a process works on a run. */
export function newAttempt(): Fields {
  return { attempt: randomUUIDv7() }
}

/** The name of a run's work in the process that does it. */
export function workId({ id, hidden }: AssistantObject): string {
  return `${id} ${String(hidden.attempt)}`
}

/** Why a run is over. */
export type Ending =
  | { readonly status: 'completed' | 'cancelled' | 'expired' }
  | { readonly status: 'incomplete'; readonly reason: 'max_completion_tokens' | 'max_prompt_tokens' }
  | {
      readonly status: 'failed'
      readonly code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt'
      readonly message: string
    }

/** The run as clients see it once it is over. */
export function endedBody(body: AssistantObject['body'], ending: Ending, atS: number): Fields {
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

/** A step that was open when its run ended. */
export function endedStep(step: AssistantObject, ending: Ending, atS: number): AssistantObject {
  const { status } = ending
  const known = status === 'incomplete' ? 'failed' : status
  const message = ending.status === 'failed' ? ending.message : `the run is ${status}`
  const last_error = known === 'failed' ? { code: 'server_error', message } : null
  return { ...step, body: { ...step.body, status: known, [`${known}_at`]: atS, last_error } }
}

/** The ending of an active run that nobody works on any more, or that took too long. */
function overdue({ active, body, updatedAtMs }: AssistantObject, nowMs: number): Ending | undefined {
  if (!active) return undefined
  if (body.status === 'requires_action')
    return nowMs >= Number(body.expires_at) * 1000 ? { status: 'expired' } : undefined
  if (nowMs - updatedAtMs < staleMs) return undefined
  if (body.status === 'cancelling') return { status: 'cancelled' }
  return { status: 'failed', code: 'server_error', message: 'the gateway process that worked on this run has ended' }
}

/** The run as it is now: one that is overdue is ended by whoever looks at it. */
export async function currentRun(services: Services, run: AssistantObject): Promise<AssistantObject> {
  if (!overdue(run, services.epochMs())) return run
  const steps = await openSteps(services, run)
  const ended = await services.assistants.change(run.id, now => {
    const ending = overdue(now, services.epochMs())
    return ending && endRun(now, steps, ending, nowS(services))
  })
  return ended ?? (await services.assistants.find('run', run.id, null)) ?? run
}

/** What changes when a run ends between two turns. */
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

/** The stored ones that have not ended: the calls whose outputs a run waits for, or none. */
export async function openSteps(services: Services, run: AssistantObject): Promise<AssistantObject[]> {
  return (await stepsOf(services, run)).filter(step => step.body.status === 'in_progress')
}
