/**
 * Switches deployments off and on at run time, those of the configuration file too. Paths and `model_id` are LiteLLM's.
 */
import { block, blockOf, modelBlockSchema, shownBlock, unblock } from './common/model-blocks.ts'
import { z } from 'zod'
import type { Services } from '../../core/endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { withBody } from '../common/json-endpoint.ts'
import { noSuchModel } from '../common/answers.ts'

const modelId = () => z.string().min(1).max(128).describe('The `x-proxy-model-id` of calls; GET /model/info lists it.')

const blockBody = lazy(() =>
  z.strictObject({
    model_id: modelId(),
    reason: z.string().trim().max(500).nullish().describe('Shown to those who may read everything. null = none.'),
  }),
)

const unblockBody = lazy(() => z.strictObject({ model_id: modelId() }))

const about = { tag: 'Models', answer: modelBlockSchema, auth: 'admin', failures: [404, 409] } as const

/** Switches a deployment off: here at once, on other replicas within a second. Calls under way go on. */
export const modelBlock = withBody(blockBody, {
  ...about,
  paths: ['/model/block'],
  operationId: 'blockModel',
  summary: 'Switch a deployment off: it gets no calls, and others of its name or its fallbacks do',
  async handle({ model_id: id, reason }, { services, caller }) {
    await block(services, caller, { id, reason: reason === '' ? null : reason })
    return shown(services, id)
  },
})

/** Switches a deployment on again, also one that is not configured any more. */
export const modelUnblock = withBody(unblockBody, {
  ...about,
  paths: ['/model/unblock'],
  operationId: 'unblockModel',
  summary: 'Switch a deployment on again',
  async handle({ model_id: id }, { services, caller }) {
    const was = blockOf(services, id)
    await unblock(services, caller, id)
    return shown(services, id, was?.body.model_name)
  },
})

/** The state of a deployment; `name` = its public name where it is not configured any more. */
function shown({ current }: Services, id: string, name?: unknown) {
  const deployment = current.settings.deployments.find(one => one.id === id)
  const modelName = deployment?.modelName ?? name
  if (typeof modelName !== 'string') throw noSuchModel(id)
  return { model_id: id, model_name: modelName, ...shownBlock(deployment?.blocked) }
}
