/** Fields of users as LiteLLM names them (https://docs.litellm.ai/docs/proxy/users, 2026-11-23). */
import { z } from 'zod'
import { keyFields, userFields } from '../../core/tenancy/field-tables.ts'
import { blankRecord } from '../../core/tenancy/fields.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { lazy } from '../../lib/lazy.ts'
import { shownFields } from './answers.ts'
import { changesOf, durationText, keyName, selfServiceFields, version, writtenFields } from './checks.ts'
import { dollars } from './money.ts'

const fields = lazy(() => ({
  ...writtenFields(userFields),
}))

const keyOptions = lazy(() => writtenFields(keyFields))

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
    auto_create_key: z.boolean().default(true),
    team_id: keyName().nullable().optional().describe('One more of `teams`, which the key that is made belongs to.'),
    key_alias: keyName().nullable().optional().describe('Of the key that is made.'),
    duration: durationText().nullable().optional().describe('Time to live of the key that is made.'),
    aliases: keyOptions().aliases.describe('Of the key that is made: what it calls a model -> the model.'),
    allowed_cache_controls: keyOptions().allowed_cache_controls.describe(
      'Of the key that is made: fields of `cache` that calls may have; empty = all.',
    ),
    guardrails: keyOptions().guardrails.describe('Of the key that is made: guardrails that hold for its calls.'),
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
