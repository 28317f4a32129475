/** Where a model of Bedrock is reached, and as what (docs.aws.amazon.com/bedrock, "Amazon Bedrock Runtime"). */
import { GatewayError } from '../../core/errors.ts'
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** Stands for "the host of the region". */
export const regionalBaseUrl = 'https://bedrock-runtime.amazonaws.com'

/** Goes into a host's name and into signatures. */
export const regionPattern = /^[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}$/
/** Ids and ARNs; a name that begins with a dot could leave the path. */
const modelPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,2047}$/

type BedrockAction = 'converse' | 'converse-stream' | 'invoke' | 'count-tokens'

/** The call of `action` at the target's model. Throws what `modelId` and `regionOf` throw. */
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

/** The model's id at AWS. Files of the peer say `converse/` before it. Throws `model-not-found` for what is no id. */
export function modelId({ model }: Target): string {
  const id = model.replace(/^converse\//, '')
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

/** The region to sign for: as configured, else as the host's name says; else throws `upstream-credentials`. */
export function regionOf(target: Target): string {
  const region = target.options.aws_region_name ?? hostRegion(target.baseUrl)
  if (typeof region === 'string' && regionPattern.test(region)) return region
  throw new GatewayError(
    'upstream-credentials',
    'this deployment has no AWS region: its operator gives `aws_region_name` (for example us-east-1), or sets AWS_REGION',
  )
}

/** Of `https://bedrock-runtime.eu-west-1.amazonaws.com`, also with `-fips` or inside a private network; undefined = another host. */
export function hostRegion(url: string): string | undefined {
  return /\bbedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|vpce\.amazonaws\.com|api\.aws)/.exec(url)?.[1]
}
