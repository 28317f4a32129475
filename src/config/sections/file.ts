/**
 * Schema of the configuration file, in the layout that LiteLLM users know. Unknown keys are mistakes; LiteLLM's keys
 * that have no function here are warnings (litellm-keys.ts), so that an existing file starts.
 */
import { z } from 'zod'
import { agentSettings } from './agents.ts'
import { budgetSettings, commonBudgetSettings, newUserSettings } from './budgets.ts'
import { cacheSettings } from './cache.ts'
import { identitySettings } from './identity.ts'
import { guardrailList } from './guardrails.ts'
import { bodyRefusalSettings, bodyStoreSettings } from './stored-bodies.ts'
import { exportSettings } from './usage-export.ts'
import { ledgerSettings } from './ledger.ts'
import { keyAgeSettings } from './key-age.ts'
import { limitSettings } from './limits.ts'
import { newKeySettings } from './new-keys.ts'
import { modelHubSettings } from './model-hub.ts'
import { priceTermSettings } from './price-terms.ts'
import { checkedText } from '../checks/checked-text.ts'
import { cooldownSettings, fallbackSettings, routerSettings } from './router.ts'
import { storageSettings } from './storage.ts'
import { storedSettings } from './made-by-api.ts'
import {
  commonExamples,
  generalExamples,
  infoExamples,
  limitExamples,
  paramExamples,
  withExamples,
} from './key-examples.ts'
import { priceExamples, prices, priceSource } from './prices.ts'
import { proxyProblem, proxySettingHelp } from '../models/proxies.ts'
import { masterKeyProblem } from '../../access/key.ts'
import { unsentHeaders } from '../../core/transport.ts'
import { defaultModelSettings, fieldParams, fieldSettings, objectIdSettings } from './request-fields.ts'
import { addressProblem, databaseUrlProblem, isHeaderText, isKeyText, isModelName } from '../checks/value-checks.ts'
import { abilities, flag } from './abilities.ts'
import { signInSettings } from './sign-in.ts'

const text = z.string().min(1)
const noHeaderText = 'has a line break or another character that no header can carry'
const headerText = text.refine(isHeaderText, noHeaderText)
const seconds = z.number().positive().max(86_400)
const count = z.number().int().min(1).max(1_000_000_000)
/** The message does not show the value, which may hold a password. */
const proxy = z.union([z.literal(false), z.string()], { error: proxySettingHelp }).superRefine((value, context) => {
  const problem = value === false ? undefined : proxyProblem(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

const address = checkedText(
  z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }),
  addressProblem,
)
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'a header name has letters, digits and dashes')
  .refine(
    name => !unsentHeaders.has(name.toLowerCase()),
    'this header is set by the gateway itself, a given one is never sent; take it out',
  )
const modelName = text.refine(isModelName, 'must not be blank or have line breaks and other control characters')

/** `proxy_params`: how to reach one model at one provider. */
const proxyParams = z.strictObject(
  withExamples(
    {
      model: text.describe('provider/model; the name at the upstream. `*` = the part that the pattern matched.'),
      credential_name: text
        .optional()
        .describe('A credential of `credential_list` (LiteLLM: `litellm_credential_name`) for what is not given here.'),
      custom_llm_provider: text.optional().describe('The provider, where `model` does not begin with it.'),
      api_key: text
        .refine(
          isKeyText,
          'has a blank, a line break or a character beyond ASCII, which no key has; look at its beginning and end',
        )
        .optional()
        .describe("The provider's key; else the provider's variable in the environment, as OPENAI_API_KEY."),
      api_base: address
        .optional()
        .describe("The address of the upstream up to its version, as `https://host/v1`; else the provider's own."),
      api_version: text.optional().describe('Azure: the `api-version` of every call.'),
      organization: headerText
        .optional()
        .describe('OpenAI: the organization that is billed (header `OpenAI-Organization`).'),
      project: headerText.optional().describe('OpenAI: the project that is billed (header `OpenAI-Project`).'),
      extra_headers: z
        .record(headerName, z.string().refine(isHeaderText, noHeaderText))
        .optional()
        .describe('Headers that are added to every call to this upstream.'),
      tenant_id: text.optional().describe('Azure: Entra ID instead of a key, with `client_id` and `client_secret`.'),
      client_id: text.optional().describe('Azure: the application that asks Entra ID for a token.'),
      client_secret: text.optional().describe("Azure: that application's secret."),
      azure_ad_token: headerText.optional().describe('Azure: a token that you renew yourself.'),
      num_ctx: count.optional().describe('Ollama: tokens of context that the model is loaded with.'),
      keep_alive: z
        .union([text, z.number()])
        .optional()
        .describe('Ollama: how long the model stays loaded, as `5m`; -1 = for ever.'),
      anthropic_version: headerText
        .optional()
        .describe('Anthropic: the version of the API (header `anthropic-version`).'),
      anthropic_beta: headerText.optional().describe('Anthropic: beta features of every call, with commas between.'),
      vertex_project: z
        .string()
        .regex(/^[a-z0-9][a-z0-9.:-]{0,99}$/, 'must be a Google Cloud project id')
        .optional()
        .describe('Vertex AI: the Google Cloud project; else VERTEXAI_PROJECT, or that of the credentials.'),
      vertex_location: z
        .string()
        .regex(/^[a-z0-9-]{1,40}$/, 'must be a location such as `us-central1` or `global`')
        .optional()
        .describe('Vertex AI: the region, or `global`.'),
      vertex_credentials: z
        .union([text, z.record(z.string(), z.unknown())])
        .optional()
        .describe('Google credentials: JSON text, a map, or the path of a file.'),
      aws_region_name: z
        .string()
        .regex(/^[a-z]{2,4}(-[a-z]+){1,3}-\d{1,2}$/, 'must be a region such as `us-east-1`')
        .optional()
        .describe('Bedrock: the region; else AWS_REGION.'),
      aws_access_key_id: headerText
        .optional()
        .describe('Bedrock: signs calls, with `aws_secret_access_key`; `api_key` is an API key of Bedrock.'),
      aws_secret_access_key: text.optional().describe('Bedrock: the secret of `aws_access_key_id`.'),
      aws_session_token: headerText.optional().describe('Bedrock: of temporary credentials.'),
      aws_role_name: z
        .string()
        .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/, 'must be the ARN of a role')
        .optional()
        .describe(
          'Bedrock: the ARN of a role that the keys take on. Without keys that of the ECS task or EKS pod counts.',
        ),
      aws_session_name: z
        .string()
        .regex(/^[\w+=,.@-]{2,64}$/, 'must be 2 to 64 letters, digits and characters of `_+=,.@-`')
        .optional()
        .describe('Bedrock: the name of sessions with a role, shown by CloudTrail; else `modelgate`.'),
      aws_external_id: text.optional().describe('Bedrock: what `aws_role_name` asks for of those that take it on.'),
      aws_bedrock_runtime_endpoint: address
        .refine(value => !value.includes('?'), 'must have no query; take out what begins with `?`')
        .optional()
        .describe('Bedrock: an address of its own, as of a private network.'),
      max_tokens: count.optional().describe('Output limit where the provider demands one and the client gives none.'),
      timeout: seconds
        .optional()
        .describe('Seconds from the request to the first byte of a whole answer (of its body); 600 when left out.'),
      stream_timeout: seconds
        .optional()
        .describe(
          'Seconds from the request to the first event of a stream; headers, comments and pings are none. `timeout` ' +
            'when left out, else 300.',
        ),
      connect_timeout: seconds
        .optional()
        .describe('Seconds until a connection to the upstream stands; 5 when left out.'),
      idle_timeout: seconds
        .optional()
        .describe(
          'Seconds between two pieces of an answer after the first one, keep-alives included; 60 when left out.',
        ),
      first_content_timeout: seconds
        .optional()
        .describe(
          'Seconds from the first event of a stream (from the request while there is none) to its first content: ' +
            'text, thinking or a tool call; 600 when left out, because some models think for minutes after their ' +
            'first event.',
        ),
      content_timeout: seconds.optional().describe('Seconds between two contents of a stream, pings are none; 300.'),
      total_timeout: seconds
        .optional()
        .describe('Seconds for a whole attempt, however much arrives; 0 or left out = none.'),
      proxy: proxy
        .optional()
        .describe(
          'The HTTP proxy that leads to this upstream, as `http://user:password@host:port`; false = none. Wins over ' +
            '`general_settings.proxy` and the environment.',
        ),
      weight: z
        .number()
        .min(0)
        .max(1_000_000)
        .optional()
        .describe('Share of the calls among deployments of one name and `order`; 0 = drained: it gets no new calls.'),
      order: z
        .number()
        .int()
        .min(0)
        .max(1000)
        .optional()
        .describe(
          'Deployments with the smallest number get the calls; those with the next one only while these cannot.',
        ),
      tags: z
        .array(text.max(128))
        .max(100)
        .optional()
        .describe(
          'With `enable_tag_filtering`: the calls that it is for, by their tags; `default` = those without a tag of ' +
            'another deployment.',
        ),
      cooldown_time: cooldownSettings.cooldown_time.describe(
        'Seconds of the first cooldown of this deployment, in place of `router_settings.cooldown_time`.',
      ),
      rpm_limit: count
        .optional()
        .describe(
          'Requests a minute that this deployment takes, over all replicas. At its limit others of the name are ' +
            'chosen, then fallbacks, else the answer is 429.',
        ),
      tpm_limit: count.optional().describe('Tokens a minute that it takes, in the same way.'),
      ...fieldParams,
      ...prices,
    },
    { ...paramExamples, ...priceExamples },
  ),
)

/** The fields of `proxy_params` that a credential may hold. */
const credentialValues = proxyParams.omit({ model: true, credential_name: true }).partial()

const credential = z.strictObject({
  credential_name: modelName
    .max(200)
    .describe('The name by which models refer to it.')
    .meta({ examples: ['azure-west'] }),
  credential_info: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Notes of your own, shown in lists.')
    .meta({ examples: [{ description: 'paid by the research group' }] }),
  credential_values: z
    .record(z.string(), z.unknown())
    .superRefine((values, context) => {
      for (const issue of credentialValues.safeParse(values).error?.issues ?? []) context.addIssue({ ...issue })
    })
    .describe('Fields of `proxy_params`, as `api_key` and `api_base`; those of the model itself win.')
    .meta({ examples: [{ api_key: 'os.environ/AZURE_WEST_KEY', api_base: 'https://west.openai.azure.com' }] }),
})

const modalities = ['text', 'image', 'audio', 'video'] as const
const modelInfo = z.strictObject(
  withExamples(
    {
      id: z
        .string()
        .regex(/^[A-Za-z0-9._:-]{1,128}$/, 'an id has 1 to 128 letters, digits and . _ : -')
        .optional()
        .describe(
          'A name of your own for the deployment, as in headers and the ledger. Entries that differ in their ' +
            'key alone are otherwise distinguished by their order.',
        ),
      mode: z
        .enum([
          'chat',
          'completion',
          'embedding',
          'moderation',
          'rerank',
          'image_generation',
          'audio_speech',
          'audio_transcription',
        ])
        .optional()
        .describe('What the model is for; else by its name.'),
      base_model: text
        .optional()
        .describe('Name for the price catalogue and for what the model refuses, when the upstream uses its own.'),
      access_groups: z
        .array(text)
        .optional()
        .describe('Names of groups; a key that lists one may use the models in it.'),
      team_id: text
        .optional()
        .describe(
          'The team whose keys alone may call the model; a key of another team, or of none, does not see it. It ' +
            'stands in the place of a shared model of its name.',
        ),
      team_public_model_name: modelName
        .optional()
        .describe('The name that the keys of the team (`team_id`) call it by, in the place of `model_name`.'),
      display_name: text.optional().describe('A name for people, shown in lists of models.'),
      description: text.optional().describe('A sentence about the model, shown in lists of models.'),
      max_tokens: count.optional().describe('Tokens of output at most, shown in lists of models.'),
      max_input_tokens: count.optional().describe('Tokens of input at most.'),
      max_output_tokens: count.optional().describe('Tokens of output at most, under its other name.'),
      context_window: count.optional().describe('Tokens of input and output together; else by the catalogue.'),
      output_vector_size: count.optional().describe('The number of dimensions of an embedding.'),
      supports_vision: flag.describe('Takes images.'),
      supports_function_calling: flag.describe('Takes tools.'),
      supports_parallel_function_calling: flag.describe('Calls several tools at once.'),
      supports_tool_choice: flag.describe('Takes `tool_choice`.'),
      supports_response_schema: flag.describe('Takes a JSON schema for its answer.'),
      supports_reasoning: flag.describe('Thinks before it answers.'),
      supports_prompt_caching: flag.describe('Its provider keeps prompts at a lower price.'),
      supports_system_messages: flag.describe('Takes system messages.'),
      supports_audio_input: flag.describe('Takes audio.'),
      supports_audio_output: flag.describe('Answers with audio.'),
      supports_video_input: flag.describe('Takes video.'),
      supports_pdf_input: flag.describe('Takes PDF files.'),
      supports_image_output: flag.describe('Answers with images.'),
      supports_web_search: flag.describe('Searches the web.'),
      supported_modalities: z
        .array(z.enum(modalities))
        .optional()
        .describe('What goes in; else made from the flags above.'),
      supported_output_modalities: z
        .array(z.enum(modalities))
        .optional()
        .describe('What comes out; else made from the flags above.'),
      ...abilities,
      ...prices,
    },
    { ...infoExamples, ...priceExamples },
  ),
)

/** One entry of `model_list`. Entries with the same `model_name` are load-balanced. */
export const modelEntrySchema = z.strictObject({
  model_name: modelName
    .describe(
      'The public name, which clients send. Entries with one name share its calls; `vendor/*` stands for ' +
        'every name that fits.',
    )
    .meta({ examples: ['fast'] }),
  proxy_params: proxyParams.describe('How the model is reached.'),
  model_info: modelInfo.optional().describe('What is known about the model.'),
})

const limits = z.strictObject(
  withExamples(
    {
      rpm_limit: count.nullable().optional().describe('Requests a minute; null = no limit.'),
      tpm_limit: count.nullable().optional().describe('Tokens a minute; null = no limit.'),
      max_parallel_requests: count.nullable().optional().describe('Calls under way at once; null = no limit.'),
      ...newUserSettings,
    },
    limitExamples,
  ),
)

const commonSettings = z.strictObject(
  withExamples(
    {
      ...bodyRefusalSettings,
      request_timeout: seconds.optional().describe('The same as `router_settings.timeout`, which wins.'),
      num_retries: z
        .number()
        .int()
        .min(0)
        .max(10)
        .optional()
        .describe('The same as `router_settings.num_retries`, which wins.'),
      allowed_fails: cooldownSettings.allowed_fails.describe(
        'The same as `router_settings.allowed_fails`, which wins.',
      ),
      cooldown_time: cooldownSettings.cooldown_time.describe(
        'The same as `router_settings.cooldown_time`, which wins.',
      ),
      ...fieldSettings,
      ...fallbackSettings,
      ...commonBudgetSettings,
      ...cacheSettings,
      ...priceTermSettings,
      ...modelHubSettings,
      ...newKeySettings,
      default_internal_user_params: limits
        .optional()
        .describe('Limits of every user without limits of its own; the other fields are for users who are made.'),
    },
    commonExamples,
  ),
)

const generalSettings = z.strictObject(
  withExamples(
    {
      master_key: checkedText(text, masterKeyProblem)
        .optional()
        .describe(
          "The administrator's key, at least 32 random characters. MODELGATE_MASTER_KEY wins; without either " +
            'the first start makes one.',
        ),
      database_url: checkedText(text, databaseUrlProblem)
        .optional()
        .describe('`postgres://...` or `sqlite:path`. DATABASE_URL wins; else a SQLite file in the data directory.'),
      max_keys_per_user: count.optional().describe('Valid keys that a user may have; no limit when left out.'),
      ...keyAgeSettings,
      ...limitSettings,
      ...budgetSettings,
      max_request_size_mb: z
        .number()
        .min(0.01)
        .max(100)
        .optional()
        .describe('The largest body of a request, in MB; 32 when left out.'),
      max_body_memory_mb: z
        .number()
        .min(1)
        .max(1_048_576)
        .optional()
        .describe('Of the bodies of all requests under way together; further ones get 503. 512 when left out.'),
      ...storageSettings,
      ...storedSettings,
      ...signInSettings,
      ...ledgerSettings,
      ...bodyStoreSettings,
      ...exportSettings,
      ...agentSettings,
      require_auth_for_metrics_endpoint: z.boolean().optional().describe('true: `/metrics` needs a key.'),
      header_prefix: z
        .string()
        .regex(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'lower-case letters, digits and dashes')
        .optional()
        .describe("The beginning of the gateway's own response headers; `x-proxy` when left out."),
      disable_local_models: z
        .boolean()
        .optional()
        .describe('true: the built-in simulated models (`local/...`) are not offered.'),
      ...identitySettings,
      ...objectIdSettings,
      ...defaultModelSettings,
      proxy: proxy
        .optional()
        .describe(
          'The HTTP proxy that leads to upstreams, save those of NO_PROXY; false = none. Wins over HTTPS_PROXY, ' +
            'HTTP_PROXY and ALL_PROXY.',
        ),
    },
    generalExamples,
  ),
)

/**
 * The whole file, with our own names and with variables resolved. Relations between values are checked later:
 * entry-checks.ts, name-checks.ts, models/deployment-ids.ts.
 */
export const configSchema = z.strictObject({
  model_list: z
    .array(modelEntrySchema)
    .optional()
    .describe(
      'The models that are offered. Without it: every provider with a key in the environment, and model ' +
        'servers on this machine.',
    ),
  credential_list: z
    .array(credential)
    .max(1000)
    .refine(
      list => new Set(list.map(one => one.credential_name)).size === list.length,
      'has two credentials of one name; give each a name of its own',
    )
    .optional()
    .describe('Keys and addresses that several models share (docs/models-by-api.md).'),
  guardrails: guardrailList,
  router_settings: routerSettings.optional().describe('Retries, cooldowns and fallbacks (docs/routing.md).'),
  prices: priceSource
    .optional()
    .describe("A price list in the shape of LiteLLM's, over the built-in one (docs/models-and-prices.md)."),
  settings: commonSettings.optional().describe('Defaults of all calls, and limits of users.'),
  general_settings: generalSettings.optional().describe('The gateway itself.'),
  environment_variables: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'the name of a variable has letters, digits and _ . -'),
      z.string(),
    )
    .optional()
    .describe('Variables for references in this file and for keys of providers; those of the process win.')
    .meta({ examples: [{ OPENAI_API_KEY: 'os.environ/KEY_OF_OPENAI' }] }),
})

/** A valid file; every section may be absent. */
export type Config = z.infer<typeof configSchema>
/** A valid entry. Times are in seconds, prices in dollars for one unit. */
export type ModelEntry = z.infer<typeof modelEntrySchema>
