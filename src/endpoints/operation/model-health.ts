/** GET /health: asks each deployment with a small call of its own. The calls cost what they cost, and are recorded. */
import { z } from 'zod'
import { checkOwnPage } from '../../access/session-cookie.ts'
import { toResponse } from '../../core/answer.ts'
import { masterCaller } from '../../core/caller.ts'
import type { Deployment, ModelMode } from '../../core/deployment.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { SignalClient, internalJsonRequest } from '../../core/internal-request.ts'
import { Redactor } from '../../lib/redact.ts'
import { readQuery } from '../common/checked-input.ts'
import { speech } from '../model-calls/audio.ts'
import { chatCompletions } from '../model-calls/chat-completions.ts'
import { completions } from '../model-calls/completions.ts'
import { embeddings } from '../model-calls/embeddings.ts'
import { moderations } from '../model-calls/moderations.ts'
import { rerank } from '../model-calls/rerank.ts'
import { constant, described, integer, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { lazy } from '../../lib/lazy.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const modelHealthSchema = named('ModelHealth', () =>
  shape({
    healthy_endpoints: listOf(endpointHealthSchema),
    unhealthy_endpoints: listOf(endpointHealthSchema),
    unchecked_endpoints: listOf(endpointHealthSchema),
    healthy_count: integer,
    unhealthy_count: integer,
    unchecked_count: integer,
  }),
)

const endpointHealthSchema = named('EndpointHealth', () =>
  shape(
    { model_id: text, model_name: text, model: text, api_base: text, mode: text },
    {
      response_time_ms: integer,
      error: described('The error that its call has ended with.', text),
      error_code: described('The `code` that this error has.', nullable(text)),
      reason: described('Why it was not called.', text),
      blocked: described('An administrator has switched it off.', constant(true)),
    },
  ),
)

const probeMs = 15_000
const parallelProbesMax = 8
/** Of one request; the rest is reported as not checked. With the limits above a request takes two minutes at most. */
const probesMax = 64
const shownErrorLength = 500

const query = lazy(() => z.object({ model: z.string().max(500).optional(), model_id: z.string().max(200).optional() }))

interface Probe {
  readonly endpoint: Endpoint
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

const message = [{ role: 'user', content: 'Hi' }]

/** The smallest call of each mode. Pictures and transcriptions are too dear, or need a recording: not asked. */
const probes: Partial<Record<ModelMode, Probe>> = {
  chat: { endpoint: chatCompletions, path: '/v1/chat/completions', body: { messages: message, max_tokens: 16 } },
  completion: { endpoint: completions, path: '/v1/completions', body: { prompt: 'Hi', max_tokens: 16 } },
  embedding: { endpoint: embeddings, path: '/v1/embeddings', body: { input: 'Hi' } },
  moderation: { endpoint: moderations, path: '/v1/moderations', body: { input: 'Hi' } },
  rerank: { endpoint: rerank, path: '/v1/rerank', body: { query: 'Hi', documents: ['Hi', 'Hello'] } },
  audio_speech: { endpoint: speech, path: '/v1/audio/speech', body: { input: 'Hi', voice: 'alloy' } },
}

type Report = ValueOf<typeof modelHealthSchema>
type CheckedDeployment = ValueOf<typeof endpointHealthSchema>

/** Requests that are made while the same is checked share its result: each probe is a paid call. */
const running = new WeakMap<Services, Map<string, Promise<Report>>>()

/** 200 with both lists; the deployments are named by id, and never with their keys. */
export const modelHealth: Endpoint = jsonEndpoint(modelHealthSchema, {
  method: 'GET',
  paths: ['/health'],
  auth: 'admin',
  doc: {
    operationId: 'checkModels',
    summary: 'Ask every deployment with a small call (each is a real call, and is recorded)',
    tag: 'Health',
    query: {
      model: { schema: { type: 'string' }, description: 'Only the deployments of this public name are checked.' },
      model_id: { schema: { type: 'string' }, description: 'Only this deployment is listed or checked.' },
    },
  },
  async handle(request, services, caller) {
    if (caller!.session) checkOwnPage(request.headers)
    const { model, model_id: id } = readQuery(request, query())
    const reportKey = JSON.stringify([model, id])
    let reports = running.get(services)
    if (!reports) running.set(services, (reports = new Map()))
    let report = reports.get(reportKey)
    if (!report) {
      const chosen = services.current.settings.deployments.filter(
        one => (model === undefined || one.modelName === model) && (id === undefined || one.id === id),
      )
      report = check(services, chosen).finally(() => reports.delete(reportKey))
      reports.set(reportKey, report)
    }
    return report
  },
})

const addresses = new Redactor([])

const shown = ({ id, modelName, target, mode }: Deployment) => ({
  model_id: id,
  model_name: modelName,
  model: `${target.provider.name}/${target.model}`,
  api_base: addresses.url(target.baseUrl),
  mode,
})

async function check(services: Services, deployments: readonly Deployment[]): Promise<Report> {
  const healthy: CheckedDeployment[] = []
  const unhealthy: CheckedDeployment[] = []
  const unchecked: CheckedDeployment[] = []
  const queue: { readonly deployment: Deployment; readonly probe: Probe }[] = []
  for (const deployment of deployments) {
    const probe = probes[deployment.mode]
    if (deployment.blocked) unchecked.push({ ...shown(deployment), reason: 'it is switched off', blocked: true })
    else if (deployment.target.model.includes('*'))
      unchecked.push({ ...shown(deployment), reason: 'a pattern names no model that could be called' })
    else if (!probe)
      unchecked.push({ ...shown(deployment), reason: `there is no small call of mode ${deployment.mode}` })
    else if (queue.length >= probesMax)
      unchecked.push({ ...shown(deployment), reason: `at most ${probesMax} are checked at once; ask with \`model\`` })
    else queue.push({ deployment, probe })
  }
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { deployment } = next
      const found = await ask(services, next)
      const list = 'error' in found ? unhealthy : healthy
      list.push({ ...shown(deployment), ...found })
    }
  }
  await Promise.all(Array.from({ length: parallelProbesMax }, work))
  return {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    unchecked_endpoints: unchecked,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
    unchecked_count: unchecked.length,
  }
}

/** One call of one deployment by its id, as the master key: no retry, no fallback, ended after `probeMs`. */
async function ask(
  services: Services,
  { deployment, probe }: { readonly deployment: Deployment; readonly probe: Probe },
): Promise<{ readonly response_time_ms: number; readonly error?: string; readonly error_code?: string | null }> {
  const startedMs = services.clock.monotonicMs()
  const left = new AbortController()
  const timer = setTimeout(() => left.abort(), probeMs)
  const body = { ...probe.body, model: deployment.id, num_retries: 0, fallbacks: [], timeout: probeMs / 1000 }
  const request = internalJsonRequest({
    path: probe.path,
    headers: {},
    body,
    client: new SignalClient(left.signal, '127.0.0.1'),
  })
  try {
    const response = toResponse(await probe.endpoint.handle(request, services, masterCaller))
    const bytes = Buffer.from(await response.arrayBuffer())
    const took = { response_time_ms: Math.round(services.clock.monotonicMs() - startedMs) }
    return response.ok ? took : { ...took, ...failureIn(bytes.toString()) }
  } finally {
    clearTimeout(timer)
  }
}

/** The message of an error body, at most 500 characters, and its code. */
function failureIn(text: string): { readonly error: string; readonly error_code: string | null } {
  let found: { readonly message?: unknown; readonly code?: unknown } = { message: text }
  try {
    found = (JSON.parse(text) as { error?: typeof found }).error ?? found
  } catch {
    // A body that is no JSON is shown as it is.
  }
  const { message = text, code } = found
  return { error: String(message).slice(0, shownErrorLength), error_code: typeof code === 'string' ? code : null }
}
