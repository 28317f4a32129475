/** What holds in this process, setting by setting, with the source of each value; secrets are never shown. */
import { z } from 'zod'
import { lazy } from '../../lib/lazy.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { boolean, described, integer, listOf, named, nullable, oneOf, shape, text } from '../openapi/schema.ts'
import { settingGroups } from '../../core/effective-values.ts'

const effectiveConfigurationSchema = named('EffectiveConfiguration', () =>
  shape({
    values: listOf(effectiveValueSchema),
    warnings: described('What the configuration has that is probably a mistake.', listOf(text)),
    about: shape({
      version: text,
      config_file: nullable(text),
      price_list: text,
      models: described('How many deployments there are.', integer),
      ready: boolean,
      database: described(
        '`read-only`: it answers, and takes no changes.',
        oneOf('connected', 'read-only', 'disconnected'),
      ),
      redis: oneOf('connected', 'disconnected', 'not configured'),
      replicas: described('That share limits over Redis; null = not known, or no Redis.', nullable(integer)),
    }),
  }),
)

const effectiveValueSchema = named('EffectiveValue', () =>
  shape({
    key: described('The path that it has in the file, or the name of the variable.', text),
    group: oneOf(...settingGroups),
    value: described('JSON. Secrets are `********`. null = not set, and without a default.', {}),
    source: oneOf('file', 'environment', 'flag', 'api', 'stored', 'default'),
    where: described('Where it is set: `config.yaml:12`, the name of a variable, or a flag.', nullable(text)),
    reference: described('The reference that stands in the file in its place.', nullable(text)),
    secret: boolean,
    description: text,
  }),
)

const nothing = lazy(() => z.strictObject({}))

/** GET /config/effective. */
export const effectiveConfiguration = withQuery(nothing, {
  paths: ['/config/effective'],
  auth: 'viewer',
  tag: 'Configuration',
  answer: effectiveConfigurationSchema,
  operationId: 'getEffectiveConfiguration',
  summary: 'Every setting that holds here, and the file and line, variable or default that it comes from',
  async handle(_, { services }) {
    const { settings } = services.current
    const { details, ready } = services.readiness()
    const values = await services.effectiveValues()
    return {
      values: values.map(({ isSecret, ...one }) => ({ ...one, secret: isSecret })),
      warnings: [...(settings.leftOut ?? []), ...settings.warnings],
      about: {
        version: services.version,
        config_file: settings.file,
        price_list: settings.priceListVersion,
        models: settings.deployments.length,
        ready,
        database: details.db,
        redis: details.redis,
        replicas: services.replicas() ?? null,
      },
    }
  },
})
