import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { json, text } from '../openapi/schema.ts'

/** The process is alive. Nothing else is checked: a slow database must not cause a restart. */
export const liveliness: Endpoint = {
  method: 'GET',
  paths: ['/health/liveliness', '/health/liveness'],
  auth: 'none',
  doc: {
    operationId: 'checkLiveliness',
    summary: 'The process is alive',
    tag: 'Health',
    success: json('Liveliness'),
  },
  handle: () => jsonAnswer("I'm alive!"),
}

/** Ready for traffic: 200, or 503 with the reasons. */
export const readiness: Endpoint = {
  method: 'GET',
  paths: ['/health/readiness'],
  auth: 'none',
  doc: {
    operationId: 'checkReadiness',
    summary: 'Ready for traffic; status 503 with the same body when it is not',
    tag: 'Health',
    success: json('Readiness'),
  },
  handle(_request, services) {
    const { ready, details } = services.readiness()
    return jsonAnswer(
      { status: ready ? 'healthy' : 'unhealthy', ...details, version: services.version },
      ready ? 200 : 503,
    )
  },
}

/** Prometheus metrics. Public unless `require_auth_for_metrics_endpoint` is set; they name models, not keys. */
export const metrics: Endpoint = {
  method: 'GET',
  paths: ['/metrics'],
  auth: 'none',
  doc: {
    operationId: 'getMetrics',
    summary: 'Prometheus metrics',
    tag: 'Health',
    success: { 'text/plain': text },
    failures: [401],
  },
  handle(_request, services) {
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return { status: 200, headers, body: services.metricsText() }
  },
}
