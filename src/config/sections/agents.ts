/** Coding agents: how they sign in, their settings, where their telemetry goes. */
import { z } from 'zod'
import { telemetrySignals } from '../../core/agents.ts'
import type { AgentSettings } from '../../core/agents.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { dayMs, minuteMs } from '../../lib/clock.ts'
import { headers, httpAddress, openMap, text } from './value-types.ts'

/** The shape is that of Claude Code's `managed-settings.json`, which changes with its releases: not checked here. */
const policy = () =>
  openMap().refine(one => JSON.stringify(one).length <= 256 * 1024, 'has more than 256 KiB; make it shorter')
const days = () => z.number().min(1).max(3650)

/** Keys of `general_settings`. */
export const agentKeys = settingKeys('agents', {
  managed_settings: {
    type: policy,
    description:
      "Claude Code's `managed-settings.json` that all get who sign in with it at this gateway (docs/coding-agents.md).",
    example: { permissions: { deny: ['WebFetch'] } },
    secret: 'named',
    litellm: 'claude_code_gateway_managed_settings',
  },
  managed_settings_of_teams: {
    type: () => z.record(text(), policy()),
    description:
      'Further settings for Claude Code by the id of a team, which are laid over `managed_settings`: objects are ' +
      'joined, `deny` lists added up.',
    example: { 'team-a': { env: { ANTHROPIC_MODEL: 'claude-sonnet-5' } } },
    secret: 'named',
  },
  agent_telemetry_endpoint: {
    type: httpAddress,
    description:
      'The collector (OTLP over HTTP, without `/v1/metrics`) to which the telemetry goes that agents send to the ' +
      'gateway. Without it that telemetry goes nowhere.',
    example: 'http://collector.internal:4318',
  },
  agent_telemetry_headers: {
    type: () => headers(z.string().regex(/^[A-Za-z0-9-]+$/)),
    description: 'Headers that are added to what `agent_telemetry_endpoint` is sent, as for the key of a collector.',
    example: { 'x-tenant': 'agents' },
    secret: 'members',
  },
  agent_telemetry_signals: {
    type: () => z.array(z.enum(telemetrySignals)).min(1),
    default: ['metrics'],
    description:
      'The kinds of telemetry that are passed on: `metrics`, `logs`, `traces`. The latter two may hold prompts.',
    example: ['metrics', 'logs'],
  },
  agent_token_minutes: {
    type: () => z.number().int().min(5).max(1440),
    default: 60,
    description: 'How many minutes an access token of a signed-in program holds; it is refreshed by itself.',
    example: 60,
  },
  agent_sign_in_idle_days: {
    type: days,
    default: 14,
    description: 'A program that was not used for this many days has to sign in again.',
    example: 14,
  },
  agent_sign_in_days: {
    type: days,
    default: 90,
    description: 'A program has to sign in again after this many days, however much it is used.',
    example: 90,
  },
  agent_refresh_reuse: {
    type: () => z.enum(['end', 'refuse']),
    default: 'end',
    description:
      'What a refresh token does that was used before, and so may have been stolen: it can `end` the sign-in, or ' +
      'the gateway can `refuse` the token alone.',
    example: 'end',
  },
})

/** The settings for coding agents. */
export function agentSettingsOf(given: Values<typeof agentKeys>): AgentSettings {
  const general = withDefaults(agentKeys, given)
  const { agent_telemetry_endpoint: endpoint } = general
  return {
    accessTokenMs: general.agent_token_minutes * minuteMs,
    idleMs: general.agent_sign_in_idle_days * dayMs,
    lifetimeMs: general.agent_sign_in_days * dayMs,
    refreshReuse: general.agent_refresh_reuse,
    managedSettings: general.managed_settings ?? null,
    teamManagedSettings: general.managed_settings_of_teams ?? {},
    telemetry:
      endpoint === undefined
        ? null
        : {
            endpoint: endpoint.replace(/\/+$/, ''),
            headers: general.agent_telemetry_headers ?? {},
            signals: general.agent_telemetry_signals,
          },
  }
}
