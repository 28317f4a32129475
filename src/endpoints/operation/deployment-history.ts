/** GET /health/deployments: how the calls of each deployment ended lately, from the ledger. It asks no upstream. */
import { z } from 'zod'
import type { Deployment } from '../../core/deployment.ts'
import type { LatencyGroup } from '../../core/ledger/latency.ts'
import type { UsageGroup } from '../../core/ledger/usage-report.ts'
import { latency, latencyFigures } from './common/latency-figures.ts'
import { dayText } from '../common/date-span.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { dayMs, hourMs } from '../../lib/clock.ts'
import { boolean, described, integer, listOf, named, shape, text } from '../openapi/schema.ts'
import { blockFacts, deploymentNames, shownBlock } from './common/model-blocks.ts'

const deploymentHistorySchema = named('DeploymentHistory', () =>
  shape({
    start_date: text,
    end_date: text,
    deployments: listOf(
      shape({
        ...deploymentNames,
        is_cooling_down: described('The replica that answers passes it over now.', boolean),
        ...blockFacts,
        requests: integer,
        failed_requests: integer,
        requests_by_day: described('The first of them is that of `start_date`.', listOf(integer)),
        failed_by_day: listOf(integer),
        latency: described('It is about the calls of the last 24 hours.', shape(latency)),
      }),
    ),
  }),
)

const days = 14
const groupsMax = 50_000

/** A deployment with its calls by day. */
interface History {
  readonly deployment: Deployment
  readonly byDay: readonly (UsageGroup | undefined)[]
  /** How long its calls of the last 24 hours took. */
  readonly took: readonly LatencyGroup[]
}

/** Those that fail most stand first. Days are in UTC. */
export const deploymentHistory = withQuery(() => z.strictObject({}), {
  tag: 'Health',
  answer: deploymentHistorySchema,
  paths: ['/health/deployments'],
  auth: 'viewer',
  operationId: 'listDeploymentHistory',
  summary: 'Each deployment with its calls and failures of the last 14 days, and whether it is passed over now',
  async handle(_, { services }) {
    const today = Math.floor(services.clock.epochMs() / dayMs)
    const firstDay = today - days + 1
    const nowHour = Math.floor(services.clock.epochMs() / hourMs)
    const [groups, took] = await Promise.all([
      services.ledger.usage({
        scope: 'total',
        firstDay,
        lastDay: today,
        groups: ['day', 'deployment_id'],
        order: 'day',
        limit: groupsMax,
      }),
      services.ledger.latency({ unit: 'hour', first: nowHour - 23, last: nowHour, groups: ['deployment_id'] }),
    ])
    const latency = Map.groupBy(took, one => one.deploymentId)
    const found = new Map(groups.map(one => [`${one.day} ${one.fields.deployment_id}`, one]))
    const cooling = new Set(services.coolingDown().map(one => one.id))
    const histories = services.current.settings.deployments.map((deployment): History => {
      const byDay = Array.from({ length: days }, (_, at) => found.get(`${firstDay + at} ${deployment.id}`))
      return { deployment, byDay, took: latency.get(deployment.id) ?? [] }
    })
    return {
      start_date: dayText(firstDay),
      end_date: dayText(today),
      deployments: histories
        .map(one => shown(one, cooling.has(one.deployment.id)))
        .sort((one, other) => other.failed_requests - one.failed_requests || other.requests - one.requests),
    }
  },
})

function shown({ deployment: { id, modelName, target, mode, blocked }, byDay, took }: History, isCooling: boolean) {
  const requests = byDay.map(one => one?.requests ?? 0)
  const failed = byDay.map(one => (one ? one.requests - one.successfulRequests : 0))
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return {
    model_id: id,
    model_name: modelName,
    model: `${target.provider.name}/${target.model}`,
    mode,
    is_cooling_down: isCooling,
    ...shownBlock(blocked),
    requests: sum(requests),
    failed_requests: sum(failed),
    requests_by_day: requests,
    failed_by_day: failed,
    latency: latencyFigures(took),
  }
}
