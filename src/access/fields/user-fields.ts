/** Fields of users as LiteLLM names them (https://docs.litellm.ai/docs/proxy/users, 2026-11-23). */
import { z } from 'zod'
import { userFields } from '../../core/tenancy/field-tables.ts'
import { blankRecord } from '../../core/tenancy/fields.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { lazy } from '../../lib/lazy.ts'
import { shownFields } from './answers.ts'
import { changesOf, durationText, keyName, selfServiceFields, version, without, writtenFields } from './checks.ts'
import { dollars } from './money.ts'

const fields = lazy(() => ({
  ...writtenFields(userFields),
  spend: without('what a user has spent is the sum of its calls in the ledger'),
  agent_id: without('leave it out'),
  config: without('settings are those of the gateway'),
  permissions: without('use `allowed_routes` of keys'),
  aliases: without('set `aliases` on keys, or `model_aliases` on teams'),
  object_permission: without('use `models`'),
  allowed_cache_controls: without('set it on keys'),
  guardrails: without('guardrails are policies of the gateway'),
  policies: without('policies are those of the gateway'),
  prompts: without('there are no stored prompts'),
  password: without('users set their own by a link: POST /sign-in/invitations makes one, and mails it'),
}))

const teamMembership = lazy(() =>
  z.union([
    keyName(),
    z.strictObject({
      team_id: keyName(),
      user_role: z.enum(['admin', 'user']).default('user'),
      max_budget_in_team: dollars().optional(),
    }),
  ]),
)

/** The body of `/user/new`. */
export const userBody = lazy(() =>
  z.strictObject({
    user_id: keyName().nullable().optional().describe('Its id; one is made where it is absent.'),
    ...fields(),
    teams: z.array(teamMembership()).max(100).nullable().optional(),
    organizations: z.array(keyName()).max(100).nullable().optional(),
    team_id: without('use `teams`'),
    auto_create_key: z.boolean().default(true),
    key_alias: keyName().nullable().optional().describe('Of the key that is made.'),
    duration: durationText().nullable().optional().describe('Time to live of the key that is made.'),
    send_invite_email: without('send the key yourself'),
  }),
)
/** The body of `/user/update`. */
export const userUpdateBody = lazy(() =>
  z
    .strictObject({ user_id: keyName().optional(), ...fields(), version: version() })
    .refine(body => body.user_id !== undefined || body.user_email != null, 'give `user_id` or `user_email`'),
)
/** What users may change of themselves. */
export const selfFields = selfServiceFields(userFields, 'user_id', 'version')

type UserInput = Partial<z.infer<z.ZodObject<ReturnType<typeof fields>>>>

/** The changes of a user, as far as they were sent. */
export const userChanges = (sent: UserInput): TenantChanges<'user'> => ({
  ...changesOf(userFields, sent),
  // An administrator has decided: the directory does not lift it.
  ...(sent.blocked !== undefined && { blockedByDirectory: false }),
})

/** A new user. `defaults` for what was not sent. */
export const newUser = (id: string, sent: UserInput, defaults: Partial<User>): NewTenant<'user'> => ({
  ...blankRecord(userFields),
  ...defaults,
  id,
  ...userChanges(sent),
})

/** A user as the API shows it. `spend` in dollars. */
export const shownUser = (user: User, teamIds: readonly string[], spend: number) => ({
  ...shownFields(userFields, user),
  spend,
  teams: teamIds,
})
