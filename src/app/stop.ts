/** Graceful shutdown. */
import type { ServeOptions } from '../config/serve-options.ts'
import { GatewayError } from '../core/errors.ts'
import type { HttpServer } from '../http/server/server.ts'
import type { Logger } from '../telemetry/log.ts'

/** Kubernetes kills after 30 s; the remaining 10 s are for background runs and the ledger. */
const drainMs = 20_000
/** A request that a proxy sends at this moment on an idle connection is answered; without this it would be lost. */
const drainIdleMs = 500
/** Time for interrupted requests to send their error. */
const interruptMs = 1000

interface StopParts extends Pick<ServeOptions, 'environment'> {
  readonly logger: Logger
  readonly upstreamCalls: number
}

/**
 * Waits for load balancers (`MODELGATE_DRAIN_DELAY_MS`), drains open requests (`MODELGATE_DRAIN_MS`) and idle
 * connections (`MODELGATE_DRAIN_IDLE_MS`), then interrupts
 * and closes the remaining ones. Returns the number of requests that were interrupted.
 */
export async function stopServing(
  server: HttpServer,
  { environment, logger, upstreamCalls }: StopParts,
): Promise<number> {
  const limitMs = Number(environment.MODELGATE_DRAIN_MS || drainMs)
  logger.info('the gateway stops; what is under way may end', {
    open_requests: server.clients().busy,
    upstream_calls: upstreamCalls,
    drain_ms: limitMs,
  })
  await Bun.sleep(Number(environment.MODELGATE_DRAIN_DELAY_MS || 0))
  const ended = server.stop(Number(environment.MODELGATE_DRAIN_IDLE_MS || drainIdleMs))
  const done = await Promise.race([ended.then(() => true), Bun.sleep(limitMs).then(() => false)])
  if (done) return 0
  const { busy } = server.clients()
  if (busy > 0) logger.warn('requests did not end in time and are cut', { cut_requests: busy })
  server.interrupt(new GatewayError('overloaded', 'the gateway is stopping; try again'))
  await Promise.race([ended, Bun.sleep(interruptMs)])
  server.cut()
  return busy
}
