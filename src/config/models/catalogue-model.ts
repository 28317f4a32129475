/** Models that are in the catalogue and not in the configuration, for questions about them. */
import type { Deployment } from '../../core/deployment.ts'
import { providers, splitModel } from '../../providers/index.ts'
import { catalogueEntry } from '../prices/catalogue.ts'
import { namedInRegion } from '../../providers/bedrock/address.ts'
import { usualRegion } from '../prices/place-names.ts'
import { arnRegion } from './bedrock-options.ts'
import { buildDeployment } from './deployments.ts'

const nameLengthMax = 200

/** That of the name (`us-east-1/...`, an ARN), else one in which the model is to be had. */
function regionFor(model: string): string {
  const { region, id } = namedInRegion(model)
  return region ?? arnRegion(model) ?? usualRegion(id)
}

/** The first with an address of its own that has a model of this bare name. */
function vendorOf(name: string): string | undefined {
  for (const { name: provider, defaultBaseUrl } of providers.values())
    if (defaultBaseUrl !== undefined && catalogueEntry(provider, name)) return provider
  const { id } = namedInRegion(name)
  if (catalogueEntry('bedrock', id, regionFor(name))) return 'bedrock'
  return undefined
}

/**
 * What a deployment of `provider/model`, or of a model that a vendor calls so, would be. It is never called: it has no
 * key. undefined = the catalogue does not have the name.
 */
export function catalogueModel(name: string): Deployment | undefined {
  if (name.includes('*') || name.length > nameLengthMax) return undefined
  const split = splitModel(name)
  const known = split.provider === undefined ? undefined : providers.get(split.provider)
  const provider = known?.name ?? vendorOf(name)
  const model = known ? split.model : name
  if (provider === undefined) return undefined
  const region = provider === 'bedrock' ? regionFor(model) : undefined
  if (catalogueEntry(provider, namedInRegion(model).id, region) === undefined) return undefined
  const entry = {
    model_name: name,
    proxy_params: {
      model: `${provider}/${model}`,
      api_key: 'none',
      api_base: 'https://catalogue.invalid',
      ...(region !== undefined && { aws_region_name: region }),
    },
  }
  const built = buildDeployment(entry, {
    providers,
    environment: {},
    dropParams: undefined,
    origin: { kind: 'built-in', where: 'catalogue' },
  })
  return 'message' in built ? undefined : built
}
