/** `proxy_params` of an entry of `model_list`: how one model is reached at one provider. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import { unsentHeaders } from '../../core/transport.ts'
import { isKeyText } from '../checks/value-checks.ts'
import { sessionNameDefault } from '../models/aws-identity.ts'
import { awsIdentityKeys, azureIdentityKeys } from './cloud-identities.ts'
import { priceKeys } from './prices.ts'
import { modelFieldKeys } from './request-fields.ts'
import { routerKeys } from './router.ts'
import { count, headers, headerText, httpAddress, openMap, proxyAddress, seconds, text } from './value-types.ts'

const headerName = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'a header name has letters, digits and dashes')
    .refine(
      name => !unsentHeaders.has(name.toLowerCase()),
      'this header is set by the gateway itself, a given one is never sent; take it out',
    )
const matching = (pattern: RegExp, message: string) => () => z.string().regex(pattern, message)

const ofAzure = settingKeys('providers', {
  tenant_id: {
    type: text,
    description:
      'Azure: the directory at Entra ID that is asked for tokens instead of a key. Left out: AZURE_TENANT_ID.',
    example: 'os.environ/AZURE_TENANT_ID',
  },
  client_id: {
    type: text,
    description: 'Azure: the application that asks Entra ID for a token. Left out: AZURE_CLIENT_ID.',
    example: 'os.environ/AZURE_CLIENT_ID',
  },
  client_secret: {
    type: text,
    description:
      'Azure: the secret by which the application of `client_id` is known to Entra ID. Left out: AZURE_CLIENT_SECRET.',
    example: 'os.environ/AZURE_CLIENT_SECRET',
    secret: 'whole',
  },
  azure_ad_token: {
    type: headerText,
    description: 'Azure: a token of Entra ID that you renew yourself.',
    example: 'os.environ/AZURE_AD_TOKEN',
    secret: 'whole',
  },
  ...azureIdentityKeys,
})

const ofOllama = settingKeys('providers', {
  num_ctx: {
    type: count,
    description: 'Ollama: the tokens of context that the model is loaded with.',
    example: 8192,
  },
  keep_alive: {
    type: () => z.union([text(), z.number()]),
    description: 'Ollama: how long the model stays loaded, as `5m`; -1 means for ever.',
    example: '5m',
  },
})

const ofAnthropic = settingKeys('providers', {
  anthropic_version: {
    type: headerText,
    description: 'Anthropic: the version of the API that calls name (header `anthropic-version`).',
    example: '2023-06-01',
  },
  anthropic_beta: {
    type: headerText,
    description: 'Anthropic: the beta features that every call asks for, with commas between.',
    example: 'context-1m-2025-08-07',
  },
})

const ofVertex = settingKeys('providers', {
  vertex_project: {
    type: matching(/^[a-z0-9][a-z0-9.:-]{0,99}$/, 'must be a Google Cloud project id'),
    description:
      'Vertex AI: the Google Cloud project that is billed. Left out: VERTEXAI_PROJECT, or that of the credentials.',
    example: 'my-project',
    litellm: 'vertex_ai_project',
  },
  vertex_location: {
    type: matching(/^[a-z0-9-]{1,40}$/, 'must be a location such as `us-central1` or `global`'),
    description: 'Vertex AI: the region where the model is asked, or `global`.',
    example: 'us-central1',
    litellm: 'vertex_ai_location',
  },
  vertex_credentials: {
    type: () => z.union([text(), openMap()]),
    description:
      'Vertex AI: the credentials of Google (a service account, a user, a federation or an impersonation) that are ' +
      'used, as JSON text, a map, or the path of a file. Left out: VERTEXAI_CREDENTIALS, ' +
      'GOOGLE_APPLICATION_CREDENTIALS, those of `gcloud`, or the metadata server of the machine.',
    example: '/etc/modelgate/google.json',
    secret: 'members',
    litellm: 'vertex_ai_credentials',
  },
})

const ofBedrock = settingKeys('providers', {
  aws_region_name: {
    type: matching(/^[a-z]{2,4}(-[a-z]+){1,3}-\d{1,2}$/, 'must be a region such as `us-east-1`'),
    description: 'Bedrock: the region where the model is asked. Left out: AWS_REGION.',
    example: 'us-east-1',
  },
  aws_access_key_id: {
    type: headerText,
    description:
      'Bedrock: the key that signs calls, with `aws_secret_access_key`; `api_key` is an API key of Bedrock instead.',
    example: 'os.environ/AWS_ACCESS_KEY_ID',
    secret: 'account',
  },
  aws_secret_access_key: {
    type: text,
    description: 'Bedrock: the secret that belongs to `aws_access_key_id`.',
    example: 'os.environ/AWS_SECRET_ACCESS_KEY',
    secret: 'whole',
  },
  aws_session_token: {
    type: headerText,
    description: 'Bedrock: the session token that belongs to temporary credentials.',
    example: 'os.environ/AWS_SESSION_TOKEN',
    secret: 'whole',
  },
  aws_role_name: {
    type: matching(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/, 'must be the ARN of a role'),
    description: 'Bedrock: the ARN of a role that the keys take on, or the identity of the host where there are none.',
    example: 'arn:aws:iam::123456789012:role/models',
  },
  aws_session_name: {
    type: matching(/^[\w+=,.@-]{2,64}$/, 'must be 2 to 64 letters, digits and characters of `_+=,.@-`'),
    default: sessionNameDefault,
    description: 'Bedrock: the name of sessions with a role, which CloudTrail shows.',
    example: 'modelgate-production',
  },
  aws_external_id: {
    type: text,
    description: 'Bedrock: the text that `aws_role_name` asks for of those that take it on.',
    example: 'models-of-the-team',
  },
  aws_bedrock_runtime_endpoint: {
    type: () =>
      httpAddress().refine(value => !value.includes('?'), 'must have no query; take out what begins with `?`'),
    description: 'Bedrock: the address that is asked in place of that of the region, as of a private network.',
    example: 'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com',
  },
  ...awsIdentityKeys,
})

const timeouts = settingKeys('routing', {
  timeout: {
    type: seconds,
    description:
      'How many seconds may pass from the request to the first byte of a whole answer (of its body). Left out: ' +
      '`router_settings.timeout`.',
    example: 600,
  },
  stream_timeout: {
    type: seconds,
    description:
      'How many seconds may pass from the request to the first event of a stream; headers, comments and pings are ' +
      'none. Left out: `timeout`, else `router_settings.stream_timeout`.',
    example: 60,
  },
  connect_timeout: {
    type: seconds,
    default: 5,
    description: 'How many seconds may pass until a connection to the upstream stands.',
    example: 5,
  },
  idle_timeout: {
    type: seconds,
    default: 60,
    description: 'How many seconds may pass between two pieces of an answer after the first one, keep-alives included.',
    example: 60,
  },
  first_content_timeout: {
    type: seconds,
    default: 600,
    description:
      'How many seconds may pass from the first event of a stream (from the request while there is none) to its ' +
      'first content: text, thinking or a tool call. Some models think for minutes after their first event.',
    example: 600,
  },
  content_timeout: {
    type: seconds,
    default: 300,
    description: 'How many seconds may pass between two contents of a stream; pings are none.',
    example: 300,
  },
  total_timeout: {
    type: () => z.number().min(0).max(86_400),
    default: 0,
    description: 'How many seconds a whole attempt may take, however much arrives. 0 means that there is no limit.',
    example: 1800,
  },
})

const choice = settingKeys('routing', {
  weight: {
    type: () => z.number().min(0).max(1_000_000),
    default: 1,
    description:
      'The share of the calls that the deployment gets among those of one name and `order`; 0 means that it is ' +
      'drained and gets no new calls.',
    example: 2,
  },
  order: {
    type: () => z.number().int().min(0).max(1000),
    default: 0,
    description: 'Deployments with the smallest number get the calls; those with the next one only while these cannot.',
    example: 1,
  },
  tags: {
    type: () => z.array(text().max(128)).max(100),
    description:
      'The calls that the deployment is for, by their tags, with `enable_tag_filtering`; `default` stands for those ' +
      'without a tag of another deployment.',
    example: ['paid'],
  },
  cooldown_time: {
    type: routerKeys.cooldown_time.type,
    description:
      'How many seconds the first cooldown of this deployment lasts, in place of `router_settings.cooldown_time`.',
    example: 30,
  },
  rpm_limit: {
    type: count,
    description:
      'How many requests a minute this deployment takes, over all replicas. At its limit others of the name are ' +
      'chosen, then fallbacks, else the answer is 429.',
    example: 500,
  },
  tpm_limit: {
    type: count,
    description:
      'How many tokens a minute this deployment takes, over all replicas. At its limit others of the name are ' +
      'chosen, then fallbacks, else the answer is 429.',
    example: 200_000,
  },
})

/** The keys of `proxy_params`. */
export const modelParamKeys = {
  ...settingKeys('providers', {
    model: {
      type: text,
      isRequired: true,
      description:
        'The model as provider/model, by its name at the upstream. `*` stands for the part that the pattern matched.',
      example: 'openai/gpt-4.1-mini',
    },
    credential_name: {
      type: text,
      description: 'The credential of `credential_list` that gives what is not given here.',
      example: 'azure-west',
      litellm: 'litellm_credential_name',
    },
    custom_llm_provider: {
      type: text,
      description: 'The provider that is asked, where `model` does not begin with it.',
      example: 'openai',
    },
    api_key: {
      type: () =>
        text().refine(
          isKeyText,
          'has a blank, a line break or a character beyond ASCII, which no key has; look at its beginning and end',
        ),
      description:
        "The key that the provider is sent. Left out: the provider's variable in the environment, as OPENAI_API_KEY.",
      example: 'os.environ/OPENAI_API_KEY',
      secret: 'whole',
    },
    api_base: {
      type: httpAddress,
      description:
        "The address of the upstream up to its version, as `https://host/v1`. Left out: the provider's own is asked.",
      example: 'http://10.0.0.5:8000/v1',
      litellm: 'base_url',
    },
    api_version: {
      type: text,
      description: 'Azure: the `api-version` that every call names.',
      example: '2025-01-01-preview',
    },
    organization: {
      type: headerText,
      description: 'OpenAI: the organization that is billed (header `OpenAI-Organization`).',
      example: 'org-example',
    },
    project: {
      type: headerText,
      description: 'OpenAI: the project that is billed (header `OpenAI-Project`).',
      example: 'proj_example',
    },
    extra_headers: {
      type: () => headers(headerName()),
      description: 'Headers that are added to every call to this upstream.',
      example: { 'x-team': 'research' },
      secret: 'members',
      litellm: 'headers',
    },
  }),
  ...ofAzure,
  ...ofOllama,
  ...ofAnthropic,
  ...ofVertex,
  ...ofBedrock,
  ...settingKeys('providers', {
    max_tokens: {
      type: count,
      description: 'The limit of output that is sent where the provider demands one and the client gives none.',
      example: 4096,
    },
  }),
  ...timeouts,
  ...settingKeys('routing', {
    proxy: {
      type: proxyAddress,
      description:
        'The HTTP proxy that leads to this upstream, as `http://user:password@host:port`; false means none. It wins ' +
        'over `general_settings.proxy` and the environment.',
      example: 'http://proxy.internal:3128',
    },
  }),
  ...choice,
  ...modelFieldKeys,
  ...priceKeys,
}

/** The keys whose values are secret: they change by rotation, and must not be guessable from a hash. */
export const secretParams: ReadonlySet<string> = new Set(
  Object.entries(modelParamKeys).flatMap(([name, key]) => ('secret' in key ? [name] : [])),
)
