/** What holds in this process, setting by setting, with the source of each value; secrets are never shown. */
import { z } from 'zod'
import { lazy } from '../../lib/lazy.ts'
import { withQuery } from '../common/json-endpoint.ts'
import { reference } from '../openapi/schema.ts'

const nothing = lazy(() => z.strictObject({}))

/** GET /config/effective. */
export const effectiveConfiguration = withQuery(nothing, {
  paths: ['/config/effective'],
  auth: 'viewer',
  tag: 'Configuration',
  answer: reference('EffectiveConfiguration'),
  operationId: 'getEffectiveConfiguration',
  summary: 'Every setting that holds here, and the file and line, variable or default that it comes from',
  async handle(_, { services }) {
    const { settings } = services.current
    const { details, ready } = services.readiness()
    const values = await services.effectiveValues()
    return {
      values: values.map(({ isSecret, ...one }) => ({ ...one, secret: isSecret })),
      warnings: settings.warnings,
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
