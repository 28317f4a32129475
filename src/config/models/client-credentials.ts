/** Which deployments are sent callers' own credentials. */
import type { Deployment } from '../../core/deployment.ts'
import type { Provider } from '../../core/provider.ts'
import type { Config } from '../sections/file.ts'
import type { ModelEntry } from '../sections/models.ts'

interface Surroundings {
  readonly provider: Provider
  /** Of `settings`; absent = none. */
  readonly common: readonly string[] | undefined
  readonly isKnown: (name: string) => boolean
  /** Where it is asked. */
  readonly baseUrl: string
  readonly hasKey: boolean
}

/** What lists of providers name that is none, with its path in the file. */
export function unknownVendors(
  { settings, general_settings: general }: Pick<Config, 'settings' | 'general_settings'>,
  providers: ReadonlyMap<string, Provider>,
): { readonly path: readonly (string | number)[]; readonly message: string }[] {
  const lists = [
    { path: ['settings', 'forward_client_credentials'], names: settings?.forward_client_credentials },
    { path: ['general_settings', 'pass_through_providers'], names: general?.pass_through_providers },
  ]
  return lists.flatMap(({ path, names = [] }) =>
    names.flatMap((name, at) =>
      providers.has(name) ? [] : [{ path: [...path, at], message: `\`${name}\` is no provider` }],
    ),
  )
}

/** Nothing, what the deployment takes, or a mistake with its path inside the entry. */
export function clientCredentialsOf(
  { forward_client_credentials: given, model }: ModelEntry['proxy_params'],
  { provider, common, isKnown, baseUrl, hasKey }: Surroundings,
): Pick<Deployment, 'clientCredentials'> | { path: string[]; message: string } {
  const mistake = (message: string) => ({ path: ['proxy_params', 'forward_client_credentials'], message })
  const unknown = given?.find(name => !isKnown(name))
  if (unknown !== undefined) return mistake(`\`${unknown}\` is no provider`)
  // A key that came for the vendor goes to another address only where the entry of this address says so.
  const isOwnAddress = baseUrl === provider.defaultBaseUrl
  const names = given ?? (isOwnAddress ? common : undefined)
  if (!names?.includes(provider.name)) {
    // One entry may stand for several vendors.
    if (!given?.length || model.endsWith('*')) return {}
    return mistake(`names ${given.join(', ')}, and this model is of ${provider.name}`)
  }
  if (provider.authorize && !provider.name.startsWith('azure')) {
    if (given === undefined) return {}
    return mistake(`calls of ${provider.name} are signed by the gateway: callers cannot bring credentials for it`)
  }
  return { clientCredentials: hasKey || provider.keyless === true ? 'optional' : 'required' }
}
