/**
 * Tasks that run at the end of the event loop's current tick, behind all events that are already queued. Socket writes
 * belong there: a send that wakes its sleeping peer costs twice the others, and of a row of sends only the first does.
 */

/** An error that a task throws is rethrown later, so that the other tasks of the tick still run. */
export interface TickTask {
  endOfTick(): void
}

let waiting: TickTask[] = []

/** In the order of the calls. A task that is added twice runs twice. */
export function atEndOfTick(task: TickTask): void {
  if (waiting.push(task) === 1) setImmediate(run)
}

function run(): void {
  const tasks = waiting
  waiting = []
  for (const task of tasks)
    try {
      task.endOfTick()
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown
      })
    }
}
