/** The settings for coding agents, from a checked configuration. */
import type { AgentSettings } from '../core/agents.ts'
import type { Config } from './sections/file.ts'
import { dayMs, minuteMs } from '../lib/clock.ts'

const tokenMinutesDefault = 60
const idleDaysDefault = 14
const signInDaysDefault = 90

/** With the defaults of what is left out. */
export function agentSettingsOf(general: NonNullable<Config['general_settings']>): AgentSettings {
  const { agent_telemetry_endpoint: endpoint } = general
  return {
    accessTokenMs: (general.agent_token_minutes ?? tokenMinutesDefault) * minuteMs,
    idleMs: (general.agent_sign_in_idle_days ?? idleDaysDefault) * dayMs,
    lifetimeMs: (general.agent_sign_in_days ?? signInDaysDefault) * dayMs,
    refreshReuse: general.agent_refresh_reuse ?? 'end',
    managedSettings: general.managed_settings ?? null,
    teamManagedSettings: general.managed_settings_of_teams ?? {},
    telemetry:
      endpoint === undefined
        ? null
        : {
            endpoint: endpoint.replace(/\/+$/, ''),
            headers: general.agent_telemetry_headers ?? {},
            signals: general.agent_telemetry_signals ?? ['metrics'],
          },
  }
}
