/** Deployments that are switched off: one object for each, under the id of the deployment. */
import { actorOf } from '../../../access/actor.ts'
import type { Caller } from '../../../core/caller.ts'
import type { ConfiguredObject, ModelBlockBody } from '../../../core/objects/configured-objects.ts'
import type { DeploymentBlock } from '../../../core/deployment.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import { dateOf } from '../../common/configured-change.ts'
import { noSuchModel } from '../../common/answers.ts'
import { boolean, dateTime, described, named, nullable, shape, text } from '../../openapi/schema.ts'

/** Which deployment: the first fields of what is reported of it. */
export const deploymentNames = { model_id: text, model_name: text, model: text, mode: text }

/** What answers say of a deployment that may be switched off, to readers of everything. */
export const blockFacts = {
  blocked: described('An administrator has switched it off: it gets no calls.', boolean),
  blocked_by: nullable(text),
  blocked_at: nullable(dateTime),
  blocked_reason: nullable(text),
}

/** The state of a deployment that may be switched off. */
export const modelBlockSchema = named('ModelBlock', () => shape({ model_id: text, model_name: text, ...blockFacts }))

/** The stored block of a deployment; undefined = it is not blocked. */
export function blockOf({ configured }: Services, id: string): ConfiguredObject | undefined {
  return configured.objects().find(one => one.kind === 'model_block' && one.id === id)
}

interface BlockRequest {
  readonly id: string
  /** undefined = the one until now stays. */
  readonly reason?: string | null | undefined
}

/**
 * Switches the deployment off; in use here when it resolves. Blocking what is blocked changes nothing but the reason.
 * Throws `not-found` for an id without a deployment.
 */
export async function block(services: Services, caller: Caller, { id, reason }: BlockRequest): Promise<void> {
  const { configured } = services
  await configured.refresh()
  const deployment = services.current.settings.deployments.find(one => one.id === id)
  if (!deployment) throw noSuchModel(id)
  const before = blockOf(services, id)
  const was = before && (before.body as ModelBlockBody).reason
  if (before && (reason === undefined || reason === was)) return
  const body: ModelBlockBody = { model_name: deployment.modelName, reason: reason ?? null }
  const content = { kind: 'model_block', id, name: id, body, secrets: null } as const
  try {
    if (before) await configured.update({ ...content, version: before.version }, actorOf(caller))
    else await configured.insert(content, actorOf(caller))
  } catch (thrown) {
    // Another request was faster: it is blocked, which is what was requested.
    await accept(services, thrown, () => blockOf(services, id) !== undefined)
  }
}

/** Switches it on again, also where no deployment has the id any more. Nothing happens where it is not blocked. */
export async function unblock(services: Services, caller: Caller, id: string): Promise<void> {
  const { configured } = services
  await configured.refresh()
  const before = blockOf(services, id)
  if (!before) return
  try {
    await configured.delete(before, actorOf(caller))
  } catch (thrown) {
    await accept(services, thrown, () => blockOf(services, id) === undefined)
  }
}

/** Rethrows, unless another change at the same moment has brought about what was requested. */
async function accept({ configured }: Services, thrown: unknown, isDone: () => boolean): Promise<void> {
  if (!(thrown instanceof GatewayError) || (thrown.kind !== 'conflict' && thrown.kind !== 'not-found')) throw thrown
  await configured.refresh()
  if (!isDone()) throw thrown
}

/** What readers of everything are shown of it. */
export function shownBlock(block: DeploymentBlock | undefined) {
  return {
    blocked: block !== undefined,
    blocked_by: block?.by ?? null,
    blocked_at: block ? dateOf(block.atMs) : null,
    blocked_reason: block?.reason ?? null,
  }
}
