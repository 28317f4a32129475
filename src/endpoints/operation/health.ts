import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { priceListState } from '../../core/usage/price-list-age.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import { isLoopback } from '../../lib/no-proxy.ts'
import { boolean, constant, described, integer, json, named, nullable, oneOf, shape, text } from '../openapi/schema.ts'
import { answerOf, jsonEndpoint } from '../common/json-endpoint.ts'

const livelinessSchema = named('Liveliness', () => constant("I'm alive!"))

const readinessSchema = named('Readiness', () =>
  shape(
    {
      status: oneOf('healthy', 'unhealthy'),
      db: described('`read-only`: it answers, and takes no changes.', oneOf('connected', 'read-only', 'disconnected')),
      redis: oneOf('connected', 'disconnected', 'not configured'),
      ledger: described('`ok`, or what is wrong.', text),
      ledger_backlog: described(
        'What is journalled and not in the database yet; a call has two records.',
        shape({ bytes: integer, records: integer, oldest_seconds: integer }),
      ),
      version: text,
      price_list: described(
        "The list whose price holds where both have one: the operator's, else the built-in one.",
        shape({
          name: oneOf('built-in', 'operator'),
          date: described('The day that its prices are of; null = nothing says it.', nullable(text)),
          age_days: nullable(integer),
          is_old: described('It is older than 30 days.', boolean),
        }),
      ),
    },
    {
      limits: described('While Redis is away: what decides on limits.', text),
      replicas: text,
      workers: described('How many processes serve this address.', integer),
      workers_serving: described('Of them, those that have started.', integer),
      draining: constant(true),
    },
  ),
)

/** The process is alive. Nothing else is checked: a slow database must not cause a restart. */
export const liveliness: Endpoint = jsonEndpoint(livelinessSchema, {
  method: 'GET',
  paths: ['/health/liveliness', '/health/liveness'],
  auth: 'none',
  isProbe: true,
  doc: {
    operationId: 'checkLiveliness',
    summary: 'The process is alive',
    tag: 'Health',
  },
  handle: () => "I'm alive!" as const,
})

/** Ready for traffic: 200, or 503 with the reasons. */
export const readiness: Endpoint = {
  method: 'GET',
  paths: ['/health/readiness'],
  auth: 'none',
  isProbe: true,
  doc: {
    operationId: 'checkReadiness',
    summary: 'Ready for traffic; status 503 with the same body when it is not',
    tag: 'Health',
    success: json(readinessSchema),
  },
  handle(_request, services) {
    const { ready, details } = services.readiness()
    const value = {
      status: ready ? 'healthy' : 'unhealthy',
      ...details,
      version: services.version,
      price_list: priceListState(services.current.settings.priceLists, clock.epochMs()),
    } as const
    return answerOf(readinessSchema, value, ready ? 200 : 503)
  },
}

/**
 * Prometheus metrics. Public unless `require_auth_for_metrics_endpoint` is set; they name models, not keys. Without a
 * key no page of another origin reads them: not by CORS, and not by a name that its DNS resolves to this machine (DNS
 * rebinding), as requests from loopback must have a loopback `Host`.
 */
export const metrics: Endpoint = {
  method: 'GET',
  paths: ['/metrics'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getMetrics',
    summary: 'Prometheus metrics',
    tag: 'Health',
    success: { 'text/plain': text },
    failures: [401, 403],
  },
  async handle(request, services) {
    if (!services.current.settings.metricsRequireKey) checkHost(request)
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return { status: 200, headers, body: await services.metrics() }
  },
}

/** Throws `forbidden` for a request from loopback whose `Host` is the name of another machine. */
function checkHost({ peerAddress, headers }: HttpRequest): void {
  const host = headers.get('host')
  if (!host || !isLoopback(peerAddress) || isLoopback(host.toLowerCase().replace(/:\d*$/, ''))) return
  throw new GatewayError(
    'forbidden',
    'on loopback, metrics without a key are shown only under a loopback name; ask for http://localhost, or set ' +
      '`require_auth_for_metrics_endpoint: true` and send a key',
  )
}
