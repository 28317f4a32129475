/**
 * What several deployments answer to one call in the same words is the request's fault, also with the status of a
 * failed server: it is not tried again, and counts for none of them (docs/decisions/0087).
 */
import type { Deployment } from '../../core/deployment.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { AttemptAt } from './cooldown.ts'
import { upstreamKey } from './cooldown.ts'

/** Sentences with which servers say no more than that they failed: two of them alike tell nothing. */
const tellsNothing = new RegExp(
  'internal (?:server )?error|server (?:had an )?error|something went wrong|try again|unexpected|unknown error|' +
    'unavailable|overload|capacity|time[d ]?-?out|out of memory|cuda|engine|worker|connection|upstream|gateway|crash|' +
    'shutting down|restart|status \\d+',
  'i',
)

/** Of one call. */
interface Failures {
  readonly deployments: Map<string, Deployment>
  readonly words: string
}

/** Of all calls; what is noted of one is gone with it. */
export class AlikeFailures {
  readonly #seen = new WeakMap<AttemptAt, Failures>()

  /** Notes the failure; returns the deployments that failed this call in the same words before it. */
  earlier(call: AttemptAt, deployment: Deployment, error: GatewayError): readonly Deployment[] {
    const words = wordsOf(error)
    if (words === undefined) return []
    const key = upstreamKey(deployment)
    const seen = this.#seen.get(call)
    if (seen?.words !== words) {
      this.#seen.set(call, { words, deployments: new Map([[key, deployment]]) })
      return []
    }
    const others = [...seen.deployments].flatMap(([id, one]) => (id === key ? [] : [one]))
    seen.deployments.set(key, deployment)
    return others
  }
}

/** What is wrong with a request takes more words than these. */
const wordsMin = 3

/** Without numbers and ids; undefined = the failure says nothing of what was wrong. */
function wordsOf({ kind, message }: GatewayError): string | undefined {
  if (kind !== 'upstream-failed' || message === 'the upstream failed' || tellsNothing.test(message)) return undefined
  if (message.trim().split(/\s+/).length < wordsMin) return undefined
  return message.toLowerCase().replace(/[\da-f]{8}[\da-f-]*|\d+/g, '#')
}
