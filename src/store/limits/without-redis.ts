/** What a replica admits by itself while Redis is away. */
import { GatewayError } from '../../core/errors.ts'
import type { WithoutRedis } from '../../core/settings.ts'

/** A part of each limit, from 0 to 1; of 0 `reason` says why. */
interface OwnShare {
  readonly share: number
  readonly reason: string
}

/** `replicas` = those that share the limits; undefined = Redis has not answered since the start. */
export function ownShareOf(configured: WithoutRedis, replicas: number | undefined): OwnShare {
  if (configured === 'refuse') return { share: 0, reason: 'limits_without_redis is `refuse`' }
  if (configured !== 'share') return { share: configured, reason: '' }
  return { share: replicas === undefined ? 0 : 1 / replicas, reason: 'it has not answered since the start' }
}

/** For operators. */
export function shownShare({ share, reason }: OwnShare): string {
  if (share === 0) return `calls of limited keys are refused: ${reason}`
  return `this replica admits ${Number((share * 100).toFixed(1))} % of each limit by itself`
}

/** For a call of a limited key where nothing is admitted. */
export const uncheckable = (reason: string): GatewayError =>
  new GatewayError(
    'overloaded',
    `the limits of this key cannot be checked: Redis does not answer, and ${reason}; try again in a second`,
  )
