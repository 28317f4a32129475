/** GET /providers: what a `model` may begin with, for those who add models. */
import { z } from 'zod'
import type { Provider } from '../../core/provider.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { boolean, described, listOf, named, nullable, shape, text } from '../openapi/schema.ts'

const providerListSchema = named('ProviderList', () =>
  shape({
    providers: listOf(
      shape({
        provider: described('It is what stands before the slash of a `model`.', text),
        base_url: described('null = `api_base` has to be given.', nullable(text)),
        key_variables: described(
          'Of the environment; the first that is set has the key of models without one.',
          listOf(text),
        ),
        needs_key: boolean,
      }),
    ),
  }),
)

/** By name, without the built-in one, whose models are offered by themselves. */
export const providerList = withQuery(() => z.strictObject({}), {
  tag: 'Models',
  answer: providerListSchema,
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
