/** Keys of `general_settings` for coding agents: how they sign in, their settings, where their telemetry goes. */
import { z } from 'zod'
import { telemetrySignals } from '../../core/agents.ts'
import { checkedText } from '../checks/checked-text.ts'
import { addressProblem, isHeaderText } from '../checks/value-checks.ts'

const policy = z
  .record(z.string().min(1), z.unknown())
  .refine(one => JSON.stringify(one).length <= 256 * 1024, 'has more than 256 KiB; make it shorter')
const days = z.number().min(1).max(3650)

/** The shapes are those of Claude Code's `managed-settings.json`, which changes with its releases: not checked here. */
export const agentSettings = {
  managed_settings: policy
    .optional()
    .describe("Claude Code's `managed-settings.json` for all who sign in with it (docs/coding-agents.md)."),
  managed_settings_of_teams: z
    .record(z.string().min(1), policy)
    .optional()
    .describe('Further ones by the id of a team, over `managed_settings`: objects are joined, `deny` lists added up.'),
  agent_telemetry_endpoint: checkedText(
    z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }),
    addressProblem,
  )
    .optional()
    .describe(
      'A collector that speaks OTLP over HTTP, without `/v1/metrics`: there goes the telemetry that agents send to ' +
        'the gateway. Nowhere when left out.',
    ),
  agent_telemetry_headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().refine(isHeaderText, 'has a character no header can carry'))
    .optional()
    .describe('Headers that are added for the collector, as for its key.'),
  agent_telemetry_signals: z
    .array(z.enum(telemetrySignals))
    .min(1)
    .optional()
    .describe('What is relayed: `metrics`, which is the default, `logs`, `traces`. The latter two may hold prompts.'),
  agent_token_minutes: z
    .number()
    .int()
    .min(5)
    .max(1440)
    .optional()
    .describe('How long an access token of a signed-in program holds; 60 when left out. It is refreshed by itself.'),
  agent_sign_in_idle_days: days
    .optional()
    .describe('A program that is not used for as long has to sign in again; 14 when left out.'),
  agent_sign_in_days: days
    .optional()
    .describe('A program has to sign in again after this in any case; 90 when left out.'),
  agent_refresh_reuse: z
    .enum(['end', 'refuse'])
    .optional()
    .describe(
      'A refresh token that was used before, and so may have been stolen: `end` the sign-in, the default, or ' +
        '`refuse` the token alone.',
    ),
}
