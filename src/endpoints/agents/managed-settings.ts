/** What the operator decides for coding agents: Claude Code asks for it at its start, and every hour. */
import { createHash } from 'node:crypto'
import { telemetrySignals } from '../../core/agents.ts'
import type { AgentSettings, TelemetryRelay } from '../../core/agents.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { anthropicErrorBody } from '../../formats/anthropic/error.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { matchesTag } from '../openapi/fixed-content.ts'
import { anyObject, json, named, shape, text } from '../openapi/schema.ts'
import { gatewayAddress } from '../../sign-in/gateway-address.ts'
import { answerOf } from '../common/json-endpoint.ts'

const managedSettingsSchema = named('ManagedSettings', () => shape({ uuid: text, checksum: text, settings: anyObject }))

type Policy = Readonly<Record<string, unknown>>

/** `GET /managed/settings` of Claude Code's protocol for gateways: 404 = there is no policy, which is no empty one. */
export const managedSettings: Endpoint = {
  method: 'GET',
  paths: ['/managed/settings'],
  auth: 'key',
  errorBody: anthropicErrorBody,
  doc: {
    operationId: 'getManagedSettings',
    summary: "Claude Code's managed settings of the caller",
    tag: 'Agents',
    success: json(managedSettingsSchema),
    failures: [404],
    headers: ['etag'],
  },
  handle(request, { current: { settings } }, caller) {
    const policy = policyOf(caller!, settings.agents, gatewayAddress(request.headers, settings.signIn))
    if (!policy)
      throw new GatewayError(
        'not-found',
        'there is no policy for coding agents; `general_settings.managed_settings` in the configuration makes one',
      )
    // Clients compute it, too, over the settings that they keep: names in order, no blanks.
    const checksum = `sha256:${createHash('sha256')
      .update(JSON.stringify(inOrder(policy)))
      .digest('hex')}`
    const headers = { etag: `"${checksum}"`, 'cache-control': 'no-store' }
    if (matchesTag(request.headers.get('if-none-match'), headers.etag)) return { status: 304, headers, body: null }
    return answerOf(managedSettingsSchema, { uuid: checksum, checksum, settings: policy }, 200, headers)
  },
}

/** undefined = nothing is configured for this caller. */
function policyOf({ key, memberships = [] }: Caller, agents: AgentSettings, address: string): Policy | undefined {
  const teamIds =
    key.teamId === null ? memberships.filter(one => one.kind === 'team').map(one => one.groupId) : [key.teamId]
  const ofTeams = teamIds
    .toSorted()
    .flatMap(id => (Object.hasOwn(agents.teamManagedSettings, id) ? [agents.teamManagedSettings[id]!] : []))
  const given = [agents.managedSettings, ...ofTeams].filter(one => one !== null)
  if (given.length === 0 && !agents.telemetry) return undefined
  const telemetry = agents.telemetry ? [{ env: telemetryVariables(agents.telemetry, address) }] : []
  return [...telemetry, ...given].reduce<Policy>((below, above) => joined(below, above), {})
}

/** What an agent needs to send its telemetry here, and nothing that is not relayed. */
function telemetryVariables({ signals }: TelemetryRelay, address: string): Record<string, string> {
  return {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    ...Object.fromEntries(
      telemetrySignals.map(signal => [
        `OTEL_${signal.toUpperCase()}_EXPORTER`,
        signals.includes(signal) ? 'otlp' : 'none',
      ]),
    ),
    OTEL_EXPORTER_OTLP_ENDPOINT: address,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  }
}

/** Objects are joined and lists replaced, but of what is denied: there both lists hold. */
function joined(below: Policy, above: Policy): Policy {
  const all: Record<string, unknown> = { ...below }
  for (const [name, value] of Object.entries(above)) {
    const before = Object.hasOwn(all, name) ? all[name] : undefined
    if (isObject(before) && isObject(value)) all[name] = joined(before, value)
    else if (Array.isArray(before) && Array.isArray(value) && /^(deny$|ask$|denied|blocked|disabled)/.test(name))
      all[name] = [
        ...before,
        ...value.filter(one => !before.some(other => JSON.stringify(other) === JSON.stringify(one))),
      ]
    else all[name] = value
  }
  return all
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map(name => [name, inOrder(value[name])]),
  )
}
