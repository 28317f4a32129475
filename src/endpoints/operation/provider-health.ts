/** GET /health/providers: what is known of the accounts behind the deployments, without asking any upstream. */
import { z } from 'zod'
import type { Deployment } from '../../core/deployment.ts'
import type { Services } from '../../core/endpoint.ts'
import { faults } from '../../core/errors.ts'
import type { UpstreamFailure, UpstreamRateLimit } from '../../core/upstream-notes.ts'
import { dateOf } from '../common/configured-change.ts'
import { withQuery } from '../common/json-endpoint.ts'
import {
  boolean,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import { blockFacts, deploymentNames, shownBlock } from './common/model-blocks.ts'

const providerHealthSchema = named('ProviderHealth', () =>
  shape({
    providers: listOf(
      shape({
        provider: text,
        deployments: listOf(
          shape({
            ...deploymentNames,
            credential_name: described('The credential whose key it uses.', nullable(text)),
            has_key: boolean,
            ...blockFacts,
            cooldowns: described(
              'At the replica that answers, as all below. A pattern has one for each model.',
              listOf(shape({ model: text, until: dateTime })),
            ),
            rate_limits: described(
              'The limits that the account has at its provider, as headers of the last answer gave them.',
              listOf(
                shape({
                  kind: oneOf('requests', 'tokens', 'input_tokens', 'output_tokens'),
                  limit: nullable(integer),
                  remaining: nullable(integer),
                  resets_at: described('When all of it is there again.', nullable(dateTime)),
                }),
              ),
            ),
            rate_limits_at: described('When that answer came; null = none named limits.', nullable(dateTime)),
            last_error: described(
              'The last failure that was its own; another deployment may have answered the call.',
              nullable(shape({ at: dateTime, code: text, message: text })),
            ),
          }),
        ),
      }),
    ),
  }),
)

/** Those with a deployment in a cooldown stand first, then by name. */
export const providerHealth = withQuery(() => z.strictObject({}), {
  tag: 'Health',
  answer: providerHealthSchema,
  paths: ['/health/providers'],
  auth: 'viewer',
  operationId: 'listProviderHealth',
  summary: 'Each provider with its deployments: keys, cooldowns, rate limits that its answers named, last errors',
  async handle(_, { services }) {
    const byProvider = Map.groupBy(services.current.settings.deployments, one => one.target.provider.name)
    const providers = [...byProvider].map(([provider, deployments]) => ({
      provider,
      deployments: deployments.map(one => shown(services, one)),
    }))
    const coolingFirst = ({ deployments }: (typeof providers)[number]) =>
      deployments.some(one => one.cooldowns.length > 0) ? 0 : 1
    providers.sort((one, other) => coolingFirst(one) - coolingFirst(other) || (one.provider < other.provider ? -1 : 1))
    return { providers }
  },
})

function shown({ upstreams, clock }: Services, deployment: Deployment) {
  const { id, modelName, mode, target, credentialName, blocked } = deployment
  const note = upstreams.noteOf(id)
  const nowMs = clock.epochMs()
  const cooldowns = upstreams.cooldowns().filter(one => one.deploymentId === id)
  return {
    model_id: id,
    model_name: modelName,
    model: `${target.provider.name}/${target.model}`,
    mode,
    credential_name: credentialName ?? null,
    has_key: target.apiKey !== undefined || target.provider.authorize !== undefined,
    ...shownBlock(blocked),
    cooldowns: cooldowns.map(one => ({ model: one.model, until: dateOf(nowMs + one.remainingMs) })),
    rate_limits: note?.limits.map(shownLimit) ?? [],
    rate_limits_at: note?.limitsAtMs == null ? null : dateOf(note.limitsAtMs),
    last_error: note?.failure ? shownFailure(note.failure) : null,
  }
}

const shownLimit = ({ kind, limit, remaining, resetsAtMs }: UpstreamRateLimit) => ({
  kind,
  limit,
  remaining,
  resets_at: resetsAtMs === null ? null : dateOf(resetsAtMs),
})

const shownFailure = ({ atMs, kind, message }: UpstreamFailure) => ({
  at: dateOf(atMs),
  code: faults[kind].code ?? kind,
  message,
})
