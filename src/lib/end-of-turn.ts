/**
 * What is to be done when the present events of the event loop are worked off. Sends belong there: one that wakes its
 * peer costs twice the others, and of those that follow one another only the first does.
 */

/** What one task throws is thrown again later: the others of its turn still run. */
export interface TurnTask {
  endOfTurn(): void
}

let waiting: TurnTask[] = []

/** In the order of asking. A task that is asked for twice runs twice. */
export function atEndOfTurn(task: TurnTask): void {
  if (waiting.push(task) === 1) setImmediate(run)
}

function run(): void {
  const tasks = waiting
  waiting = []
  for (const task of tasks)
    try {
      task.endOfTurn()
    } catch (thrown) {
      // The others have nothing to do with it.
      queueMicrotask(() => {
        throw thrown
      })
    }
}
