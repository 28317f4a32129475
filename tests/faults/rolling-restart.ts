/** Replicas are restarted one after the other, as an orchestrator does it, while clients read streams. */
import type { Fleet, Replica } from './fleet.ts'
import { until } from '../support/until.ts'

/** What clients saw. */
export interface RollingRestart {
  /** Streams that were read to their end. */
  readonly complete: number
  /** Errors, and streams without an end. */
  readonly wrong: readonly string[]
  /** Of each replica: streams that were open when it was told to stop. */
  readonly openAtSignal: readonly number[]
  readonly exitCodes: readonly number[]
}

const endMsMax = 120_000

/**
 * Keeps `streams` streams open over all replicas. Each replica gets no new calls, is told to stop (SIGTERM) with its
 * streams open, ends, and is started again.
 */
export async function restartInTurn(fleet: Fleet, streams: number): Promise<RollingRestart> {
  const { key } = await fleet.key()
  const rotation = new Set(fleet.replicas)
  /** Calls that were sent and have no head of an answer yet, and streams under way. */
  const opening = new Map<Replica, number>()
  const open = new Map<Replica, number>()
  const count = (map: Map<Replica, number>, replica: Replica, by: number) =>
    void map.set(replica, (map.get(replica) ?? 0) + by)
  const wrong: string[] = []
  let complete = 0
  let isRunning = true
  let next = 0
  const read = async (replica: Replica): Promise<void> => {
    count(opening, replica, 1)
    const answer = await fetch(`${replica.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    }).finally(() => count(opening, replica, -1))
    count(open, replica, 1)
    const text = await answer.text().finally(() => count(open, replica, -1))
    if (answer.status === 200 && text.endsWith('data: [DONE]\n\n')) complete++
    else wrong.push(`${replica.name}: ${answer.status} ${text.slice(-300)}`)
  }
  const client = async (): Promise<void> => {
    while (isRunning) {
      const replicas = [...rotation]
      const replica = replicas[next++ % replicas.length]!
      await read(replica).catch(error => wrong.push(`${replica.name}: ${String(error)}`))
    }
  }
  const clients = Array.from({ length: streams }, client)
  const openAtSignal: number[] = []
  const exitCodes: number[] = []
  try {
    for (const replica of fleet.replicas) {
      await until(() => (open.get(replica) ?? 0) >= streams / 6, 'it has its part of the streams', endMsMax)
      rotation.delete(replica)
      await until(() => (opening.get(replica) ?? 0) === 0, 'no call is on its way to it', endMsMax)
      openAtSignal.push(open.get(replica) ?? 0)
      replica.signal('SIGTERM')
      exitCodes.push(await replica.ended())
      await replica.start()
      rotation.add(replica)
    }
  } finally {
    isRunning = false
    await Promise.all(clients)
  }
  return { complete, wrong, openAtSignal, exitCodes }
}
