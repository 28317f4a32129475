/** Fields of management requests that LiteLLM knows and that do nothing here, and what to do instead. */

/** One of them. Null, false, 0 and what is empty ask for nothing of it, and are taken in every case. */
interface UnusedField {
  /** What to do instead, as the end of a sentence. */
  readonly instead: string
  /** It would narrow or widen what may be called, seen or spent: a request that asks for it is refused. */
  readonly isRefused: boolean
}

const refused = (instead: string): UnusedField => ({ instead, isRefused: true })
const ignored = (instead: string): UnusedField => ({ instead, isRefused: false })

/** By their names, which mean the same on every object (`litellm/proxy/_types.py` of LiteLLM 1.82.6). */
export const unusedFields: ReadonlyMap<string, UnusedField> = new Map(
  Object.entries({
    spend: refused('what was spent is the sum of calls in the ledger; POST /key/{key}/reset_spend shows less'),
    project_id: refused('use `team_id`'),
    permissions: refused('use `allowed_routes` of keys'),
    object_permission: refused('set it on keys, teams, users and organizations'),
    allowed_passthrough_routes: refused('there are no pass-through routes'),
    allowed_vector_store_indexes: refused('there are no vector stores'),
    policies: refused('use `guardrails`, or the policies of the gateway'),
    prompts: refused('there are no stored prompts'),
    access_group_ids: refused('name the access groups in `models`'),
    guardrails: refused('set them on keys and teams, or `default_on` for all calls'),
    allowed_cache_controls: refused('set it on keys'),
    allowed_model_region: refused('use `models` of the key'),
    password: refused('users set their own by a link: POST /sign-in/invitations makes one, and mails it'),
    new_master_key: refused('call `modelgate keys reset-master`'),
    all_users: refused('name the users'),
    user_updates: refused('name the users, each with its own changes'),
    enforced_batch_output_expires_after: refused('files are kept as their upstream keeps them'),
    enforced_file_expires_after: refused('files are kept as their upstream keeps them'),
    rpm_limit_type: ignored('each limit counts on its own as calls come, and none is set aside for a key'),
    tpm_limit_type: ignored('each limit counts on its own as calls come, and none is set aside for a key'),
    agent_id: ignored('there are no agents'),
    config: ignored('settings are those of the gateway'),
    aliases: ignored('set `aliases` on keys, or `model_aliases` on teams'),
    router_settings: ignored('retries and fallbacks are settings of the gateway'),
    secret_manager_settings: ignored('secrets are settings of the gateway'),
    send_invite_email: ignored('POST /sign-in/invitations mails a link; keys are not mailed'),
    default_model: ignored('name the model in each call'),
    model_info: ignored('what models are is at GET /model/info'),
    updated_by: ignored('who changes something is known by the key'),
    created_by: ignored('who makes something is known by the key'),
    created_at: ignored('the gateway sets it'),
    updated_at: ignored('the gateway sets it'),
    guardrail_id: ignored('the gateway makes it, and changes name it in the path'),
    auto_create_key: ignored('POST /key/generate makes one'),
    policy_template: ignored('there are no templates of policies'),
  }),
)

/** Words of names that speak of rights, limits or money: a field with one of them is not merely passed over. */
const words = new RegExp(
  'budget|limit|spend|cost|[rt]pm|allow|deny|forbid|block|permi|route|role|scope|expir|duration|access|guardrail|' +
    'polic|region|restrict|enforce',
)
/** So do these names as wholes: whose limits hold, and which models there are. */
const names: ReadonlySet<string> = new Set([
  'models',
  'teams',
  'organizations',
  'team_id',
  'user_id',
  'organization_id',
])

/** Whether a field of this name narrows or widens what may be called, seen or spent. */
export const speaksOfRights = (name: string): boolean => names.has(name) || words.test(name.toLowerCase())
