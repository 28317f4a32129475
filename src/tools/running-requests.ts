/** Requests under way in sessions of MCP, which another request of the same session may cancel. */

/** By session and id of the request. */
export class RunningRequests {
  readonly #sessions = new Map<string, Map<string, AbortController>>()

  /** Returns what is to be called at its end; undefined = it is no request. */
  begin(session: string, message: unknown, ending: AbortController): (() => void) | undefined {
    const key = keyOf((message as { id?: unknown } | null)?.id)
    if (key === undefined) return undefined
    let requests = this.#sessions.get(session)
    if (!requests) this.#sessions.set(session, (requests = new Map()))
    requests.set(key, ending)
    return () => {
      if (requests.get(key) === ending) requests.delete(key)
      if (requests.size === 0 && this.#sessions.get(session) === requests) this.#sessions.delete(session)
    }
  }

  cancel(session: string, id: string | number): void {
    this.#sessions.get(session)?.get(keyOf(id)!)?.abort()
  }

  endSession(session: string): void {
    for (const ending of this.#sessions.get(session)?.values() ?? []) ending.abort()
    this.#sessions.delete(session)
  }
}

/** 1 and "1" are two ids. */
const keyOf = (id: unknown): string | undefined =>
  typeof id === 'string' || typeof id === 'number' ? `${typeof id}:${id}` : undefined
