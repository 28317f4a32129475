/** The work on a run: one question to the model, until it has answered or wants the outputs of tools. */
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { AssistantChange, AssistantObject } from '../../core/ports.ts'
import { nowS } from '../assistants/common.ts'
import type { Fields } from '../kept-objects.ts'
import { askModel, failureOfError, serverFailure } from './ask.ts'
import type { Asked, Origin } from './ask.ts'
import type { EventSink } from './event-sink.ts'
import { promptOf } from './prompt.ts'
import { endedBody, workId } from './run-object.ts'
import type { Ending } from './run-object.ts'
import { Turn } from './turn.ts'
import type { TurnEnd, TurnObjects } from './turn.ts'

const renewalMs = 5000
/** An answer that is paid for is not given up because the database is away for a moment. */
const storeAgainMs = [250, 1000, 4000]

/** What the work on a run needs once its request is answered. */
interface RunWork {
  readonly services: Services
  readonly caller: Caller
  readonly origin: Origin
  /** Queued. */
  readonly run: AssistantObject
  /** Undefined = nobody listens; the run is asked for later. */
  readonly sink: EventSink | undefined
}

/** Holds a place among the runs of this process until the run is stored: nothing is kept that cannot be worked on. */
interface Place {
  go(work: RunWork): void
  release(): void
}

/** Throws `overloaded` when this process works on too much already. */
export function reserve(services: Services, run: AssistantObject): Place {
  const decided = Promise.withResolvers<RunWork | undefined>()
  const started = services.detached.start(workId(run), async signal => {
    const work = await decided.promise
    if (work) await execute(work, signal)
  })
  if (!started) throw new GatewayError('overloaded', 'too many runs go on already; try again later')
  return { go: work => decided.resolve(work), release: () => decided.resolve(undefined) }
}

async function execute(work: RunWork, signal: AbortSignal): Promise<void> {
  const { services, run, sink } = work
  try {
    await advance(work, signal)
  } catch (thrown) {
    const error = toGatewayError(thrown)
    sink?.fail(error)
    const failure = failureOfError(error)
    const edit = (now: AssistantObject) =>
      now.active ? { active: false, body: endedBody(now.body, failure, nowS(services)) } : undefined
    // If this fails too, whoever looks at the run later ends it.
    await services.assistants.change(run.id, edit).catch(() => {})
  } finally {
    sink?.end()
  }
}

async function advance(work: RunWork, signal: AbortSignal): Promise<void> {
  const { services, sink } = work
  const run = await services.assistants.change(work.run.id, ({ active, body }) => {
    if (!active || body.status !== 'queued') return undefined
    return {
      updatedAtMs: services.epochMs(),
      body: { ...body, status: 'in_progress', started_at: body.started_at ?? nowS(services) },
    }
  })
  if (!run) return tellEnd(work)
  sink?.emit('thread.run.in_progress', run.body)
  const watch = new Watch(services, run)
  const turn = new Turn(services, run, (event, data) => sink?.emit(event, data))
  try {
    const { end, dropped } = await answered({ ...work, run }, turn, signal)
    await conclude({ ...work, run }, turn, { end: watch.expired ? { status: 'expired' } : end, dropped })
  } finally {
    watch.stop()
  }
}

/** Keeps a run alive in the store, and ends its work when the run was cancelled, deleted, or takes too long. */
class Watch {
  expired = false
  readonly #timer: ReturnType<typeof setInterval>

  constructor(services: Services, run: AssistantObject) {
    const end = () => services.detached.cancel(workId(run))
    const look = async () => {
      const nowMs = services.epochMs()
      this.expired ||= nowMs >= Number(run.body.expires_at) * 1000
      if (this.expired) return end()
      const status = await services.assistants.renew(run.id, nowMs)
      if (status === undefined || status === 'cancelling') end()
    }
    // The database may be away for a while; the run goes on.
    this.#timer = setInterval(() => void look().catch(() => {}), renewalMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

interface Answered {
  readonly end: TurnEnd
  readonly dropped: readonly string[]
}

async function answered(work: RunWork, turn: Turn, signal: AbortSignal): Promise<Answered> {
  const { services, caller, origin, run, sink } = work
  let asked: Asked
  try {
    const prompt = await promptOf(services, run, sink !== undefined)
    if ('limit' in prompt) return { end: { status: 'incomplete', reason: prompt.limit }, dropped: [] }
    asked = await askModel({ services, caller, origin, body: prompt.body, signal }, turn)
  } catch (error) {
    asked = { failure: failureOfError(error), dropped: [] }
  }
  const { dropped, failure } = asked
  if (failure)
    return { end: signal.aborted ? serverFailure('the gateway stopped while it worked on this run') : failure, dropped }
  return { end: endOf(turn), dropped }
}

/** How an answer that came to its end leaves its run. */
function endOf(turn: Turn): TurnEnd {
  if (turn.finish === 'length') return { status: 'incomplete', reason: 'max_completion_tokens' }
  if (turn.finish === 'content_filter')
    return serverFailure('the answer was stopped by the content filter of the model')
  return { status: turn.calls.length > 0 ? 'requires_action' : 'completed' }
}

/** Stores what the turn made together with the run, then tells it: nobody hears of an end that is not kept. */
async function conclude(work: RunWork, turn: Turn, { end, dropped }: Answered): Promise<void> {
  const { services, run, sink } = work
  let made: TurnObjects | undefined
  const stored = await insist(() =>
    services.assistants.change(run.id, now => {
      if (!now.active) return undefined
      const final: TurnEnd = now.body.status === 'cancelling' ? { status: 'cancelled' } : end
      made = turn.end(final)
      return { ...concluded(services, now, turn, final, dropped), put: made.put }
    }),
  )
  if (!stored || !made) return tellEnd(work)
  for (const [event, data] of made.events) sink?.emit(event, data)
  sink?.emit(`thread.run.${String(stored.body.status)}`, stored.body)
}

function concluded(
  services: Services,
  run: AssistantObject,
  turn: Turn,
  end: TurnEnd,
  dropped: readonly string[],
): AssistantChange {
  const body: Fields = { ...run.body, usage: sum(run.body.usage as Fields | null, turn.usage) }
  // Not a field of OpenAI's: what this model could not be given.
  if (dropped.length > 0)
    body.dropped_params = [...new Set([...((run.body.dropped_params as string[] | undefined) ?? []), ...dropped])]
  if (end.status === 'requires_action')
    return {
      updatedAtMs: services.epochMs(),
      body: { ...body, status: end.status, required_action: turn.requiredAction },
    }
  return { active: false, body: endedBody(body, end satisfies Ending, nowS(services)) }
}

function sum(one: Fields | null, other: Fields | null): Fields | null {
  if (!one || !other) return one ?? other
  const names = ['prompt_tokens', 'completion_tokens', 'total_tokens']
  return Object.fromEntries(names.map(name => [name, Number(one[name]) + Number(other[name])]))
}

async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (const waitMs of storeAgainMs) {
    try {
      return await work()
    } catch {
      await Bun.sleep(waitMs)
    }
  }
  return work()
}

/** Somebody else has ended the run; it may even be gone. */
async function tellEnd({ services, run, sink }: RunWork): Promise<void> {
  const now = sink && (await services.assistants.find('run', run.id, null))
  if (now) sink.emit(`thread.run.${String(now.body.status)}`, now.body)
}
