/** What keys and users get that are made without some fields, and the most that keys may have; in LiteLLM's names. */
import { z } from 'zod'
import type { KeyBounds, NewKeySettings } from '../../core/settings.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { memberPermissions } from '../../core/tenancy/fields.ts'
import type { Team } from '../../core/tenancy/tenancy.ts'
import { budgetDuration, budgetRuleOf } from './budgets.ts'
import { budgetUsd, count, countUpTo, duration, durationMs, id, openMap } from './value-types.ts'

const keyCount = () => countUpTo(1_000_000_000)

const defaultKeys = settingKeys('limits', {
  max_budget: {
    type: budgetUsd,
    description: 'The budget in US dollars that a key gets which is made without one.',
    example: 10,
  },
  budget_duration: {
    type: duration,
    description: 'After how long the budget begins anew of a key that is made without this field.',
    example: '30d',
  },
  duration: {
    type: duration,
    description: 'How long a key lives that is made without this field, as 30d or 1mo.',
    example: '90d',
  },
  rpm_limit: {
    type: keyCount,
    description: 'The requests a minute that a key may make which is made without this limit.',
    example: 60,
  },
  tpm_limit: {
    type: keyCount,
    description: 'The tokens a minute that a key may use which is made without this limit.',
    example: 100_000,
  },
  max_parallel_requests: {
    type: keyCount,
    description: 'The calls that a key may have under way at once which is made without this limit.',
    example: 5,
  },
  models: {
    type: () => z.array(z.string()).max(1000),
    description: 'The models that a key may use which is made without a list: names, patterns and access groups.',
    example: ['gpt-4.1-mini'],
  },
  metadata: {
    type: openMap,
    description: 'The metadata that a key gets which is made without any.',
    example: { project: 'search' },
  },
  team_id: {
    type: id,
    description: 'The id of the team to which a key belongs that is made without one.',
    example: 'team-a',
  },
  user_id: {
    type: id,
    description: 'The id of the user to whom a key belongs that is made without one.',
    example: 'user-a',
  },
})

const boundKeys = settingKeys('limits', {
  max_budget: { type: budgetUsd, description: 'The largest budget in US dollars that a key may have.', example: 10 },
  budget_duration: {
    type: duration,
    description: 'The longest time after which the budget of a key may begin anew.',
    example: '30d',
  },
  duration: { type: duration, description: 'How long a key may live at most, as 30d or 1mo.', example: '90d' },
  rpm_limit: { type: keyCount, description: 'The most requests a minute that a key may make.', example: 60 },
  tpm_limit: { type: keyCount, description: 'The most tokens a minute that a key may use.', example: 100_000 },
  max_parallel_requests: {
    type: keyCount,
    description: 'The most calls that a key may have under way at once.',
    example: 5,
  },
})

const userKeys = settingKeys('limits', {
  rpm_limit: {
    type: () => count().nullable(),
    description: 'The requests a minute that a user without a limit of its own may make; null means no limit.',
    example: 60,
  },
  tpm_limit: {
    type: () => count().nullable(),
    description: 'The tokens a minute that a user without a limit of its own may use; null means no limit.',
    example: 100_000,
  },
  max_parallel_requests: {
    type: () => count().nullable(),
    description: 'The calls that a user without a limit of its own may have under way at once; null means no limit.',
    example: 8,
  },
  user_role: {
    type: () => z.enum(['internal_user', 'internal_user_viewer']),
    default: 'internal_user',
    description: 'The role of users who are made without one.',
    example: 'internal_user_viewer',
  },
  models: {
    type: () => z.array(z.string()).max(1000),
    description: 'The models of users who are made without a list of models.',
    example: ['gpt-4.1-mini'],
  },
  max_budget: {
    type: budgetUsd,
    description: 'The budget in US dollars of users who are made without one.',
    example: 10,
  },
  budget_duration: {
    type: budgetDuration,
    description: 'After how long the budget begins anew of users who are made without one.',
    example: '30d',
  },
  available_teams: {
    type: () => z.array(id()).max(1000),
    default: [],
    description: 'Ids of teams that every user may join and leave without being asked (GET /team/available).',
    example: ['guests'],
  },
})

const teamKeys = settingKeys('limits', {
  max_budget: {
    type: budgetUsd,
    description: 'The budget in US dollars of teams that are made without one.',
    example: 100,
  },
  budget_duration: {
    type: budgetDuration,
    description: 'After how long the budget begins anew of teams that are made without this field.',
    example: '1mo',
  },
  models: {
    type: () => z.array(z.string()).max(1000),
    description: 'The models of teams that are made without a list of models.',
    example: ['gpt-4.1-mini'],
  },
  rpm_limit: {
    type: keyCount,
    description: 'The requests a minute of teams that are made without this limit.',
    example: 600,
  },
  tpm_limit: {
    type: keyCount,
    description: 'The tokens a minute of teams that are made without this limit.',
    example: 1_000_000,
  },
  team_member_permissions: {
    type: () => z.array(z.enum(memberPermissions)),
    description: 'What members of teams may do with keys that are made without this field.',
    example: ['/key/info', '/key/generate'],
  },
})

/** Keys of `settings`. */
export const newKeyKeys = settingKeys('limits', {
  default_key_generate_params: {
    keys: defaultKeys,
    description: 'What a key gets that is made without these fields, by API (also by `/user/new`) or the command line.',
    example: { max_budget: 10, budget_duration: '30d', duration: '90d' },
  },
  upperbound_key_generate_params: {
    keys: boundKeys,
    description:
      'The most that a key may have, a raise included, that is made or changed by API or the command line, also by ' +
      'administrators. A key that is made without a field gets its bound, unless its default is less. Tokens of ' +
      'directories, and keys that are brought from LiteLLM, are not bound.',
    example: { max_budget: 100, duration: '365d' },
  },
  max_internal_user_budget: {
    type: budgetUsd,
    sameAs: 'settings.default_internal_user_params.max_budget',
    description: 'The same as `max_budget` of `default_internal_user_params`, which wins.',
    example: 10,
  },
  internal_user_budget_duration: {
    type: budgetDuration,
    sameAs: 'settings.default_internal_user_params.budget_duration',
    description: 'The same as `budget_duration` of `default_internal_user_params`, which wins.',
    example: '30d',
  },
  default_internal_user_params: {
    keys: userKeys,
    description: 'The limits of every user without limits of its own, and what users get who are made without it.',
    example: { rpm_limit: 60 },
  },
  default_team_params: {
    keys: teamKeys,
    description: 'What teams get that are made without these fields, by API or by a directory.',
    example: { max_budget: 100, budget_duration: '1mo' },
  },
})

type NewKeyValues = Values<typeof newKeyKeys>

/** The limits of users without limits of their own, and what users get who are made without these fields. */
export function userSettingsOf(common: NewKeyValues) {
  const given = withDefaults(userKeys, common.default_internal_user_params ?? {})
  const rule = budgetRuleOf(
    given.max_budget ?? common.max_internal_user_budget,
    given.budget_duration ?? common.internal_user_budget_duration,
  )
  return {
    userLimits: {
      requestsPerMinute: given.rpm_limit ?? null,
      tokensPerMinute: given.tpm_limit ?? null,
      parallelRequests: given.max_parallel_requests ?? null,
    },
    newUsers: {
      role: given.user_role,
      models: given.models ?? [],
      maxBudgetNanoUsd: rule?.maxBudgetNanoUsd ?? null,
      budgetDuration: rule?.budgetDuration ?? null,
    },
    availableTeams: given.available_teams,
  }
}

/** What teams get that are made without some fields. */
export function newTeamsOf({ default_team_params: given = {} }: NewKeyValues): Partial<Team> {
  const { models, rpm_limit: rpm, tpm_limit: tpm, team_member_permissions: memberPermissions } = given
  return {
    ...budgetRuleOf(given.max_budget, given.budget_duration),
    ...(models && { models }),
    ...(rpm !== undefined && { requestsPerMinute: rpm }),
    ...(tpm !== undefined && { tokensPerMinute: tpm }),
    ...(memberPermissions && { memberPermissions }),
  }
}

/** What keys get, and the most that they may have. */
export function newKeysOf(common: NewKeyValues): NewKeySettings {
  const { default_key_generate_params: given = {}, upperbound_key_generate_params: bounds = {} } = common
  return {
    defaults: {
      ...boundsOf(given),
      ...(given.models && { models: given.models }),
      ...(given.metadata && { metadata: given.metadata }),
      ...(given.team_id !== undefined && { teamId: given.team_id }),
      ...(given.user_id !== undefined && { userId: given.user_id }),
    },
    bounds: boundsOf(bounds),
  }
}

function boundsOf(given: Values<typeof boundKeys>): KeyBounds {
  const { max_budget: usd, budget_duration: period, duration: lifetime } = given
  return {
    ...(usd !== undefined && { maxBudgetNanoUsd: budgetRuleOf(usd, undefined)!.maxBudgetNanoUsd! }),
    ...(period !== undefined && { budgetDuration: period }),
    ...(lifetime !== undefined && { lifetimeMs: durationMs(lifetime) }),
    ...(given.rpm_limit !== undefined && { requestsPerMinute: given.rpm_limit }),
    ...(given.tpm_limit !== undefined && { tokensPerMinute: given.tpm_limit }),
    ...(given.max_parallel_requests !== undefined && { parallelRequests: given.max_parallel_requests }),
  }
}
