/**
 * The fields of keys, teams, users, organizations, customers, tags, named budgets and memberships, one a line: see
 * `fields.ts` for what follows from it. A field that is to be stored needs a step of the database, too.
 */
import { shown, stored, written } from './fields.ts'
import type { Field, FieldKind } from './fields.ts'

/** Limits and a budget, the same on every object (https://docs.litellm.ai/docs/proxy/users, read 2026-11-23). */
export const spendingFields = {
  requestsPerMinute: written('limit', 'rpm_limit', 'Requests that are let through in a minute; 0 = none, null = any.'),
  tokensPerMinute: written('limit', 'tpm_limit', 'Tokens that calls may use in a minute; null = there is no limit.'),
  parallelRequests: written('limit', 'max_parallel_requests', 'Calls that may run at once; null = there is no limit.'),
  modelRequestsPerMinute: written('limits', 'model_rpm_limit', 'Requests that each model is let have in a minute.', {
    isInLitellmMetadata: true,
  }),
  modelTokensPerMinute: written('limits', 'model_tpm_limit', 'Tokens that calls of each model may use in a minute.', {
    isInLitellmMetadata: true,
  }),
  maxBudgetNanoUsd: written('dollars', 'max_budget', 'Dollars that may be spent in each `budget_duration`.'),
  softBudgetNanoUsd: written('dollars', 'soft_budget', 'Dollars at which an alert is raised; nothing is refused.'),
  budgetDuration: written(
    'duration',
    'budget_duration',
    'When spending begins at 0 again: `30d`, `1mo`; null = never.',
  ),
  budgetResetAtMs: written(
    'moment',
    'budget_reset_at',
    'One end of a budget window, which others follow; null = they follow the calendar.',
  ),
  /** An operator set what was spent anew: a window of its own began then. null = never. */
  spendResetAtMs: stored('moment'),
  /** What of the cost of all calls is shown as spent no more, since then; null = nothing. */
  spendOffsetNanoUsd: stored('dollars'),
  modelMaxBudget: written('modelBudgets', 'model_max_budget', 'What may be spent on each model, by its name.'),
  /** Null together with its end. */
  budgetIncreaseNanoUsd: written(
    'dollars',
    'temp_budget_increase',
    'Dollars that are added to `max_budget` until `temp_budget_expiry`.',
  ),
  budgetIncreaseUntilMs: written('moment', 'temp_budget_expiry', 'When the raise of the budget is over.'),
  budgetIncreaseReason: written('name', 'temp_budget_reason', 'Why it was raised, for people and the audit log.'),
  budgetId: written('name', 'budget_id', 'The named budget that sets what is not set here.'),
}

/** What the store says of each change. */
export const stampFields = {
  version: shown('count', 'version', 'Grows with every change; a change may name the version that it was made for.', {
    column: 'revision',
  }),
  createdAtMs: shown('time', 'created_at', 'When the object was made.'),
  createdBy: shown('id', 'created_by', 'Who made it: a user, else a key, or `cli`.'),
  updatedAtMs: shown('time', 'updated_at', 'When it was changed the last time.'),
  updatedBy: shown('id', 'updated_by', 'Who has changed it the last time.'),
}

/** What organizations, teams and users have in common, beside the names of their id and alias. */
const tenantFields = {
  ...spendingFields,
  models: written('models', 'models', 'Names, `prefix/*` patterns or access groups; empty = every model is allowed.'),
  metadata: written('object', 'metadata', 'Any JSON object, which the gateway only keeps.', { isSelfService: true }),
  /** Its keys are refused. */
  blocked: written('flag', 'blocked', 'true = calls with its keys are refused.'),
  ...stampFields,
}

/** Of organizations, teams, users and keys. */
const toolField = {
  objectPermission: written(
    'toolPermission',
    'object_permission',
    'Which tool servers (MCP) may be used, and which of their tools: `mcp_servers`, `mcp_access_groups`, ' +
      '`mcp_tool_permissions`, `blocked_tools`. Those of key, user, team and organization hold together.',
  ),
}

/** The widest tenant: teams belong to at most one. */
export const organizationFields = {
  id: shown('id', 'organization_id', 'The id that names the organization.'),
  alias: written('name', 'organization_alias', 'A name for people; several may share it.', { isSelfService: true }),
  ...tenantFields,
  ...toolField,
}

/** What a directory (SCIM) says of a user or a team, beside the fields that each has. */
export const directoryFields = {
  /** Its id at the directory. */
  externalId: stored('name'),
  /** What the directory sent and no other field holds, by the names of SCIM. */
  directoryAttributes: stored('object'),
  /** The directory set `blocked`, and may lift it: what an administrator blocked stays blocked. */
  blockedByDirectory: stored('flag'),
  /** When the directory deleted it; null = it did not. It is blocked since then. */
  removedAtMs: stored('moment'),
}

/** A group of users and keys. */
export const teamFields = {
  id: shown('id', 'team_id', 'The id that names the team.'),
  alias: written('name', 'team_alias', 'A name for people; several may share it.', { isSelfService: true }),
  organizationId: written('name', 'organization_id', 'The organization that the team belongs to; null = to none.'),
  ...tenantFields,
  ...toolField,
  ...directoryFields,
  modelAliases: written('aliases', 'model_aliases', 'What keys of the team call a model -> the model.', {
    isSelfService: true,
  }),
  memberPermissions: written('permissions', 'team_member_permissions', 'What members who are not admins may do.', {
    isSelfService: true,
  }),
  tags: written('names', 'tags', 'Tags that every call with a key of the team has.', { isInLitellmMetadata: true }),
  guardrails: written('names', 'guardrails', 'Guardrails that hold for every call with a key of the team.', {
    isInLitellmMetadata: true,
  }),
  storesBodies: written(
    'choice',
    'store_prompts_in_spend_logs',
    'Whether request and answer of its calls are stored: one false anywhere decides; null = as others say.',
  ),
  memberMaxBudgetNanoUsd: written('dollars', 'team_member_budget', 'For each member who has no budget of its own.', {
    isSelfService: true,
  }),
  memberBudgetDuration: written('duration', 'team_member_budget_duration', 'When the budget of members begins anew.', {
    isSelfService: true,
  }),
  memberRequestsPerMinute: written(
    'limit',
    'team_member_rpm_limit',
    'Requests that each member may send in a minute.',
    {
      isSelfService: true,
    },
  ),
  memberTokensPerMinute: written('limit', 'team_member_tpm_limit', 'Tokens that each member may use in a minute.', {
    isSelfService: true,
  }),
  memberKeyDuration: written('duration', 'team_member_key_duration', 'How long keys live that members make.', {
    isSelfService: true,
    isInLitellmMetadata: true,
  }),
}

/** A person with keys. */
export const userFields = {
  id: shown('id', 'user_id', 'The id that names the user.'),
  alias: written('name', 'user_alias', 'A name for people; several may share it.', { isSelfService: true }),
  email: written('email', 'user_email', 'The address of the user, which is kept in lower case.'),
  role: written('userRole', 'user_role', 'What the user may do over the whole gateway.'),
  ssoUserId: written('name', 'sso_user_id', 'The id that the user has at the identity provider.'),
  ...tenantFields,
  ...toolField,
  ...directoryFields,
  /** The name to sign in with at the directory, unique in any case; null = no directory has sent the user. */
  userName: stored('name'),
}

/** Whose keys may name a customer or a tag. At most one of the two is set; both null = it has no owner. */
export const nameOwnerFields = {
  teamId: written('name', 'team_id', 'Its team: only keys of this team may name it in calls.'),
  organizationId: written(
    'name',
    'organization_id',
    'Its organization: only keys of it and of its teams may name it in calls.',
  ),
}

/** The column of the field stays, and the API neither takes nor shows it. */
const hidden = <Kind extends FieldKind>({ kind }: Field<Kind>): Field<Kind, null, false> => stored(kind)

/** An end user of a client's application: an id on calls, without keys, for whom any model is allowed. */
export const customerFields = {
  ...nameOwnerFields,
  id: shown('id', 'user_id', 'What calls name the customer in `user`.'),
  alias: written('name', 'alias', 'A name for people; several may share it.'),
  ...tenantFields,
  models: hidden(tenantFields.models),
}

/** A label on calls, with limits and a budget of its own. */
export const tagFields = {
  ...nameOwnerFields,
  id: shown('id', 'name', 'What calls name the tag.'),
  alias: stored('name'),
  description: written('paragraph', 'description', 'What the tag is for, in some sentences.'),
  ...tenantFields,
  models: written(
    'models',
    'models',
    'Models or ids of deployments that are for calls with the tag, beside those that have it in `tags`, where ' +
      '`enable_tag_filtering` is on.',
  ),
  metadata: hidden(tenantFields.metadata),
  blocked: hidden(tenantFields.blocked),
}

/** Limits and a budget under a name, for many objects. */
export const budgetFields = {
  ...tenantFields,
  models: hidden(tenantFields.models),
  metadata: hidden(tenantFields.metadata),
  blocked: hidden(tenantFields.blocked),
  budgetId: hidden(spendingFields.budgetId),
  id: shown('id', 'budget_id', 'The name by which objects use the budget.'),
  alias: stored('name'),
}

/** A user's place in a team or an organization, with limits and a budget for what the user does there. */
export const membershipFields = {
  ...spendingFields,
  kind: stored('groupKind'),
  /** Id of the team or the organization. */
  groupId: stored('id'),
  userId: stored('id'),
  role: stored('memberRole'),
  createdAtMs: stored('time'),
}

/** What a virtual key is for calls. */
export const keyFields = {
  id: shown('id', 'token_id', 'The public id of the key; it is safe to log.'),
  alias: written('name', 'key_alias', 'A name for people; several keys may share it.'),
  userId: written('name', 'user_id', 'The user whose key it is; null = it belongs to no user.'),
  teamId: written('name', 'team_id', 'The team whose key it is; null = it belongs to no team.'),
  organizationId: written('name', 'organization_id', 'The organization that the key is in; null = that of its team.'),
  models: tenantFields.models,
  aliases: written('aliases', 'aliases', 'What the key calls a model -> the model.'),
  tags: written('names', 'tags', 'Tags that each of its calls has.', { isInLitellmMetadata: true }),
  allowedRoutes: written(
    'names',
    'allowed_routes',
    'What it may ask for: paths, `/prefix/*`, `llm_api_routes`, `management_routes`, `info_routes`; empty = all.',
  ),
  enforcedParams: written(
    'names',
    'enforced_params',
    'Fields that each call has to have, such as `user` or `metadata.job`.',
    { isInLitellmMetadata: true },
  ),
  allowedCacheControls: written(
    'names',
    'allowed_cache_controls',
    'Fields of `cache` that calls may have; empty = all.',
  ),
  guardrails: written(
    'names',
    'guardrails',
    'Guardrails that hold for each of its calls, beside those that hold anyway.',
    { isInLitellmMetadata: true },
  ),
  storesBodies: teamFields.storesBodies,
  expiresAtMs: shown('moment', 'expires', 'When the key ends; null = it never does.'),
  rotationInterval: written(
    'duration',
    'rotation_interval',
    'After which the text has to be replaced by POST /key/regenerate: `30d`; null = never.',
  ),
  textSinceMs: shown('moment', 'last_rotation_at', 'Since when the key has its text; null = it is not known.'),
  /** The store sets it. */
  rotateByMs: shown('moment', 'key_rotation_at', 'When its text has to be replaced by the interval; null = never.'),
  blocked: written('flag', 'blocked', 'true = calls with the key are refused.'),
  /** It belongs to a directory (SCIM), and to no user: it asks for `/scim` alone. */
  ofDirectory: stored('flag'),
  /** The hash of the text before, which is still valid until `formerEndMs`; null = there is none. */
  formerHash: stored('name'),
  /** null without `formerHash`. */
  formerEndMs: stored('moment'),
  /**
   * Under which id its callers store objects, where another than its user gave it its text: what the user has stored
   * stays the user's. null = under its own.
   */
  objectsOwner: stored('name'),
  /** The same for the text before, while that is valid. */
  formerObjectsOwner: stored('name'),
  metadata: tenantFields.metadata,
  maxBudgetPerSessionNanoUsd: written(
    'dollars',
    'max_budget_per_session',
    'Dollars that the calls of one session may cost; a client may lower it by `x-proxy-session-budget`.',
  ),
  ...toolField,
  ...spendingFields,
}

/** What is stored of a virtual key. */
export const keyRecordFields = {
  ...keyFields,
  /** HMAC-SHA256 of the key under the installation's pepper, lower-case hex. The key itself is not stored. */
  hash: shown('id', 'token', 'The hash by which the key is stored and found.'),
  /** `sk-...` and the last four characters. */
  hint: shown('id', 'key_name', 'The last characters of its text, by which people know the key.'),
  ...stampFields,
}

/** The objects that people make and change in forms, by the words of the API. */
export const writtenObjects = {
  key: keyFields,
  team: teamFields,
  user: userFields,
  organization: organizationFields,
  customer: customerFields,
  tag: tagFields,
  budget: budgetFields,
} as const
