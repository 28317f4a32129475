import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { isLoopback } from '../../lib/no-proxy.ts'
import { json, reference, text } from '../openapi/schema.ts'

/** The process is alive. Nothing else is checked: a slow database must not cause a restart. */
export const liveliness: Endpoint = {
  method: 'GET',
  paths: ['/health/liveliness', '/health/liveness'],
  auth: 'none',
  isProbe: true,
  doc: {
    operationId: 'checkLiveliness',
    summary: 'The process is alive',
    tag: 'Health',
    success: json(reference('Liveliness')),
  },
  handle: () => jsonAnswer("I'm alive!"),
}

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
    success: json(reference('Readiness')),
  },
  handle(_request, services) {
    const { ready, details } = services.readiness()
    return jsonAnswer(
      { status: ready ? 'healthy' : 'unhealthy', ...details, version: services.version },
      ready ? 200 : 503,
    )
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
  handle(request, services) {
    if (!services.current.settings.metricsRequireKey) checkHost(request)
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return { status: 200, headers, body: services.metrics() }
  },
}

/** Throws `forbidden` for a request from loopback whose `Host` is the name of another machine. */
function checkHost({ clientAddress, headers }: HttpRequest): void {
  const host = headers.get('host')
  if (!host || !isLoopback(clientAddress) || isLoopback(host.toLowerCase().replace(/:\d*$/, ''))) return
  throw new GatewayError(
    'forbidden',
    'on loopback, metrics without a key are shown only under a loopback name; ask for http://localhost, or set ' +
      '`require_auth_for_metrics_endpoint: true` and send a key',
  )
}
