/** What the policies of a gateway are told: recorded for tests, in order. */
import type { Call, Settlement } from '../../src/core/call.ts'
import type { Policy } from '../../src/core/policy.ts'

/** One attempt as it was told: `error` is its kind, undefined = an answer began. */
export interface ToldAttempt {
  readonly call: string
  readonly deployment: string
  readonly error: string | undefined
}

/** A policy that writes down every end and every attempt, and changes nothing. */
export class Recorder {
  readonly settlements: Settlement[] = []
  readonly attempts: ToldAttempt[] = []

  get policy(): Policy {
    return {
      name: 'recorder',
      stage: 'body',
      attempted: ({ id }, { deployment, error }) =>
        void this.attempts.push({ call: id, deployment: deployment.id, error: error?.kind }),
      settled: settlement => void this.settlements.push(settlement),
    }
  }

  /** The ends of the calls of `route`, or of one call. */
  of(what: { route?: string; id?: string }): Settlement[] {
    const matches = ({ id, route }: Call): boolean =>
      (what.route === undefined || route === what.route) && (what.id === undefined || id === what.id)
    return this.settlements.filter(({ call }) => matches(call))
  }

  clear(): void {
    this.settlements.length = 0
    this.attempts.length = 0
  }
}
