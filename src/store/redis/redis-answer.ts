/** Waits for an answer of Redis: its client has no limit of its own, and TCP gives up after a quarter of an hour. */

/**
 * Rejects when there is no answer within `limitMs`: the connection may be dead without a sign of it, and what is sent
 * on it waits likewise, so that it is worth to be closed.
 */
export function redisAnswer<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const late = () => {
      if (!isOver) reject(new RedisSilent(limitMs))
    }
    // Two ends of turns, so that the sockets are read before: this process may have been busy.
    const timer = setTimeout(() => setImmediate(() => setImmediate(late)), limitMs)
    const end = () => {
      isOver = true
      clearTimeout(timer)
    }
    answer.then(
      value => {
        end()
        resolve(value)
      },
      (error: unknown) => {
        end()
        reject(error)
      },
    )
  })
}

/** There was no answer in time. */
export class RedisSilent extends Error {
  override readonly name = 'RedisSilent'

  constructor(limitMs: number) {
    super(`timeout: Redis gave no answer within ${limitMs} ms`)
  }
}
