/** The end: what is under way may finish, for a while. */
import type { ServeOptions } from '../config/serve-options.ts'
import { GatewayError } from '../core/errors.ts'
import type { HttpServer } from '../http/server/server.ts'
import type { Logger } from '../telemetry/log.ts'

/** Of the 30 s that Kubernetes waits before it kills, the rest is for runs in the background and the ledger. */
const drainMs = 20_000
/** For what is told to end, to do so. */
const lingerMs = 1000

interface Stopping extends Pick<ServeOptions, 'environment'> {
  readonly logger: Logger
  readonly upstreamCalls: number
}

/**
 * Load balancers get time to look away, streams get time to end; what is left then is told so, and cut. Answers how
 * many requests were.
 */
export async function stopServing(
  server: HttpServer,
  { environment, logger, upstreamCalls }: Stopping,
): Promise<number> {
  const limitMs = Number(environment.MODELGATE_DRAIN_MS || drainMs)
  logger.info('the gateway stops; what is under way may end', {
    open_requests: server.clients().busy,
    upstream_calls: upstreamCalls,
    drain_ms: limitMs,
  })
  await Bun.sleep(Number(environment.MODELGATE_DRAIN_DELAY_MS || 0))
  const ended = server.stop()
  const done = await Promise.race([ended.then(() => true), Bun.sleep(limitMs).then(() => false)])
  if (done) return 0
  const { busy } = server.clients()
  if (busy > 0) logger.warn('requests did not end in time and are cut', { cut_requests: busy })
  server.interrupt(new GatewayError('overloaded', 'the gateway is stopping; try again', { retryAfterMs: 1000 }))
  await Promise.race([ended, Bun.sleep(lingerMs)])
  server.cut()
  return busy
}
