/**
 * `fallbacks` of Messages: the models that Anthropic itself asks where the one of the call declines. Betas
 * `server-side-fallback-2026-06-01` (a list) and `-07-01` ("default", too); platform.claude.com/docs, "Refusals and
 * fallback", and the types of @anthropic-ai/sdk 1.11.0.
 */
import type { NamedModel } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { ProblemList } from '../common/field-checks.ts'

const field = 'fallbacks'

/** Further members of an entry are left to the upstream. */
export function checkVendorFallbacks(value: unknown, problems: ProblemList): void {
  const what = '"default", or an array such as [{"model": "claude-opus-4-8"}]'
  if (typeof value === 'string') {
    if (value !== 'default') problems.unknownValue([field], what, value)
    return
  }
  if (!Array.isArray(value)) return problems.wrong([field], what, value)
  for (let at = 0; at < value.length && !problems.full; at++) {
    const entry: unknown = value[at]
    if (!isObject(entry))
      problems.wrong(
        [field, at],
        'an object such as {"model": "claude-opus-4-8"} (on this path `fallbacks` is Anthropic\'s; the gateway\'s ' +
          'are set in `router_settings`, or sent to /v1/chat/completions)',
        entry,
      )
    else if (typeof entry.model !== 'string' || entry.model === '')
      problems.wrong([field, at, 'model'], 'the name of a model at Anthropic', entry.model)
  }
}

/** The models that the list names; "default" leaves the choice to Anthropic. */
export function fallbackModels(body: JsonBody): readonly NamedModel[] {
  if (!body.has(field)) return []
  const value = body.get(field)
  return objectsOf(value).map(({ model }, at) => ({ name: String(model), path: `${field}.${at}.model` }))
}
