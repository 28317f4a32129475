/** URLs, regions and model ids of Bedrock (docs.aws.amazon.com/bedrock, "Amazon Bedrock Runtime"). */
import { GatewayError } from '../../core/errors.ts'
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** The default `baseUrl`; it is replaced by the host of the target's region. */
export const regionalBaseUrl = 'https://bedrock-runtime.amazonaws.com'

/** A region, which becomes part of host names and signatures. */
export const regionPattern = /^[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}$/
/**
 * A model as LiteLLM's files name it: behind a route (`converse/`, `invoke/`) and a region
 * (`bedrock/us-west-2/anthropic...`).
 */
export function namedInRegion(model: string): { readonly region?: string; readonly id: string } {
  const id = withoutRoute(model)
  const slash = id.indexOf('/')
  const region = slash < 0 ? '' : id.slice(0, slash)
  return regionPattern.test(region) ? { region, id: withoutRoute(id.slice(slash + 1)) } : { id }
}

const withoutRoute = (model: string): string => model.replace(/^(?:converse|converse_like|invoke)\//, '')

/** Ids and ARNs. No leading dot: `..` would be resolved in the URL's path. */
const modelPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,2047}$/

type BedrockAction = 'converse' | 'converse-stream' | 'invoke' | 'count-tokens'

/** URL and headers of `action` on the target's model. Throws as `modelId` and `regionOf` do. */
export function bedrockHead(target: Target, action: BedrockAction): CallHead {
  return {
    url: `${baseUrl(target)}/model/${encodeURIComponent(modelId(target))}/${action}`,
    headers: {
      'content-type': 'application/json',
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...target.headers,
    },
  }
}

/** The model's id at AWS, without LiteLLM's routes. Throws `model-not-found` for an invalid id. */
export function modelId({ model }: Target): string {
  const id = withoutRoute(model)
  if (modelPattern.test(id)) return id
  throw new GatewayError('model-not-found', 'the name of this model is neither a Bedrock model id nor an ARN', {
    param: 'model',
  })
}

function baseUrl(target: Target): string {
  return target.baseUrl === regionalBaseUrl ? regionalUrl(regionOf(target)) : target.baseUrl
}

/** `region` becomes part of the host's name: it has to fit `regionPattern`, which is not checked here. */
export const regionalUrl = (region: string): string => `https://bedrock-runtime.${region}.amazonaws.com`

/** The region to sign for: from the configuration, else from the host's name; else throws `upstream-credentials`. */
export function regionOf(target: Target): string {
  const region = target.options.aws_region_name ?? hostRegion(target.baseUrl)
  if (typeof region === 'string' && regionPattern.test(region)) return region
  throw new GatewayError(
    'upstream-credentials',
    'this deployment has no AWS region: its operator gives `aws_region_name` (for example us-east-1), ' +
      'or sets AWS_REGION',
  )
}

/**
 * The region in a host such as `https://bedrock-runtime.eu-west-1.amazonaws.com`, also with `-fips` or of a VPC
 * endpoint; undefined = another host.
 */
export function hostRegion(url: string): string | undefined {
  return /\bbedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|vpce\.amazonaws\.com|api\.aws)/.exec(url)?.[1]
}
