/** A worker's end of its link to the process that started it. */
import type { SharedCooldown, WorkerLink } from '../../core/workers.ts'
import type { FromWorker, ToWorker, WorkerPlace } from './worker-messages.ts'

/** The metrics of all are waited for so long: a worker that is busy with a large body answers after it. */
const collectMs = 2000

/** What only the start of a worker uses. */
interface OwnWorkerLink extends WorkerLink {
  serves(port: number): void
  /** The link would keep a process alive that could not start. */
  close(): void
}

/** Opens the link. `ended` is called when the process at its other end is gone, also by SIGKILL. */
export function openWorkerLink(place: WorkerPlace, ended: () => void): OwnWorkerLink {
  const send = (message: FromWorker) => void process.send?.(message)
  const changes: (() => void)[] = []
  const cooldowns: ((cooldown: SharedCooldown) => void)[] = []
  const collections = new Map<number, (texts: readonly string[]) => void>()
  let render = () => ''
  let standing = { isOnlyReplica: true, serving: 1 }
  let lastId = 0
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'changed') for (const listener of changes) listener()
    else if (message.kind === 'cooled') for (const listener of cooldowns) listener(message.cooldown)
    else if (message.kind === 'render') send({ kind: 'metrics', id: message.id, text: render() })
    else if (message.kind === 'collected') collections.get(message.id)?.(message.texts)
    else standing = message
  })
  process.on('disconnect', ended)
  return {
    number: place.number,
    count: place.count,
    joinsOthers: !place.announces,
    hasOwnStore: place.sharedUrl !== undefined,
    serving: () => standing.serving,
    isOnlyReplica: () => standing.isOnlyReplica,
    changed: () => send({ kind: 'changed' }),
    onChanged: listener => void changes.push(listener),
    cooled: cooldown => send({ kind: 'cooled', cooldown }),
    onCooled: listener => void cooldowns.push(listener),
    serveMetrics: given => void (render = given),
    metrics() {
      const id = ++lastId
      const { promise, resolve } = Promise.withResolvers<readonly string[]>()
      const timer = setTimeout(() => resolve([render()]), collectMs)
      collections.set(id, resolve)
      send({ kind: 'collect', id })
      return promise.finally(() => {
        clearTimeout(timer)
        collections.delete(id)
      })
    },
    serves: port => send({ kind: 'serves', port }),
    close() {
      process.removeListener('disconnect', ended)
      process.disconnect?.()
    },
  }
}
