/** GET /providers: what a `model` may begin with, for those who add models. */
import { z } from 'zod'
import type { Provider } from '../../core/provider.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { reference } from '../openapi/schema.ts'

/** By name, without the built-in one, whose models are offered by themselves. */
export const providerList = withQuery(() => z.strictObject({}), {
  tag: 'Models',
  answer: reference('ProviderList'),
  paths: ['/providers'],
  auth: 'viewer',
  operationId: 'listProviders',
  summary: 'The providers that models can be added of, with their addresses and the variables of their keys',
  async handle(_, { services }) {
    const upstreams = [...services.providers.values()].filter(one => !one.answer)
    return { providers: upstreams.map(shown).toSorted((one, other) => (one.provider < other.provider ? -1 : 1)) }
  },
})

const shown = ({ name, defaultBaseUrl, apiKeyEnv, keyless }: Provider) => ({
  provider: name,
  base_url: defaultBaseUrl ?? null,
  key_variables: apiKeyEnv,
  needs_key: !keyless,
})
