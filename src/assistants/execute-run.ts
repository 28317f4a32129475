/** The work on a run: one call of the model, until its answer has ended or it waits for the outputs of tools. */
import type { Caller } from '../core/caller.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { AssistantChange, AssistantObject, HeldRun } from '../core/objects/assistants.ts'
import { untilStored } from '../core/objects/until-stored.ts'
import { nowS } from './objects.ts'
import type { Json } from '../lib/json/json-values.ts'
import { askModel, failureOfError, serverFailure } from './model-call.ts'
import type { ModelAnswer, Origin } from './model-call.ts'
import type { EventStream } from '../formats/openai/event-stream.ts'
import { promptOf } from './prompt.ts'
import { endedBody, workId } from './run-object.ts'
import type { Ending } from './run-object.ts'
import { Turn } from './turn.ts'
import type { TurnEnd, TurnObjects } from './turn.ts'

/** A client that listens gets the end of its run within this time, stored or not. */
const listenMs = 15_000

const runRoute = '/v1/threads/{thread_id}/runs'

/** What the work on a run needs once its request has been answered. */
interface RunWork {
  readonly services: Services
  readonly caller: Caller
  readonly origin: Origin
  /** Queued. */
  readonly run: AssistantObject
  /** undefined = the client did not ask for a stream. */
  readonly listener: EventStream | undefined
}

/** One of the limited number of runs at once, taken before the run is stored: what is stored can be worked on. */
interface Reservation {
  start(work: RunWork): void
  release(): void
}

/** Throws as `DetachedRuns.start` when this process already works on as many runs as it may. */
export function reserveWork(services: Services, run: AssistantObject): Reservation {
  const decided = Promise.withResolvers<RunWork | undefined>()
  services.detached.start({ id: workId(run), keyId: run.keyId }, async signal => {
    const held = services.runWatch.hold(run.id)
    try {
      const work = await decided.promise
      if (work) await execute(work, held, signal)
    } finally {
      held.release()
    }
  })
  return { start: work => decided.resolve(work), release: () => decided.resolve(undefined) }
}

async function execute(work: RunWork, held: HeldRun, signal: AbortSignal): Promise<void> {
  const { services, run, listener } = work
  try {
    await advance(work, held, signal)
  } catch (thrown) {
    const error = toGatewayError(thrown)
    listener?.fail(error)
    const failure = failureOfError(error)
    const edit = (now: AssistantObject) =>
      now.active ? { active: false, body: endedBody(now.body, failure, nowS(services)) } : undefined
    // If this fails too, the run is ended when it is next read.
    await services.assistants.change(run.id, edit).catch(() => {})
  } finally {
    listener?.end()
  }
}

async function advance(work: RunWork, held: HeldRun, signal: AbortSignal): Promise<void> {
  const { services, listener } = work
  const run = await services.assistants.change(work.run.id, ({ active, body }) => {
    if (!active || body.status !== 'queued') return undefined
    return {
      updatedAtMs: services.clock.epochMs(),
      body: { ...body, status: 'in_progress', started_at: body.started_at ?? nowS(services) },
    }
  })
  if (!run) return sendEnd(work)
  listener?.emit('thread.run.in_progress', run.body)
  let isExpired = false
  held.renew({
    expiresAtMs: Number(run.body.expires_at) * 1000,
    ended(reason) {
      isExpired = reason === 'expired'
      services.detached.cancel(workId(run))
    },
  })
  const turn = new Turn(services, run, (event, data) => listener?.emit(event, data))
  const { end, dropped } = await answered({ ...work, run }, turn, signal)
  await finish({ ...work, run }, turn, { end: isExpired ? { status: 'expired' } : end, dropped })
}

interface TurnResult {
  readonly end: TurnEnd
  readonly dropped: readonly string[]
}

async function answered(work: RunWork, turn: Turn, signal: AbortSignal): Promise<TurnResult> {
  const { services, caller, origin, run, listener } = work
  let answer: ModelAnswer
  try {
    const prompt = await promptOf(services, run, listener !== undefined)
    if ('limit' in prompt) return { end: { status: 'incomplete', reason: prompt.limit }, dropped: [] }
    const request = {
      services,
      caller,
      origin,
      body: prompt.body,
      signal,
      route: runRoute,
      sessionId: run.parentId ?? run.id,
    }
    answer = await askModel(request, turn)
  } catch (error) {
    answer = { failure: failureOfError(error), dropped: [] }
  }
  const { dropped, failure } = answer
  if (failure)
    return { end: signal.aborted ? serverFailure('the gateway stopped while it worked on this run') : failure, dropped }
  return { end: endOf(turn), dropped }
}

/** The end of a run whose answer is complete. */
function endOf(turn: Turn): TurnEnd {
  if (turn.finish === 'length') return { status: 'incomplete', reason: 'max_completion_tokens' }
  if (turn.finish === 'content_filter')
    return serverFailure('the answer was stopped by the content filter of the model')
  return { status: turn.calls.length > 0 ? 'requires_action' : 'completed' }
}

/** Stores the turn's objects together with the run, then sends the events: an end is only reported once stored. */
async function finish(work: RunWork, turn: Turn, { end, dropped }: TurnResult): Promise<void> {
  const { services, run, listener } = work
  let made: TurnObjects | undefined
  const timer =
    listener &&
    setTimeout(() => {
      listener.fail(unstored())
      listener.end()
    }, listenMs)
  const stored = await untilStored(services.clock, () =>
    services.assistants.change(run.id, now => {
      // An attempt without an answer may have stored it.
      if (!now.active || now.hidden.attempt !== run.hidden.attempt || now.body.status === 'requires_action')
        return undefined
      const final: TurnEnd = now.body.status === 'cancelling' ? { status: 'cancelled' } : end
      made = turn.end(final)
      return { ...changeAtEnd(services, { run: now, turn, end: final, dropped }), put: made.put }
    }),
  ).finally(() => clearTimeout(timer))
  if (!stored || !made) return sendEnd(work)
  for (const [event, data] of made.events) listener?.emit(event, data)
  listener?.emit(`thread.run.${String(stored.body.status)}`, stored.body)
}

const unstored = () =>
  new GatewayError('overloaded', 'the run has ended and cannot be stored now; read it again in a minute')

interface EndedRun {
  readonly run: AssistantObject
  readonly turn: Turn
  readonly end: TurnEnd
  /** Request fields that the model does not support. */
  readonly dropped: readonly string[]
}

function changeAtEnd(services: Services, { run, turn, end, dropped }: EndedRun): AssistantChange {
  const body: Json = { ...run.body, usage: sum(run.body.usage as Json | null, turn.usage) }
  // A field of this gateway.
  if (dropped.length > 0)
    body.dropped_params = [...new Set([...((run.body.dropped_params as string[] | undefined) ?? []), ...dropped])]
  if (end.status === 'requires_action')
    return {
      updatedAtMs: services.clock.epochMs(),
      body: { ...body, status: end.status, required_action: turn.requiredAction },
    }
  return { active: false, body: endedBody(body, end satisfies Ending, nowS(services)) }
}

function sum(one: Json | null, other: Json | null): Json | null {
  if (!one || !other) return one ?? other
  const names = ['prompt_tokens', 'completion_tokens', 'total_tokens']
  return Object.fromEntries(names.map(name => [name, Number(one[name]) + Number(other[name])]))
}

/** For a run that another request or process has ended or deleted. */
async function sendEnd({ services, run, listener }: RunWork): Promise<void> {
  if (!listener) return
  const now = await services.assistants.find('run', run.id, null)
  if (now) listener.emit(`thread.run.${String(now.body.status)}`, now.body)
  else listener.fail(new GatewayError('not-found', `the run '${run.id}' was deleted with its thread`))
}
