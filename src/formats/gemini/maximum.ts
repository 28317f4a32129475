import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { withEdits } from '../common/maximum.ts'
import { camel } from './json-names.ts'

/** The body with this `maxOutputTokens` in its `generationConfig`, whichever of the two spellings it has. */
export function withMaximumOfConfig(body: JsonBody, tokens: number): JsonBody {
  const name = body.has('generation_config') ? 'generation_config' : 'generationConfig'
  const config = body.get(name)
  const json = JSON.stringify({ ...(isObject(config) ? camel(config) : {}), maxOutputTokens: tokens })
  return withEdits(body, [{ set: name, json }])
}
